import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stopGateways } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim, DealerEsimError } from '../packages/sdk/src/index.ts'
import { type LocalGateway, localGateway } from './local-gateway.ts'

/** The SDK against a gateway, where a stand-in would only repeat what its author believes. */
let gateway: LocalGateway
let esim: DealerEsim
beforeAll(async () => {
  gateway = await localGateway()
  esim = new DealerEsim(gateway.credentials)
})
afterAll(stopGateways)

const LINES = [{ packageCode: 'JP_1_7', count: 1 }]

test('the iterators see every row once, whatever the size of a page', async () => {
  const all: string[] = []
  for await (const each of esim.eachPackage({ pageSize: 500 })) all.push(each.packageCode)
  const small: string[] = []
  for await (const each of esim.eachPackage({ pageSize: 37 })) small.push(each.packageCode)
  expect(all.length).toBeGreaterThan(200)
  expect(new Set(all).size).toBe(all.length)
  expect(small).toEqual(all)
})

test('an order whose answer is lost on the way is bought once, and the retry says so', async () => {
  const before = await esim.balance()
  const cut = await answerCutter(gateway.credentials.baseUrl, 2)
  try {
    const behind = new DealerEsim({ ...gateway.credentials, baseUrl: cut.baseUrl })
    const order = await behind.order({ transactionId: 'CUT-1', packageInfoList: LINES })
    expect(order).toMatchObject({ transactionId: 'CUT-1', replayed: true })
    expect(cut.connections).toBe(3)
    const after = await esim.balance()
    expect(before.balance - after.balance).toBe(order.amount)
  } finally {
    cut.close()
  }
})

test('an order that got no answer at all is found by the transactionId of its error', async () => {
  const cut = await answerCutter(gateway.credentials.baseUrl, Number.POSITIVE_INFINITY)
  try {
    const behind = new DealerEsim({ ...gateway.credentials, baseUrl: cut.baseUrl, retries: 0 })
    const error = await behind.order({ packageInfoList: LINES }, { generateTransactionId: true }).catch((each) => each)
    expect(error).toBeInstanceOf(DealerEsimError)
    expect(error).toMatchObject({ code: 'NETWORK_FAULT', outcomeUnknown: true })
    const found = await esim.query({ transactionId: error.transactionId })
    expect(found.packageInfoList).toMatchObject(LINES)
  } finally {
    cut.close()
  }
})

test('a refusal brings what its code promises', async () => {
  const wrong = new DealerEsim({ ...gateway.credentials, appSecret: 'not-the-secret' })
  const mismatch: DealerEsimError = await wrong.health().catch((error) => error)
  expect(mismatch.is('101003')).toBe(true)
  expect(mismatch.data.stringToSign).toMatch(/^\d{13}[0-9a-f-]{36}/)

  const late = new DealerEsim({ ...gateway.credentials, now: () => Date.now() - 3_600_000 })
  const stale: DealerEsimError = await late.health().catch((error) => error)
  if (!stale.is('101001')) throw stale
  expect(Math.abs(Date.parse(stale.data.serverTime) - Date.now())).toBeLessThan(60_000)

  const guarded = esim.order({ transactionId: 'GUARD-1', packageInfoList: LINES, amount: 1 })
  const changed: DealerEsimError = await guarded.catch((error) => error)
  if (!changed.is('200006')) throw changed
  expect(changed.data.current).toBe(45_000)
  expect(changed).toMatchObject({ transactionId: 'GUARD-1', outcomeUnknown: false, attempts: 1 })
})

interface Cutter {
  baseUrl: string
  connections: number
  close(): void
}

/** A proxy that lets requests through, and cuts the connection as soon as an answer comes, for the first so many. */
async function answerCutter(target: string, times: number): Promise<Cutter> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const cutter = { baseUrl: '', connections: 0 } as Cutter
  const server = createServer((client) => {
    cutter.connections += 1
    const cutting = cutter.connections <= times
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    client.pipe(upstream)
    if (cutting) upstream.once('data', () => client.destroy())
    else upstream.pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cutter.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  cutter.close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return cutter
}
