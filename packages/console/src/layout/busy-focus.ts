/**
 * Returns the focus to a button that was busy. A busy button is disabled, so the browser takes the focus away from it, and a
 * person with a keyboard or a screen reader would begin at the top of the page again.
 */
export function keepFocusOfBusyButtons(page: Document): void {
  let last: EventTarget | null = null
  page.addEventListener('focusin', ({ target }) => {
    last = target
  })
  new MutationObserver((changes) => {
    for (const { target } of changes)
      if (
        target === last &&
        target instanceof HTMLButtonElement &&
        !target.disabled &&
        page.activeElement === page.body
      )
        target.focus({ preventScroll: true })
  }).observe(page, { subtree: true, attributeFilter: ['disabled'] })
}
