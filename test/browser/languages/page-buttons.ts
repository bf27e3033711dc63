import type { Page } from 'playwright-core'

/*
 * Scripts that run in a page before its own. Each is sent as text, so it finds the others by their global names, and no constant of
 * this file.
 */

/** What can be pressed in the topmost menu or dialog, or else on the page. */
export interface Layer {
  /** The title of the dialog, the button of the menu; of a page: empty. */
  title: string
  /** The names without values, so that the same button of many rows is one. `Copy | AppKey` has two texts. */
  buttons: string[]
}

/** What a page has then, once nothing on it changes any more. */
export interface WithButtons {
  layer(): Promise<Layer>
  /** Returns what is shown afterwards. */
  press(name: string): Promise<Layer>
}

export async function addButtons(page: Page): Promise<void> {
  for (const script of [addFillIn, addPress, forgetAndHurry]) await page.addInitScript(script)
}

declare function quiet(): Promise<void>
declare function fillIn(form: HTMLFormElement | null): void

function addPress(): void {
  const LAYERS = '[role=menu], [role=dialog], [role=alertdialog]'
  const BUTTONS = 'button:not([role=option], [role=menuitemcheckbox]), [role=menuitem], input[aria-haspopup=listbox]'
  // Headers only sort, and rows of a list are alike.
  const OTHERS = 'th *, [data-sample] *, [data-row] ~ [data-row] ~ [data-row] ~ [data-row] *'
  const DISABLED = ':disabled, [data-disabled], [aria-disabled=true]'
  const isVisible = (element: Element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: false })

  /** Only the words of the files; of a button in a row not what it is of. */
  function nameOf(element: Element): string {
    const name =
      element.getAttribute('aria-label') ?? (element.textContent || element.getAttribute('placeholder') || '')
    const frame = element.closest('.mantine-AppShell-header, .mantine-AppShell-navbar') ? 'frame ' : ''
    const parts = (name.match(/\u200b[^\u200b\u00ad]*\u00ad/g) ?? []).map((part) => part.slice(1, -1).trim())
    return parts.length === 0 ? '' : frame + parts.slice(0, element.closest('tr') ? 1 : undefined).join(' | ')
  }

  function top(): Element | undefined {
    return [...document.querySelectorAll(LAYERS)].filter(isVisible).at(-1)
  }

  function titleOf(layer: Element): string {
    const label = document.getElementById(layer.getAttribute('aria-labelledby') ?? '')
    return `${layer.role} ${nameOf(label ?? layer)}`
  }

  function buttons(): HTMLElement[] {
    const all = [...(top() ?? document).querySelectorAll<HTMLElement>(BUTTONS)]
    return all.filter((button) => !button.matches(`${OTHERS}, ${DISABLED}`) && isVisible(button))
  }

  async function layer(): Promise<Layer> {
    await quiet()
    const shown = top()
    return { title: shown ? titleOf(shown) : '', buttons: [...new Set(buttons().map(nameOf))].filter(Boolean) }
  }

  async function press(name: string): Promise<Layer> {
    const button = buttons().find((one) => nameOf(one) === name)
    if (button instanceof HTMLButtonElement && button.type === 'submit') fillIn(button.form)
    button?.focus()
    button?.click()
    if (button?.ariaHasPopup === 'listbox') {
      await quiet()
      const [option] = [...document.querySelectorAll<HTMLElement>('[role=option]')].filter(isVisible)
      option?.click()
    }
    return layer()
  }

  Object.assign(globalThis, { layer, press })
}

/** Fields in which something must be, as a person would fill them in. */
function addFillIn(): void {
  function fillIn(form: HTMLFormElement | null): void {
    for (const field of form?.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea') ?? []) {
      if (field.value !== '' || field.readOnly || ['checkbox', 'radio', 'file', 'hidden'].includes(field.type)) continue
      const plain = '7'.repeat(Math.max(field.minLength, 1))
      const values: Record<string, string> = { email: '7@example.com', url: 'https://example.com/', date: '2030-01-01' }
      const prototype = field instanceof HTMLInputElement ? HTMLInputElement.prototype : HTMLTextAreaElement.prototype
      Object.getOwnPropertyDescriptor(prototype, 'value')!.set!.call(field, values[field.type] ?? plain)
      field.dispatchEvent(new Event('input', { bubbles: true }))
    }
  }
  Object.assign(globalThis, { fillIn })
}

/** The next page does not remember what was pressed on this one, and what opens and closes takes no time. */
function forgetAndHurry(): void {
  window.open = () => null
  Storage.prototype.setItem = () => {}
  const start = window.setTimeout
  Object.assign(window, {
    setTimeout: (run: () => void, ms = 0, ...rest: []) => start(run, ms > 500 ? ms : 0, ...rest),
  })
}
