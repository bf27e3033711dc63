import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { type Answer, call } from '#test/harness/api-node.ts'
import type { ApiFixture } from './api-fixture.ts'

type Request = [
  title: string,
  get: (stage: ApiFixture) => Promise<Answer>,
  also?: (answer: Answer, stage: ApiFixture) => void,
]

const LINE = { packageCode: 'JP_1_7', count: 1 }

/** Requests that cause the codes of sending. The gateway of these tests has no mail server. */
export const SEND_REQUESTS: Record<string, Request[]> = {
  '200018': [
    [
      'a brand that the dealer does not have',
      (stage) => orderWith(stage, { brand: 'harbour' }),
      ({ data }) => expect(data.brand).toBe('harbour'),
    ],
  ],
  '200019': [
    [
      'a mail from a gateway that sends none',
      (stage) => orderWith(stage, { deliverTo: { email: 'traveller@example.test' } }),
    ],
  ],
}

function orderWith(stage: ApiFixture, more: object): Promise<Answer> {
  const body = JSON.stringify({ transactionId: randomUUID(), packageInfoList: [{ ...LINE, ...more }] })
  return call(stage.node, stage.dealer, 'esim/order', { body })
}
