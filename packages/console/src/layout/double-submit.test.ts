import { expect, it, vi } from 'vitest'
import { ignoreDoubleSubmits } from './double-submit.ts'

it('a second submit within the same frame is ignored, unless the step has changed or a field was edited', () => {
  vi.useFakeTimers()
  const form = new EventTarget()
  ignoreDoubleSubmits(form)
  const submitted = vi.fn()
  form.addEventListener('submit', submitted)
  const submit = (label = 'Create') =>
    form.dispatchEvent(Object.assign(new Event('submit', { cancelable: true }), { submitter: { textContent: label } }))
  expect([submit(), submit()]).toEqual([true, false]) // false: prevented
  expect(submitted).toHaveBeenCalledOnce()
  expect(submit('Confirm')).toBe(true)
  vi.advanceTimersByTime(150)
  expect(submit()).toBe(true)
  expect(submitted).toHaveBeenCalledTimes(3)
  expect(submit()).toBe(false)
  form.dispatchEvent(new Event('input'))
  expect(submit()).toBe(true)
  vi.useRealTimers()
})
