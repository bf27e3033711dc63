import { afterAll, beforeAll, expect, test } from 'vitest'
import { stopGateways } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim, type Notification } from '../packages/sdk/src/index.ts'
import { command } from '../packages/sdk/test/command.ts'
import { type LocalGateway, startLocalGateway } from './local-gateway.ts'

/* The full tour waits for an eSIM to be used, which takes a minute. */
let gateway: LocalGateway
beforeAll(async () => {
  gateway = await startLocalGateway()
})
afterAll(stopGateways)

const AFTER_THE_SALE = [
  'esim/order',
  'package/list',
  'esim/topup',
  'esim/usage/query',
  'esim/suspend',
  'esim/action/query',
  'esim/unsuspend',
  'esim/action/query',
  'esim/order',
  'esim/cancel',
  'esim/action/query',
  'account/statement',
]

test('the full tour tops up, uses, suspends, resumes and cancels eSIMs, and ends with the refund in the statement', async () => {
  const { code, out, err } = await command(['tour', '--full', '--json'], { cwd: gateway.cwd })
  expect([code, err]).toEqual([0, expect.stringMatching(/^Using the local gateway/)])
  const { steps, events } = JSON.parse(out) as {
    steps: { operation: string; answer: { status: number; body: { code: string; data: object } } }[]
    events: Notification[]
  }
  const walked = steps.map((step) => step.operation).filter((operation, at, all) => operation !== all[at - 1])
  // The first part is that of the short tour: tour.test.ts.
  expect(walked.slice(walked.indexOf('webhook/set') + 1)).toEqual(AFTER_THE_SALE)
  for (const { answer } of steps) expect(answer).toMatchObject({ status: 200, body: { code: '000000' } })
  const ended = steps.filter(
    ({ operation, answer }) => operation === 'esim/action/query' && !JSON.stringify(answer).includes('PENDING'),
  )
  expect(ended.map(({ answer }) => answer.body.data)).toMatchObject(
    ['SUSPEND', 'UNSUSPEND', 'CANCEL'].map((action) => ({ action, actionStatus: 'DONE' })),
  )
  const last = steps.at(-1) as unknown as { answer: { body: { data: { entryList: { kind: string }[] } } } }
  const { entryList } = last.answer.body.data
  expect(entryList.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['REFUND', 'TOPUP', 'ORDER']))
  expect(events.map(({ notifyType }) => notifyType)).toEqual(
    expect.arrayContaining(['ESIM_USAGE', 'ESIM_ACTION_UPDATED']),
  )
  expect(await new DealerEsim(gateway.credentials).setWebhook()).toMatchObject({ callbackUrl: null })
})
