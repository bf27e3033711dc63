import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, addDealer, addTwin, call, type Dealer } from '#test/harness/api-node.ts'
import { ESIM_OPERATIONS, esimReferences, otherOrderNo, withoutIds } from '#test/harness/isolation.ts'
import type { Esim } from '#test/orders/topups/topup-testbed.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

let bed: RtTestbed
let owner: Dealer
/** Accounts that must not see what the owner has. */
let strangers: Record<'another dealer' | 'its own test twin', Dealer>
let esim: Esim
beforeAll(async () => {
  bed = await createRtTestbed()
  owner = bed.dealer
  const { deps } = bed.node
  strangers = { 'another dealer': await addDealer(deps), 'its own test twin': await addTwin(deps, owner) }
  esim = await bed.delivered()
  expect(await bed.codeOf('esim/revoke', { esimTranNo: esim.esimTranNo })).toBe(null)
})
afterAll(() => bed.close())

const post = (of: Dealer, operation: string, body: object): Promise<Answer> =>
  call(bed.node, of, operation, {
    path: `/api/v1/open/${operation}`,
    body: JSON.stringify(body),
    signatureHeader: 'RT-Signature',
  })
const codeOf = ({ text }: Answer) => JSON.parse(text).errorCode
const objOf = ({ text }: Answer) => JSON.parse(text).obj

describe.each(['another dealer', 'its own test twin'] as const)('an order or eSIM of a dealer, for %s,', (who) => {
  let stranger: Dealer
  beforeAll(() => {
    stranger = strangers[who]
  })

  it.each(ESIM_OPERATIONS)('is not found by %s if it is an eSIM', async (operation, request) => {
    for (const [theirs, absent] of esimReferences(esim)) {
      const known = await post(owner, operation, { ...request, ...theirs })
      // Already revoked, so nothing else can be done with it.
      expect(codeOf(known)).toBe(['package/list', 'esim/revoke'].includes(operation) ? null : '200002')
      const one = await post(stranger, operation, { ...request, ...theirs })
      expect([operation, theirs, codeOf(one)]).toEqual([operation, theirs, '310403'])
      expect(withoutIds(one)).toEqual(withoutIds(await post(stranger, operation, { ...request, ...absent })))
    }
  })

  it('gets the same answer in esim/query as a nonexistent one', async () => {
    const { orderNo } = esim
    const queries: [object, object][] = [
      [{ orderNo }, { orderNo: otherOrderNo(orderNo) }],
      [{ orderNo }, { orderNo: 'z'.repeat(26) }],
      ...esimReferences(esim),
      [{ startTime: '2020-01-01T00:00:00+0000' }, { startTime: '2040-01-01T00:00:00+0000' }],
    ]
    for (const [theirs, absent] of queries) {
      const known = objOf(await post(owner, 'esim/query', theirs))
      expect([theirs, known.pager.total, known.esimList.length]).toEqual([theirs, 1, 1])
      const one = await post(stranger, 'esim/query', theirs)
      expect([theirs, codeOf(one)]).toEqual([theirs, 'orderNo' in theirs ? '310272' : null])
      expect(withoutIds(one)).toEqual(withoutIds(await post(stranger, 'esim/query', absent)))
    }
  })

  it('is reported without usage if it is an eSIM', async () => {
    const ask = (of: Dealer, esimTranNo: string) => post(of, 'esim/usage/query', { esimTranNoList: [esimTranNo] })
    expect(objOf(await ask(owner, esim.esimTranNo)).esimUsageList).toHaveLength(1)
    const one = await ask(stranger, esim.esimTranNo)
    expect(withoutIds(one)).toEqual(withoutIds(await ask(stranger, randomUUID())))
  })
})

describe.each(['another dealer', 'its own test twin'] as const)('a new order of a dealer, for %s,', (who) => {
  let stranger: Dealer
  beforeAll(() => {
    stranger = strangers[who]
  })

  it('does not block its transactionId for other tenants', async () => {
    const order = { transactionId: 'owned №', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
    const first = objOf(await post(owner, 'esim/order', order))
    const second = objOf(await post(stranger, 'esim/order', order))
    expect(second.transactionId).toBe(first.transactionId)
    expect(second.orderNo).not.toBe(first.orderNo)
  })

  it('does not appear in the balance', async () => {
    const fresh = await addDealer(bed.node.deps, 7)
    expect(objOf(await post(fresh, 'balance/query', {})).balance).toBe(70_000)
  })
})
