import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { adminJson } from '@dealer-esim/gateway/test/harness/processes/admin-process.ts'
import { stopGateways } from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim, formatMoney } from '@dealer-esim/sdk'
import { command } from '@dealer-esim/sdk/test/command.ts'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type LocalGateway, root, startLocalGateway } from '../local-gateway.ts'

/* `dealer-esim mcp`, called by the client of the protocol's own SDK, against a live gateway. */
let gateway: LocalGateway
let tenantId: string
let esim: DealerEsim
beforeAll(async () => {
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), 'sdk'])
  gateway = await startLocalGateway()
  esim = new DealerEsim(gateway.credentials)
  tenantId = (await esim.health()).tenantId
})
afterAll(stopGateways)

const PRICE = 45_000
const PACKAGES = [{ packageCode: 'JP_1_7', count: 1 }]
const READ_TOOLS = [
  'action',
  'balance',
  'esims',
  'locations',
  'order',
  'orders',
  'packages',
  'quote',
  'statement',
  'usage',
]

interface Agent {
  tools(): Promise<string[]>
  /** Calls a tool that must succeed. */
  call<Answer = Record<string, never>>(name: string, input?: object): Promise<Answer>
  /** Calls a tool that must fail. */
  fail(name: string, input?: object): Promise<Record<string, unknown>>
  /** Every answer so far, as text. */
  answers: string[]
}

/** Starts `dealer-esim mcp` as a client does. Without a key: with that of the local gateway in its directory. */
async function startAgent(args: string[], key?: { appKey: string; appSecret: string }): Promise<Agent> {
  const env = key && {
    DEALER_ESIM_BASE_URL: gateway.credentials.baseUrl,
    DEALER_ESIM_APP_KEY: key.appKey,
    DEALER_ESIM_APP_SECRET: key.appSecret,
  }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, 'packages/sdk/dist/cli.js'), 'mcp', ...args],
    cwd: gateway.cwd,
    stderr: 'ignore',
    ...(env && { env }),
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const answers: string[] = []
  const call = async (name: string, input: object = {}) => {
    const answer = await client.callTool({ name, arguments: { ...input } })
    const [{ text }] = answer.content as [{ text: string }]
    answers.push(text)
    return { isError: answer.isError === true, text }
  }
  return {
    answers,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name).sort(),
    async call(name, input) {
      const { isError, text } = await call(name, input)
      expect([isError, text]).toEqual([false, text])
      return JSON.parse(text)
    },
    async fail(name, input) {
      const { isError, text } = await call(name, input)
      expect([isError, text]).toEqual([true, text])
      return text.startsWith('{') ? JSON.parse(text) : { text }
    },
  }
}

let keys = 0
/** A restricted key that may do what the local gateway's key for agents may. */
async function createKey(...limits: string[]) {
  const operations =
    'health,account/balance,package/list,esim/order,esim/topup,esim/query,esim/profile/list,esim/cancel,esim/action/query'
  const args = ['key', 'create', tenantId, '--label', `agent ${++keys}`, '--operations', operations, ...limits]
  return adminJson<{ appKey: string; appSecret: string }>(args, { DATA_DIR: join(gateway.cwd, '.data') })
}

interface Quote {
  amount: string
  confirmation: string
}
interface Receipt {
  receipt: Record<string, unknown> & { orderNo: string; transactionId: string }
}

