import type { Outcome, Supplier, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { expect, it } from 'vitest'
import { withShortTimes } from '../suppliers/supplier-fixtures.ts'
import { withSuccessiveCalls } from './successive-calls.ts'

const REFUSED: Outcome = { kind: 'refused', message: 'refused by the test' }

/** A wholesaler's adapter whose purchases end when the test ends them, and the calls it received. */
function slowAdapter() {
  const calls: string[] = []
  const ends: (() => void)[] = []
  const answer = (name: string) => async (requests: SupplierRequest[]) => {
    calls.push(`${name} ${requests.map(({ key }) => key).join()}`)
    if (name === 'order') await new Promise<void>((resolve) => ends.push(resolve))
    return requests.map(() => REFUSED)
  }
  const supplier = { traits: {}, order: answer('order'), query: answer('query') } as unknown as Supplier
  return { supplier, calls, endNext: () => ends.shift()!() }
}

const request = (key: string) => ({ key }) as SupplierRequest

it('a purchase is queried or repeated only after the wholesaler has finished processing its call', async () => {
  const { supplier: adapter, calls, endNext } = slowAdapter()
  const settle = async () => void calls.push('settled')
  const supplier = withShortTimes(withSuccessiveCalls(adapter, settle), 1, true)
  const first = supplier.order([request('A')])
  const question = supplier.query([request('A')], 'RESUME')
  const second = supplier.order([request('A')])
  await supplier.query([request('B')], 'RESUME')
  expect(calls).toEqual(['order A', 'query B'])
  endNext()
  expect(await Promise.all([first, question])).toEqual([[REFUSED], [REFUSED]])
  await expect.poll(() => calls.length).toBe(6)
  expect(calls.slice(2)).toEqual(['settled', 'query A', 'settled', 'order A'])
  endNext()
  await second
})
