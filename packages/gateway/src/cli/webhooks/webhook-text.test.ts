import { expect, test } from 'vitest'
import type { EventView } from '#webhooks/list-events.ts'
import { eventText } from './webhook-text.ts'

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