test('an agent walks from a quote to a receipt, and a second use of the confirmation is a replay', async () => {
  const agent = await startAgent(['--allow-orders'])
  const before = await esim.balance()
  const quote = await agent.call<Quote>('quote', { buy: PACKAGES })
  expect(quote).toMatchObject({
    tool: 'buy',
    amount: '4.50 USD',
    packages: [{ packageCode: 'JP_1_7', price: '4.50 USD' }],
  })
  expect(await esim.balance()).toMatchObject({ balance: before.balance })

  const purchase = { packages: PACKAGES, amount: quote.amount, confirmation: quote.confirmation }
  const { receipt } = await agent.call<Receipt>('buy', purchase)
  const { daySpent, perDayMax } = (await keyOf()).keyLimits!
  expect(receipt).toMatchObject({
    ...{ amount: '4.50 USD', replayed: false, keyLabel: 'agent', mode: 'LIVE' },
    ...{ balanceAfter: `${formatMoney(before.balance - PRICE)} USD` },
    keyBudget: { perOrderMax: '50.00 USD', leftToday: `${formatMoney(perDayMax! - daySpent)} USD`, leftInTotal: null },
  })

  const again = await agent.call<Receipt>('buy', purchase)
  expect(again.receipt).toMatchObject({ orderNo: receipt.orderNo, replayed: true })
  // Another process with the same key: an agent that was restarted after a crash.
  const restarted = await startAgent(['--allow-orders'])
  expect(await restarted.call('buy', purchase)).toMatchObject({ receipt: { orderNo: receipt.orderNo, replayed: true } })
  expect((await esim.balance()).balance).toBe(before.balance - PRICE)
})

const keyOf = () => {
  const { agentKey, baseUrl } = gateway.credentials as unknown as {
    agentKey: { appKey: string; appSecret: string }
    baseUrl: string
  }
  return new DealerEsim({ baseUrl, ...agentKey }).health()
}

test('a local gateway writes its key for agents, and keeps it across restarts', async () => {
  expect(await keyOf()).toMatchObject({ keyLabel: 'agent', keyLimits: { perOrderMax: 500_000, perDayMax: 2_000_000 } })
})

test('a top-up and a cancellation are quoted, executed once, and answered with a receipt', async () => {
  const agent = await startAgent(['--allow-orders'])
  const { orderNo } = await esim.order({
    transactionId: randomUUID(),
    packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }],
  })
  const { profileList } = await esim.waitForOrder({ orderNo })
  const [first, second] = profileList.map(({ esimTranNo }) => esimTranNo) as [string, string]

  const topUp = { esimTranNo: first, packageCode: 'JP_1_7_TOPUP' }
  const { amount, confirmation } = await agent.call<Quote>('quote', { topUp })
  const { receipt } = await agent.call<Receipt>('top_up', { ...topUp, amount, confirmation })
  expect(receipt).toMatchObject({ orderType: 'TOPUP', amount, replayed: false, keyLabel: 'agent' })
  expect(await agent.call('top_up', { ...topUp, amount, confirmation })).toMatchObject({
    receipt: { orderNo: receipt.orderNo, replayed: true },
  })

  const cancel = { esimTranNo: second }
  const quoted = await agent.call<Quote>('quote', { cancel })
  expect(quoted).toMatchObject({ tool: 'cancel', esim: { esimTranNo: second, esimStatus: 'GOT_RESOURCE' } })
  const confirmed = { ...cancel, confirmation: quoted.confirmation }
  const cancelled = await agent.call<Receipt>('cancel', confirmed)
  expect(cancelled.receipt).toMatchObject({ esimTranNo: second, action: 'CANCEL', replayed: false })
  expect(await agent.call('cancel', confirmed)).toMatchObject({ receipt: { replayed: true } })
  await vi.waitFor(async () => {
    const { transactionId } = cancelled.receipt
    expect(await agent.call('action', { transactionId })).toMatchObject({
      actionStatus: 'DONE',
      refundAmount: '4.50 USD',
    })
  }, 60_000)
  expect(await agent.fail('quote', { cancel })).toMatchObject({ refused: expect.stringContaining('CANCEL') })
})

