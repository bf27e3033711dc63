import { afterAll, beforeAll, expect, test } from 'vitest'
import { stopGateways } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim, type Notification } from '../packages/sdk/src/index.ts'
import { command } from '../packages/sdk/test/command.ts'
import { type LocalGateway, startLocalGateway } from './local-gateway.ts'

let gateway: LocalGateway
beforeAll(async () => {
  gateway = await startLocalGateway()
})
afterAll(stopGateways)

const FIRST_USE = [
  'health',
  'account/balance',
  'package/list',
  'esim/order',
  'esim/query',
  'esim/profile/list',
  'webhook/set',
  'esim/order',
]

test('a newcomer can follow the first steps in the suggested order, and sees the next order’s events', async () => {
  const { code, out, err } = await command(['tour', '--json'], { cwd: gateway.cwd })
  expect([code, err]).toEqual([
    0,
    `Using the local gateway ${gateway.credentials.baseUrl} (credentials from .data/local.json).\n`,
  ])
  const { steps, events } = JSON.parse(out) as {
    steps: { operation: string; answer: { status: number; body: { code: string } } }[]
    events: Notification[]
  }
  const walked = steps.map((step) => step.operation).filter((operation, at, all) => operation !== all[at - 1])
  expect(walked).toEqual(FIRST_USE)
  for (const { answer } of steps) expect(answer).toMatchObject({ status: 200, body: { code: '000000' } })
  const last = steps.at(-1) as unknown as { answer: { body: { data: { orderNo: string } } } }
  const { orderNo } = last.answer.body.data
  const mine = events.filter((event) => 'orderNo' in event.content && event.content.orderNo === orderNo)
  expect(mine.map((event) => event.notifyType)).toContain('ORDER_PAID')
  expect(mine).toContainEqual(
    expect.objectContaining({ content: expect.objectContaining({ orderStatus: 'DELIVERED' }) }),
  )
})

test('the tour for people shows each request, its string to sign and the answer', async () => {
  const { code, out } = await command(['tour'], { cwd: gateway.cwd })
  expect(code).toBe(0)
  for (const operation of FIRST_USE)
    expect(out).toContain(`POST ${gateway.credentials.baseUrl}/open-api/v1/${operation}`)
  expect(out.match(/string to sign\n {3}\d{13}[0-9a-f-]{36}/g)?.length).toBeGreaterThanOrEqual(FIRST_USE.length)
  expect(out).toMatch(/event, signature verified: ORDER_PAID/)
  expect(out).not.toContain(gateway.credentials.appSecret)
  // The setting is as it was before.
  expect(await new DealerEsim(gateway.credentials).setWebhook()).toMatchObject({ callbackUrl: null })
})

test('listen --set receives and verifies an order’s events', async () => {
  const interrupt = new AbortController()
  let ready: () => void = () => undefined
  const set = new Promise<void>((resolve) => {
    ready = resolve
  })
  const running = command(['listen', '--port', '0', '--set', '--json'], {
    cwd: gateway.cwd,
    interrupted: interrupt.signal,
    onErr: (text) => text.includes('now sends its events here') && ready(),
    onOut: (text) => text.includes('"DELIVERED"') && interrupt.abort(),
  })
  await set
  await new DealerEsim(gateway.credentials).order(
    { packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] },
    { generateTransactionId: true },
  )
  const { out } = await running
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.every((line) => line.verified)).toBe(true)
  expect(lines.map((line) => line.event.notifyType)).toEqual(
    expect.arrayContaining(['CHECK_HEALTH', 'ORDER_PAID', 'DELIVERY_UPDATED']),
  )
})

test('listen --set restores the previous callback URL', async () => {
  const esim = new DealerEsim(gateway.credentials)
  const interrupt = new AbortController()
  const { code, err } = await command(['listen', '--port', '0', '--set'], {
    cwd: gateway.cwd,
    interrupted: interrupt.signal,
    onErr: (text) => text.includes('now sends its events here') && interrupt.abort(),
  })
  expect([code, err]).toEqual([0, expect.stringContaining('The webhook setting is restored: no callback URL.')])
  expect(await esim.setWebhook()).toMatchObject({ callbackUrl: null })
})

test('a failing request is explained by what the gateway received', async () => {
  const seen: { headers: Record<string, string>; body: string }[] = []
  const esim = new DealerEsim({
    ...gateway.credentials,
    // Simulates a library that serialises the body again after it was signed.
    fetch: (url, init) => {
      const body = JSON.stringify(JSON.parse(String(init.body)), null, 2)
      seen.push({ headers: init.headers as Record<string, string>, body })
      return fetch(url, { ...init, body })
    },
  })
  await expect(esim.query({ transactionId: 'T-1' })).rejects.toMatchObject({ code: '101003' })
  const [sent] = seen
  const { code, out } = await command(['verify'], { cwd: gateway.cwd, stdin: JSON.stringify(sent) })
  expect(code).toBe(1)
  expect(out).toMatch(/✗ signature .*serialised again between signing and sending \(without spaces\)/)
  expect(out).toContain('The gateway answers 101003.')
})

test('the tour buys nothing from a gateway on another machine without confirmation', async () => {
  const env = { ...gateway.env, DEALER_ESIM_BASE_URL: 'https://esim.example.com' }
  const { code, err } = await command(['tour'], { env })
  expect([code, err]).toEqual([
    2,
    'The tour buys two eSIMs, and https://esim.example.com is not on this machine. Add --yes to confirm.\n',
  ])
})
