import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { expect, onTestFinished, test } from 'vitest'
import { DealerEsim } from '#client.ts'
import { fakeGateway, ok, refusal, type Script } from '#test/fake-gateway.ts'
import { ORDER } from '#test/order.ts'
import { startServer } from './agent-server.ts'
import { CONFIRMATION_VALID_MS } from './confirmation.ts'

const PACKAGES = [
  { packageCode: 'JP_1_7', count: 1 },
  { packageCode: 'KR_1_7', count: 2 },
]
const DRY_RUN = ok({
  ...{ validateOnly: true, amount: 45_000, currencyCode: 'USD', balanceAfter: 0 },
  packageInfoList: [{ packageCode: 'JP_1_7', packageName: 'Japan\u001b[2J', count: 1, price: 45_000 }],
})
const HEALTH = ok({
  mode: 'TEST',
  keyLabel: 'agent',
  keyLimits: { perOrderMax: null, perDayMax: 100_000, daySpent: 45_000, totalMax: null },
})
const isDryRun = (body: Record<string, unknown>) => body.validateOnly === true

async function start(script: Script) {
  const gateway = await fakeGateway(script)
  const clock = { nowMs: Date.UTC(2026, 10, 20) }
  const { baseUrl, appKey, appSecret, seen } = gateway
  const esim = new DealerEsim({ baseUrl, appKey, appSecret, retries: 0 })
  const [mine, theirs] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'test', version: '1' })
  const options = { esim, key: { appKey, appSecret }, allowOrders: true, codes: true, version: '1' }
  await startServer({ ...options, nowMs: () => clock.nowMs }, theirs)
  await client.connect(mine)
  onTestFinished(async () => {
    await client.close()
    await gateway.close()
  })
  const call = async (name: string, input: object) => {
    const { content } = await client.callTool({ name, arguments: { ...input } })
    return JSON.parse((content as [{ text: string }])[0].text)
  }
  const buy = async (packages = PACKAGES) => {
    const { amount, confirmation } = await call('quote', { buy: PACKAGES })
    return { packages, amount, confirmation }
  }
  return { seen, clock, call, buy }
}

test('a purchase sends the confirmed amount and the transactionId of the quote, whatever the sequence of its lines', async () => {
  const { seen, call, buy } = await start((operation, body) =>
    operation === 'health' ? HEALTH : isDryRun(body) ? DRY_RUN : ok(ORDER),
  )
  const confirmed = await buy([...PACKAGES].reverse())
  const [, transactionId] = confirmed.confirmation.split('.')
  expect(await call('buy', confirmed)).toMatchObject({ receipt: { keyBudget: { leftToday: '5.50 USD' } } })
  expect(seen.find(({ operation, body }) => operation === 'esim/order' && !isDryRun(body))?.body).toEqual({
    ...{ transactionId, amount: 45_000, packageInfoList: [...PACKAGES].reverse() },
  })
})

test('a confirmation is refused for another count, amount or tool, and if it is made up', async () => {
  const { seen, call, buy } = await start((operation, body) =>
    operation === 'health' ? HEALTH : isDryRun(body) ? DRY_RUN : ok(ORDER),
  )
  const confirmed = await buy()
  const madeUp = confirmed.confirmation.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A'))
  for (const [tool, input] of [
    ['buy', { ...confirmed, packages: [{ ...PACKAGES[0], count: 2 }, PACKAGES[1]] }],
    ['buy', { ...confirmed, amount: '0.01 USD' }],
    ['buy', { ...confirmed, confirmation: madeUp }],
    ['cancel', { esimTranNo: 'E1', confirmation: confirmed.confirmation }],
  ] as const) {
    expect(await call(tool, input), tool).toMatchObject({ refused: expect.stringContaining('not given for exactly') })
  }
  expect(seen.filter(({ body }) => !isDryRun(body))).toEqual([])
})

test('an expired confirmation buys nothing, but still finds what it has bought', async () => {
  let isBought = false
  const { seen, clock, call, buy } = await start((operation, body) => {
    if (operation === 'health') return HEALTH
    if (isBought && body.transactionId) return { ...ok(ORDER), headers: { 'Idempotent-Replayed': 'true' } }
    return DRY_RUN
  })
  const confirmed = await buy()
  clock.nowMs += CONFIRMATION_VALID_MS + 1
  expect(await call('buy', confirmed)).toMatchObject({ refused: expect.stringContaining('has expired') })
  isBought = true
  expect(await call('buy', confirmed)).toMatchObject({ receipt: { orderNo: ORDER.orderNo, replayed: true } })
  expect(seen.filter(({ operation, body }) => operation === 'esim/order' && !isDryRun(body))).toEqual([])
})

test('after an answer is lost, the agent is asked to repeat with the same confirmation', async () => {
  const { call, buy } = await start((_operation, body) => (isDryRun(body) ? DRY_RUN : 'break'))
  expect(await call('buy', await buy())).toMatchObject({
    code: 'NETWORK_FAULT',
    outcome: expect.stringContaining('again with the same confirmation'),
  })
})

test('what was bought is reported even if the budget cannot be read', async () => {
  const { call, buy } = await start((operation, body) =>
    operation === 'health' ? refusal(403, '101009') : isDryRun(body) ? DRY_RUN : ok(ORDER),
  )
  expect(await call('buy', await buy())).toMatchObject({
    receipt: { orderNo: ORDER.orderNo, amount: '4.50 USD', keyBudget: 'could not be read: 101009' },
  })
})

test('names reach the agent without control characters', async () => {
  const { call } = await start(() => DRY_RUN)
  expect(await call('quote', { buy: PACKAGES })).toMatchObject({ packages: [{ name: 'Japan [2J' }] })
})
