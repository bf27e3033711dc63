import { expect, onTestFinished, test } from 'vitest'
import { command, environment } from '#test/command.ts'
import { type FakeAnswer, fakeGateway, ok } from '#test/fake-gateway.ts'
import { context } from './context.ts'
import type { Io } from './io.ts'
import { tourLog } from './tour/tour-log.ts'

/** Clears the screen, in both forms that terminals accept, and writes a line. */
const HOSTILE = 'evil\x1b[2J\u009b2J\nforged'
const HARMLESS = 'evil [2J 2J forged'

async function shown(argv: string[], answer: FakeAnswer) {
  const gateway = await fakeGateway(() => answer)
  onTestFinished(() => gateway.close())
  const { out, err } = await command([...argv, '--retries', '0'], { env: environment(gateway) })
  return out + err
}

test.each([
  [['health'], { status: 403, body: { code: `9\x1b[2J`, message: HOSTILE, data: { [HOSTILE]: HOSTILE } } }],
  [
    ['order', 'JP_1_7'],
    { status: 403, body: { code: '999999', message: HOSTILE, data: { limit: 1, currencyCode: HOSTILE } } },
  ],
  [['packages'], ok({ packageList: [], nextCursor: HOSTILE, asOf: '' })],
  [['profiles'], ok({ profileList: [], nextCursor: HOSTILE })],
  [['usage', 'E1'], ok({ esimUsageList: [], notFound: [HOSTILE] })],
  [
    ['cancel', 'E1', '--transaction-id', 'C-1'],
    ok({ actionNo: HOSTILE, actionStatus: 'PENDING', refundAmount: 0, feeAmount: 0, lastUpdateTime: '' }),
  ],
] as const)('text from a gateway to %j cannot move the cursor or add lines', async (argv, answer) => {
  const text = await shown([...argv], answer)
  expect(text).toContain(HARMLESS)
  expect(text).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]|^forged/m)
})

test('the tour’s output cannot control the terminal', () => {
  const printed: string[] = []
  const io = { out: (text: string) => void printed.push(text), colour: false } as unknown as Io
  const log = tourLog(context(io, {}))
  log.note(HOSTILE)
  log.event({} as never, HARMLESS)
  const sent = { operation: 'health', attempt: 1, url: '', headers: {}, body: '{}', stringToSign: '', durationMs: 1 }
  const body = JSON.stringify({ data: { orderStatus: HOSTILE } })
  for (let asked = 0; asked < 2; asked++)
    log.observe({ ...sent, answer: { status: 200, headers: new Headers(), body } })
  const text = printed.join('')
  expect(text.match(/evil/g)?.length).toBe(4)
  expect(text).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]|^forged/m)
})
