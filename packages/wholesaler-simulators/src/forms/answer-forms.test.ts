import { readFileSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { createSimulator, FORMS, type Form, type Simulator } from '#simulator.ts'

/* The forms of answers that options switch on. */

let simulator: Simulator
afterEach(() => simulator.close())

/** Zendit's catalogue, which represents all of them, in these forms. */
async function offersIn(...forms: Form[]) {
  simulator = await createSimulator('zendit', { catalogueSize: 4, forms })
  const headers = { Authorization: `Bearer ${simulator.credentials.apiKey}` }
  const answer = await fetch(`${simulator.url}/esim/offers?_limit=100&_offset=0`, { headers })
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  return (await answer.json()) as any
}

it('without a form, a list is an array with a total', async () => {
  const { list, total } = await offersIn()
  expect([list.length, total]).toEqual([4, 4])
})

it('keyed-lists turns lists into objects', async () => {
  expect(Object.keys((await offersIn('keyed-lists')).list)).toEqual(['100', '101', '102', '103'])
})

it('bare-results returns the list itself', async () => {
  expect(await offersIn('bare-results')).toHaveLength(4)
})

it('odd-entries adds unreadable entries at the start, in the middle and at the end', async () => {
  const { list } = await offersIn('odd-entries')
  expect(list.map((entry: unknown) => typeof entry === 'object' && entry !== null)).toEqual([
    false,
    true,
    true,
    false,
    true,
    true,
    false,
  ])
})

it('odd-product leaves the first product without a price', async () => {
  const { list } = await offersIn('odd-product')
  expect(list.map(({ cost }: { cost: unknown }) => cost === null)).toEqual([true, false, false, false])
})

it('long-decimals gives amounts digits beyond the hundredths', async () => {
  const { list, total } = await offersIn('long-decimals')
  expect(list.every(({ cost }: { cost: { fixed: number } }) => !Number.isInteger(cost.fixed))).toBe(true)
  expect(total).toBe(4)
})

it('stated-terms adds calls and SMS to the data', async () => {
  const { list } = await offersIn('stated-terms')
  expect(list[0]).toMatchObject({ voiceMinutes: 100, smsNumber: 20 })
})

it('every form is described in the README', async () => {
  await offersIn()
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  expect(FORMS.filter((form) => !readme.includes(`| \`${form}\` |`))).toEqual([])
})