test('a confirmation buys nothing but what was quoted, for the quoted price, with the key that quoted', async () => {
  const agent = await startAgent(['--allow-orders'])
  const { amount, confirmation } = await agent.call<Quote>('quote', { buy: PACKAGES })
  const other = await startAgent(['--allow-orders'], await createKey('--per-day-max', '100.00'))
  const topUp = { esimTranNo: 'E', packageCode: 'JP_1_7' }
  const before = await esim.balance()
  for (const [who, tool, input] of [
    [agent, 'buy', { packages: [{ packageCode: 'JP_1_7', count: 2 }], amount, confirmation }],
    [agent, 'buy', { packages: [{ packageCode: 'JP_3_30', count: 1 }], amount, confirmation }],
    [agent, 'buy', { packages: [{ ...PACKAGES[0], periodNum: 2 }], amount, confirmation }],
    [agent, 'buy', { packages: PACKAGES, amount: '9.00 USD', confirmation }],
    [
      agent,
      'buy',
      {
        packages: PACKAGES,
        amount,
        confirmation: confirmation.replace(/^c1\.\w/, (text) => (text.endsWith('0') ? 'c1.1' : 'c1.0')),
      },
    ],
    [agent, 'buy', { packages: PACKAGES, amount, confirmation: 'yes' }],
    [agent, 'top_up', { ...topUp, amount, confirmation }],
    [agent, 'cancel', { esimTranNo: 'E', confirmation }],
    [other, 'buy', { packages: PACKAGES, amount, confirmation }],
  ] as const) {
    const { refused } = await who.fail(tool, input)
    expect(refused, JSON.stringify(input)).toContain('not given for exactly this')
  }
  expect((await esim.balance()).balance).toBe(before.balance)
})

/** Another one for each attempt. */
let prices = 8

test('a price that changed between the quote and the purchase is refused', async () => {
  const agent = await startAgent(['--allow-orders'])
  const packages = [{ packageCode: 'KR_1_7', count: 1 }]
  const { amount, confirmation } = await agent.call<Quote>('quote', { buy: packages })
  const before = await esim.balance()
  const price = `${++prices}.99`
  const own = ['price', 'set', 'KR_1_7', '--tenant', tenantId, price]
  await adminJson(own, { DATA_DIR: join(gateway.cwd, '.data') })
  await vi.waitFor(async () => {
    expect(await agent.call('quote', { buy: packages })).toMatchObject({ amount: `${price} USD` })
  }, 60_000)
  expect(await agent.fail('buy', { packages, amount, confirmation })).toMatchObject({ code: '200006' })
  expect((await esim.balance()).balance).toBe(before.balance)
})

