import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LISTS, type List, NAMES } from './lists-of-answers.ts'
import { isObject } from './members.ts'

/* Unreadable entries of every kind among many, at any position of every list: all others are read, and these are reported. */

const MANY_NAMES = Array.from({ length: 3_000 }, (_, index) => `N${index}`)

/** The unreadable entries of a list: those that are not objects first. */
function oddEntriesOf({ entry, odd = {} }: List): unknown[] {
  const objects = Object.entries(odd).flatMap(([member, values]) =>
    values.map((value) => ({ ...(entry('Z') as object), [member]: value })),
  )
  return [null, 7, 'odd', [1], ...objects]
}

describe.each(Object.entries(LISTS))('%s', (_, list) => {
  it.each(oddEntriesOf(list).map((odd) => [odd]))('with %j at any position is read without that entry', async (odd) => {
    for (let position = 0; position <= NAMES.length; position++) {
      const entries = NAMES.map(list.entry)
      entries.splice(position, 0, odd)
      const { read, named } = await list.readAll(entries)
      expect([...read].sort()).toEqual(NAMES)
      expect(named).toHaveLength(1)
    }
  })
})

it.each(Object.entries(LISTS))(
  '%s, with an unreadable entry at every position in turn, is read without it',
  async (_, list) => {
    const { entry, namesOne, readAll } = list
    const kinds = oddEntriesOf(list)
    const names = MANY_NAMES.slice(0, 1_000)
    // Each second position is unreadable, then each other one, so that every one has readable neighbours.
    for (const first of [0, 1]) {
      const oddOf = (index: number) => kinds[index % kinds.length]
      const pairs = names.map((name, index) =>
        first === 0 ? [oddOf(index), entry(name)] : [entry(name), oddOf(index)],
      )
      const { read, named } = await readAll(pairs.flat())
      expect([...read].sort()).toEqual([...names].sort())
      expect(named).toHaveLength(namesOne === undefined ? names.length : 1)
      if (namesOne !== undefined) continue
      // An entry is named by its place, or by the code that it has.
      const places = new Set(
        named.map((one) => Number([...one.matchAll(/\b(?:entry|operator|package) (\d+) of /g)].at(-1)?.[1]) - 1),
      )
      const byCode = names.flatMap((_, index) => (places.has(2 * index + first) ? [] : [oddOf(index)]))
      expect(byCode.filter((odd) => !isObject(odd))).toEqual([])
      expect(named.filter((one) => one.includes('Z') && !/ \d+ of /.test(one))).toHaveLength(byCode.length)
    }
  },
)

it.each(Object.entries(LISTS))('%s, with thousands of entries, is read without the odd ones', async (_, list) => {
  const { entry, namesOne, readAll } = list
  const oddEntries = oddEntriesOf(list)
  const { length } = oddEntries
  const last = MANY_NAMES.length + length - 1
  const places = fc.uniqueArray(fc.nat({ max: last }), { minLength: length, maxLength: length })
  const shuffled = fc.shuffledSubarray(oddEntries, { minLength: length })
  const check = async (unsorted: number[], kinds: unknown[]) => {
    const positions = [...unsorted].sort((one, other) => one - other)
    const entries = MANY_NAMES.map(entry)
    for (const [index, position] of positions.entries()) entries.splice(position, 0, kinds[index])
    const { read, named } = await readAll(entries)
    expect([...read].sort()).toEqual([...MANY_NAMES].sort())
    expect(named).toHaveLength(namesOne === undefined ? length : 1)
    const isNamed = (position: number) => named.some((one) => one.includes(` ${position + 1} of `))
    const unnamed = positions.filter((position, index) => !isObject(kinds[index]) && !isNamed(position))
    if (namesOne === undefined) expect(unnamed).toEqual([])
    if (namesOne === 'the first') expect(isNamed(positions[0]!)).toBe(true)
  }
  const ends = [0, last, ...Array.from({ length: length - 2 }, (_, index) => index + 1)]
  await fc.assert(fc.asyncProperty(places, shuffled, check), { numRuns: 3, examples: [[ends, oddEntries]] })
})
