import type { TimelineStep } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { expect, it } from 'vitest'
import { foldSteps, formatItemNos } from './fold-steps.ts'

const at = (second: number) => `2026-11-25T00:00:${String(second).padStart(2, '0')}.000Z`

function poll(second: number, itemNo: number, outcome = 'unknown', detail: string | null = null): TimelineStep {
  return { at: at(second), kind: 'ATTEMPT', operation: 'QUERY', supplier: 'sandbox', itemNo, outcome, detail }
}

function send(second: number, notifyId: string, httpStatus: number): TimelineStep {
  return { at: at(second), kind: 'DELIVERY', notifyId, httpStatus, outcome: `answered ${httpStatus}` }
}

it('polls of several eSIMs with the same answer are folded into one line with a count and the latest time', () => {
  const steps = [poll(1, 1), poll(1, 2), poll(3, 2), poll(5, 1)]
  expect(foldSteps(steps)).toEqual([{ step: steps[0], count: 4, until: at(5), itemNos: [1, 2] }])
})

it('a different answer gets its own line, and a different kind of step ends the folding', () => {
  const paid: TimelineStep = { at: at(4), kind: 'STATUS', orderStatus: 'UNDER_REVIEW' }
  const steps = [poll(1, 1), poll(2, 1, 'retry'), poll(3, 1), paid, poll(5, 1), poll(6, 1)]
  expect(foldSteps(steps).map(({ step, count }) => [step, count])).toEqual([
    [steps[0], 2],
    [steps[1], 1],
    [paid, 1],
    [steps[4], 2],
  ])
})

it('supplier orders, transfers and decisions are never folded', () => {
  const order: TimelineStep = { ...poll(1, 1), operation: 'ORDER' }
  const refund: TimelineStep = { at: at(1), kind: 'REFUND', amount: 1, balanceAfter: 2, itemNo: 1, reason: null }
  expect(foldSteps([order, order, refund, refund])).toHaveLength(4)
})

it('delivery attempts for an event are folded while the response stays the same', () => {
  const steps = [send(1, 'a', 500), send(2, 'a', 500), send(3, 'b', 500), send(4, 'a', 200)]
  expect(foldSteps(steps).map(({ step, count }) => [step.notifyId, step.httpStatus, count])).toEqual([
    ['a', 500, 2],
    ['b', 500, 1],
    ['a', 200, 1],
  ])
})

it('eSIM numbers are listed as ranges', () => {
  expect(formatItemNos([1, 2, 3, 5, 7, 8])).toBe('1–3, 5, 7–8')
  expect(formatItemNos([4])).toBe('4')
})
