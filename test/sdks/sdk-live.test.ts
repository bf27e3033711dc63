import { stopGateways } from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim, DealerEsimError } from '@dealer-esim/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalGateway, startLocalGateway } from '../local-gateway.ts'
import { startCuttingProxy } from './proxies.ts'

/* Tests the SDK against a real gateway, because a fake would only repeat its author's assumptions. */
let gateway: LocalGateway
let esim: DealerEsim
beforeAll(async () => {
  gateway = await startLocalGateway()
  esim = new DealerEsim(gateway.credentials)
})
afterAll(stopGateways)

const LINES = [{ packageCode: 'JP_1_7', count: 1 }]

test('the iterators return every row once for any page size', async () => {
  const all: string[] = []
  for await (const each of esim.eachPackage({ pageSize: 500 })) all.push(each.packageCode)
  const small: string[] = []
  for await (const each of esim.eachPackage({ pageSize: 37 })) small.push(each.packageCode)
  expect(all.length).toBeGreaterThan(200)
  expect(new Set(all).size).toBe(all.length)
  expect(small).toEqual(all)
})

test('an order whose answer is lost is placed once, and the retry is marked as a replay', async () => {
  const before = await esim.balance()
  const proxy = await startCuttingProxy(gateway.credentials.baseUrl, 2)
  try {
    const viaProxy = new DealerEsim({ ...gateway.credentials, baseUrl: proxy.baseUrl })
    const order = await viaProxy.order({ transactionId: 'CUT-1', packageInfoList: LINES })
    expect(order).toMatchObject({ transactionId: 'CUT-1', replayed: true })
    expect(proxy.connections).toBe(3)
    const after = await esim.balance()
    expect(before.balance - after.balance).toBe(order.amount)
  } finally {
    proxy.close()
  }
})

test('an order without an answer is found by the transactionId in its error', async () => {
  const proxy = await startCuttingProxy(gateway.credentials.baseUrl, Number.POSITIVE_INFINITY)
  try {
    const viaProxy = new DealerEsim({ ...gateway.credentials, baseUrl: proxy.baseUrl, retries: 0 })
    const error = await viaProxy
      .order({ packageInfoList: LINES }, { generateTransactionId: true })
      .catch((each) => each)
    expect(error).toBeInstanceOf(DealerEsimError)
    expect(error).toMatchObject({ code: 'NETWORK_FAULT', outcomeUnknown: true })
    const found = await esim.query({ transactionId: error.transactionId })
    expect(found.packageInfoList).toMatchObject(LINES)
  } finally {
    proxy.close()
  }
})

test('a refusal contains the data that its code documents', async () => {
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
