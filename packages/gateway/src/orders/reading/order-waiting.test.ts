import { expect, it } from 'vitest'
import { type WaitingItem, waitingOf } from './order-waiting.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 28, 17, minute))
const NEW: WaitingItem = {
  ...{ itemStatus: 'WAITING', supplier: null, attempts: 0 },
  ...{ requestedAt: null, inDoubtAt: null, retryAt: null },
}
const DOUBTED: WaitingItem = {
  ...{ itemStatus: 'UNKNOWN', supplier: 'eSIM Access', attempts: 1 },
  ...{ requestedAt: at(0), inDoubtAt: at(1), retryAt: at(21) },
}
const decide = (...items: WaitingItem[]) =>
  waitingOf(items, { createdAt: at(0), dueAt: at(21) }, at(20), (name) => (name === 'gone' ? undefined : 3_600_000))

it('a pending order shows how long it has waited, and when the next query and the review are due', () => {
  expect(decide(DOUBTED)).toEqual({
    ...{ reason: 'NO_ANSWER', supplier: 'eSIM Access', since: at(1) },
    ...{ nextAskAt: at(21), reviewAt: at(60) },
  })
})

it('an order waits for the eSIM that may have been bought, not for those that certainly were not', () => {
  const putOff: WaitingItem = { ...DOUBTED, itemStatus: 'WAITING', supplier: 'other', inDoubtAt: null, retryAt: at(20) }
  expect(decide(NEW, putOff, DOUBTED)).toMatchObject({ reason: 'NO_ANSWER', supplier: 'eSIM Access' })
  expect(decide(NEW, putOff)).toMatchObject({ reason: 'NOT_BOUGHT', supplier: 'other', since: at(0), nextAskAt: null })
})

it('an order that no supplier has been asked for has been waiting since its payment', () => {
  expect(decide(NEW)).toMatchObject({ reason: 'NOT_ASKED', supplier: null, since: at(0), reviewAt: null })
})

it('an eSIM that is being bought has no next query, and the latest review time applies', () => {
  const asked: WaitingItem = { ...DOUBTED, itemStatus: 'ASKED', inDoubtAt: null, retryAt: null, requestedAt: at(10) }
  expect(decide(asked)).toMatchObject({ reason: 'NO_ANSWER', since: at(10), nextAskAt: null, reviewAt: at(70) })
  expect(decide(DOUBTED, asked)).toMatchObject({ since: at(1), nextAskAt: at(21), reviewAt: at(70) })
  expect(decide({ ...DOUBTED, supplier: 'gone' })).toMatchObject({ reviewAt: null })
})

it('an order under review has no review time, and a decided order does not wait for anything', () => {
  expect(decide({ ...DOUBTED, itemStatus: 'REVIEW' })).toMatchObject({ reason: 'REVIEW', reviewAt: null })
  for (const itemStatus of ['DELIVERED', 'REFUSED', 'CANCELLED'] as const)
    expect(decide({ ...DOUBTED, itemStatus })).toBeUndefined()
})
