import { expect, test } from 'vitest'
import type { EventView } from '#webhooks/list-events.ts'
import type { Replay } from '#webhooks/replay/replay.ts'
import { eventText, replayText } from './webhook-text.ts'

const EVENT: EventView = {
  ...{ tenantId: 'T', clientName: 'Acme', notifyId: 'N', notifyType: 'BALANCE_LOW', orderNo: null, statuses: [] },
  ...{ level: null, createdAt: new Date(0), deliveryState: 'PENDING', attempts: 0, dueAt: null, settledAt: null },
  lastOutcome: null,
}

test.each([
  ['PENDING', 0, 'Delivery was not attempted.'],
  ['UNSENT', null, 'Delivery was not attempted.'],
  ['DEAD', 12, 'Its attempts are no longer in the log.'],
  ['DELIVERED', null, 'Its attempts are no longer in the log.'],
] as const)(
  'describes an event that is %s after %s attempts, none of which is in the log: %s',
  (deliveryState, attempts, message) => {
    const text = eventText({ ...EVENT, deliveryState, attempts, content: {}, attemptList: [] })
    expect(text.split('\n').at(-1)).toBe(message)
  },
)

test('a replay that leaves out events says how many, and why', () => {
  const replay: Replay = {
    ...{ replayId: 'R', tenantId: 'T', replayState: 'RUNNING', from: new Date(0), to: new Date(1), ratePerS: 50 },
    ...{ notifyTypes: ['ORDER_PAID'], outcomes: ['UNSENT'], matched: 2, replayed: 0, actor: 'cli:a' },
    ...{ createdAt: new Date(0), finishedAt: null },
  }
  expect(replayText(replay)).not.toContain('Left out')
  const unsubscribed = [
    { notifyType: 'BALANCE_LOW' as const, count: 1 },
    { notifyType: 'ESIM_USAGE' as const, count: 3 },
  ]
  expect(
    replayText({ ...replay, unsubscribed })
      .split('\n')
      .at(-1),
  ).toMatch(/^Left out +1 BALANCE_LOW, 3 ESIM_USAGE: the endpoint is not subscribed to them$/)
})
