import fc from 'fast-check'
import { expect, it } from 'vitest'
import { NOT_TESTED, SEEN_BY, type SeenState, type Sighting, stateAfter } from './see-supplier.ts'

const sightings = fc.array(
  fc.record({
    at: fc.integer({ min: 0, max: 20 }).map((minute) => new Date(minute * 60_000)),
    by: fc.constantFrom(...SEEN_BY),
    failure: fc.option(fc.constantFrom('101003: signature error', 'no answer within 30 s'), { nil: null }),
  }),
  { maxLength: 30 },
)

const after = (seen: readonly Sighting[]) => seen.reduce<SeenState>(stateAfter, NOT_TESTED)

it('a supplier counts as not tested until it has been observed', () => {
  expect(after([])).toEqual({ state: 'NOT_TESTED' })
})

it('a supplier’s state is the last one observed, and it has been failing since its first failure after a success', () => {
  fc.assert(
    fc.property(sightings, (history) => {
      const seen = history.toSorted((one, other) => one.at.getTime() - other.at.getTime())
      const last = seen.at(-1)
      if (last === undefined) return
      const failures = seen.slice(seen.findLastIndex(({ failure }) => failure === null) + 1)
      const { at: seenAt, by: seenBy, failure } = last
      expect(after(seen)).toEqual(
        failure === null
          ? { state: 'WORKING', seenAt, seenBy }
          : { state: 'FAILING', seenAt, seenBy, failure, since: failures[0]!.at },
      )
    }),
  )
})

it('an observation that is saved late does not replace a newer one', () => {
  fc.assert(
    fc.property(sightings, fc.integer({ min: 1, max: 60_000 }), (history, earlierMs) => {
      const before = after(history)
      if (before.state === 'NOT_TESTED') return
      const late = { at: new Date(before.seenAt.getTime() - earlierMs), by: 'TEST' } as const
      expect(stateAfter(before, { ...late, failure: null })).toBe(before)
      expect(stateAfter(before, { ...late, failure: 'an old failure' })).toBe(before)
    }),
  )
})
