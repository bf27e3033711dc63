import { type FocusEvent, type KeyboardEvent, useEffect, useRef } from 'react'

/**
 * Makes the buttons of an element one stop of Tab, between which the arrow keys move, by where the buttons stand on the screen:
 * a hundred prices would otherwise be a hundred stops.
 */
export function useTabStop<Container extends HTMLElement>() {
  const container = useRef<Container>(null)
  useEffect(() => {
    const found = buttonsIn(container.current)
    setStop(found, found.find(isFocused) ?? preferred(found))
  })
  return {
    ref: container,
    onFocus({ currentTarget }: FocusEvent<Container>) {
      const found = buttonsIn(currentTarget)
      const stop = found.find(isFocused)
      if (stop) setStop(found, stop)
    },
    onKeyDown(event: KeyboardEvent<Container>) {
      const found = buttonsIn(event.currentTarget)
      const from = found.find(isFocused)
      const to = from && neighbour(found, from, event.key)
      if (!to) return
      // Otherwise the arrow would scroll the page too.
      event.preventDefault()
      to.focus()
    },
  }
}

const isFocused = (one: HTMLElement) => one === document.activeElement

function buttonsIn(container: HTMLElement | null): HTMLButtonElement[] {
  return [...(container?.querySelectorAll('button') ?? [])]
}

function setStop(buttons: readonly HTMLButtonElement[], stop: HTMLButtonElement | undefined): void {
  for (const one of buttons) one.tabIndex = one === stop ? 0 : -1
}

/** What the person has named or chosen, or the first. */
function preferred(buttons: readonly HTMLButtonElement[]): HTMLButtonElement | undefined {
  const isChosen = (one: HTMLButtonElement) => one.getAttribute('aria-pressed') === 'true'
  return buttons.find((one) => one.dataset.named) ?? buttons.find(isChosen) ?? buttons[0]
}

function neighbour(
  buttons: readonly HTMLButtonElement[],
  from: HTMLButtonElement,
  key: string,
): HTMLButtonElement | undefined {
  const at = buttons.indexOf(from)
  if (key === 'ArrowRight') return buttons[at + 1]
  if (key === 'ArrowLeft') return buttons[at - 1]
  if (key !== 'ArrowDown' && key !== 'ArrowUp') return undefined
  const direction = key === 'ArrowDown' ? 1 : -1
  const place = centreOf(from)
  const further = buttons
    .map((one) => ({ one, ...centreOf(one) }))
    .filter(({ y }) => (y - place.y) * direction > from.offsetHeight / 2)
  // The next row first, in it the nearest.
  further.sort(
    (left, right) => (left.y - right.y) * direction || Math.abs(left.x - place.x) - Math.abs(right.x - place.x),
  )
  return further[0]?.one
}

function centreOf(button: HTMLButtonElement): { x: number; y: number } {
  const { left, top, width, height } = button.getBoundingClientRect()
  return { x: left + width / 2, y: Math.round(top + height / 2) }
}

/** Moves the focus to the first of these buttons each time that the person has entered where to go. 0: not yet. */
export function useFocusEntered(entered: number, isLoaded: boolean) {
  const container = useRef<HTMLElement>(null)
  const done = useRef(0)
  useEffect(() => {
    if (!isLoaded || entered === done.current) return
    done.current = entered
    const stops = container.current?.querySelectorAll<HTMLElement>('[data-offer][tabindex="0"]') ?? []
    const [first] = [...stops].sort(
      (left, right) => Number(right.hasAttribute('data-named')) - Number(left.hasAttribute('data-named')),
    )
    first?.focus()
  }, [entered, isLoaded])
  return container
}
