/** Longer than it takes to show that a form is busy, and shorter than a person takes to submit it again on purpose. */
const IGNORED_MS = 100

/**
 * Ignores a second submit of a form before the page can show that it accepted the first: two clicks of a worn mouse come
 * within one frame and would create the same thing twice. A submit with a differently labelled button is another step, such
 * as the confirmation of a payment, and so is a submit after a change, such as a corrected field.
 */
export function ignoreDoubleSubmits(page: EventTarget): void {
  let taken = new WeakMap<EventTarget, string | null>()
  const forget = () => {
    taken = new WeakMap()
  }
  page.addEventListener('input', forget, { capture: true })
  page.addEventListener(
    'submit',
    (event) => {
      const form = event.target!
      const label = (event as SubmitEvent).submitter?.textContent ?? null
      if (taken.get(form) === label) {
        event.preventDefault() // otherwise the browser would send the form itself
        event.stopImmediatePropagation()
        return
      }
      taken.set(form, label)
      setTimeout(() => taken.delete(form), IGNORED_MS)
    },
    { capture: true },
  )
}
