import type { Locator, Page } from 'playwright-core'

/** Counts what a person does: a number of clicks, fields and keys is part of what the console promises. */
export class Hands {
  readonly #page: Page
  readonly #done = { clicks: 0, fields: 0, presses: 0 }

  constructor(page: Page) {
    this.#page = page
  }

  count(): { clicks: number; fields: number; presses: number } {
    return { ...this.#done }
  }

  async click(target: Locator): Promise<void> {
    this.#done.clicks++
    await target.click()
  }

  async fill(field: Locator, text: string): Promise<void> {
    this.#done.fields++
    await field.fill(text)
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      this.#done.presses++
      await this.#page.keyboard.press(key)
    }
  }

  /** Presses a key until the element with this name is focused. */
  async pressUntil(key: string, name: string): Promise<void> {
    for (let times = 0; times < PRESSES_MAX; times++) {
      await this.press(key)
      if ((await this.focusedName()) === name) return
    }
    throw new Error(`${PRESSES_MAX} presses of ${key} did not reach “${name}”`)
  }

  async focusedName(): Promise<string> {
    const name = await this.#page.evaluate<string>(`((one) =>
      one === document.body ? 'body' : one.getAttribute('aria-label') || one.title || one.textContent
    )(document.activeElement)`)
    return withPlainSpaces(name)
  }
}

const PRESSES_MAX = 30

/** What a screen reader announces without being asked: the text of the live regions. */
export async function announced(page: Page): Promise<string> {
  const texts = await page.evaluate<string>(`[...document.querySelectorAll('[role=status], [role=alert], [aria-live]')]
    .map((one) => one.textContent).filter(Boolean).join(' | ')`)
  return withPlainSpaces(texts)
}

/** Amounts and volumes have spaces that do not break. */
function withPlainSpaces(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** Says whether the focus is on something, and not on the page as a whole. */
export function isFocusKept(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.activeElement !== document.body')
}

/** The names of the filled buttons of a page. */
export function primaryButtons(page: Page): Promise<string[]> {
  return page.getByRole('main').locator('button[data-variant=filled]').allInnerTexts()
}

/** The cells of a row whose texts lie over another's. */
export function overlappingTexts(row: Element): string[] {
  const parts = [...row.querySelectorAll('td')].flatMap((cell) => {
    const range = document.createRange()
    range.selectNodeContents(cell)
    return [...range.getClientRects()].filter(({ width }) => width > 0).map((box) => ({ cell, box }))
  })
  const isOver = (left: DOMRect, right: DOMRect) =>
    left.left < right.right && right.left < left.right && left.top < right.bottom && right.top < left.bottom
  const over = parts.filter((one) => parts.some(({ cell, box }) => cell !== one.cell && isOver(one.box, box)))
  return over.map(({ cell }) => cell.innerText)
}