test('four agents with one key never spend more than its limit together', async () => {
  const key = await createKey('--per-order-max', '10.00', '--per-day-max', '13.50')
  const agents = await Promise.all(Array.from({ length: 4 }, () => startAgent(['--allow-orders'], key)))
  const quotes = await Promise.all(
    agents.flatMap((agent) => [1, 2].map(() => agent.call<Quote>('quote', { buy: PACKAGES }))),
  )
  const before = await esim.balance()
  const bought = await Promise.allSettled(
    quotes.map(({ amount, confirmation }, at) =>
      agents[at % 4]!.call<Receipt>('buy', { packages: PACKAGES, amount, confirmation }),
    ),
  )
  expect(bought.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  expect((await esim.balance()).balance).toBe(before.balance - 3 * PRICE)
  const { amount, confirmation } = quotes[bought.findIndex(({ status }) => status === 'rejected')]!
  expect(await agents[0]!.fail('buy', { packages: PACKAGES, amount, confirmation })).toMatchObject({
    ...{ code: '200014', scope: 'KEY_DAY' },
  })
  expect(await agents[0]!.fail('quote', { buy: [{ packageCode: 'JP_1_7', count: 3 }] })).toMatchObject({
    ...{ code: '200014', scope: 'KEY_ORDER' },
  })
})

test('with a restricted key of a test twin, an agent spends no money, and its receipts say TEST', async () => {
  const dataDir = { DATA_DIR: join(gateway.cwd, '.data') }
  await adminJson(['tenant', 'twin', 'delete', tenantId], dataDir).catch(() => {}) // of a first attempt
  await adminJson(['tenant', 'twin', 'create', tenantId], dataDir)
  const before = await esim.balance()
  const agent = await startAgent(['--allow-orders'], await createKey('--per-day-max', '20.00', '--twin'))
  const { amount, confirmation } = await agent.call<Quote>('quote', { buy: PACKAGES })
  expect(await agent.call('buy', { packages: PACKAGES, amount, confirmation })).toMatchObject({
    receipt: { mode: 'TEST', amount, keyBudget: { leftToday: '15.50 USD' } },
  })
  expect((await esim.balance()).balance).toBe(before.balance)
})

test('without --allow-orders nothing can be bought or cancelled, and a quote confirms nothing', async () => {
  const agent = await startAgent(['--no-codes'])
  expect(await agent.tools()).toEqual(READ_TOOLS)
  expect(await agent.call('quote', { buy: PACKAGES })).toMatchObject({ amount: '4.50 USD', confirmation: null })
  for (const tool of ['buy', 'top_up', 'cancel', 'esim_codes']) {
    expect(JSON.stringify(await agent.fail(tool, {}))).toContain(`${tool} not found`)
  }
  const full = await startAgent(['--allow-orders'])
  expect(await full.tools()).toEqual([...READ_TOOLS, 'buy', 'cancel', 'esim_codes', 'top_up'].sort())
})

test('no answer contains a secret, unless activation codes were asked for by name', async () => {
  const agent = await startAgent(['--allow-orders'])
  await esim.order({ transactionId: 'MCP-SECRET', packageInfoList: PACKAGES })
  const { orderNo, profileList } = await esim.waitForOrder({ transactionId: 'MCP-SECRET' })
  const [profile] = profileList
  const { esimTranNo } = profile!
  const read: Record<string, object> = {
    packages: { coversAll: ['JP'], volumeMinBytes: 1, durationMinDays: 1, pageSize: 100 },
    ...{ locations: { language: 'de' }, balance: {}, statement: { pageSize: 100 }, orders: { pageSize: 100 } },
    ...{ order: { orderNo }, esims: { pageSize: 100 }, usage: { esimTranNoList: [esimTranNo] } },
    quote: { cancel: { esimTranNo } },
  }
  for (const [tool, input] of Object.entries(read)) await agent.call(tool, input)
  await agent.call('packages', { topUpOf: esimTranNo })
  const { amount, confirmation } = await agent.call<Quote>('quote', { buy: PACKAGES })
  await agent.call('buy', { packages: PACKAGES, amount, confirmation })
  await agent.fail('action', { transactionId: 'unknown' })
  await agent.fail('order', {})
  await agent.fail('esims', { mistyped: 1 })

  const { agentKey } = gateway.credentials as unknown as { agentKey: { appSecret: string } }
  const { ac, matchingId, smdpAddress, qrCodeUrl, shareUrl, appleInstallUrl, androidInstallUrl, pin, puk } = profile!
  const codes = [ac, matchingId, smdpAddress, qrCodeUrl, shareUrl, appleInstallUrl, androidInstallUrl, pin, puk]
  const secrets = [...codes, gateway.credentials.appSecret, agentKey.appSecret].filter((each) => each !== null)
  const text = agent.answers.join('\n')
  expect(text).toContain(esimTranNo)
  for (const secret of secrets) expect(text).not.toContain(secret)
  expect(text).not.toMatch(/LPA:1|smdp\.|\/qr\/|carddata/i)

  expect(await agent.call('esim_codes', { esimTranNo })).toMatchObject({ activationCode: ac, qrCodeUrl })
})

test.each([
  ['the account’s own key', [], () => gateway.env, /An agent needs a restricted key.*key create TENANT_ID/],
  [
    'a key without a limit, if it may buy',
    ['--allow-orders'],
    async () => environment(await createKey()),
    /needs a key with a limit/,
  ],
])('%s is refused with what to do', async (_what, args, env, message) => {
  const { code, err } = await command(['mcp', ...args], { env: await env() })
  expect([code, err]).toEqual([2, expect.stringMatching(message)])
})

const environment = ({ appKey, appSecret }: { appKey: string; appSecret: string }) => ({
  ...gateway.env,
  DEALER_ESIM_APP_KEY: appKey,
  DEALER_ESIM_APP_SECRET: appSecret,
})
