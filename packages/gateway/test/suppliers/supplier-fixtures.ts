import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type EsimAction, makeIccid } from '@dealer-esim/contract'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { es2plusSupplier } from '@dealer-esim/wholesalers/es2plus/es2plus.ts'
import { gatewaySupplier } from '@dealer-esim/wholesalers/gateway/gateway.ts'
import { sandboxSupplier } from '@dealer-esim/wholesalers/sandbox/sandbox.ts'
import { iccidOf } from '@dealer-esim/wholesalers/sandbox/sandbox-records.ts'
import type { Outcome, Supplier, SupplierRequest, TopUpRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { tenantClock } from '#platform/test-time.ts'
import { importStock } from '#stock/import-stock.ts'
import { stockSupplier } from '#stock/stock.ts'
import { createTestDatabase } from '../harness/databases/database.ts'
import { startGateway } from '../harness/processes/gateway-process.ts'
import { startEs2plusServer } from '../harness/servers/es2plus-server.ts'
import { addSupplier, type Shop } from '../harness/shop.ts'

export type Fault = 'none' | 'refuse' | 'half' | 'late' | 'lost' | 'dies'

/** A supplier and its remote side, where faults are simulated and sales are counted, never in our tables. */
export interface SupplierFixture {
  supplier: Supplier
  product: string
  /** The fault for purchases from now on. */
  fault: Fault
  /** Queries get no response. */
  ignoresQueries: boolean
  /** The ICCIDs that the remote side has sold and not cancelled. */
  listSold(): Promise<string[]>
  /** false: it cannot answer a query about a lost purchase. */
  canAnswerQueries: boolean
  /** false: it cannot cancel an unwanted eSIM. */
  canCancel: boolean
  /** It buys one eSIM of a package at a time, so purchases in doubt take many times as long. */
  isSerial?: boolean
  /** A product that tops up an eSIM of `product`; absent, like `countTopUps`, if it cannot top up. */
  topUpProduct?: string
  /** Top-ups that the remote side has carried out. */
  countTopUps?(): Promise<number>
  /** How often the remote side did this to one of its eSIMs; absent: it can do nothing after the sale. */
  countDone?(iccid: string, what: EsimAction | 'TOPUP'): Promise<number>
  close(): Promise<void>
}

/** Creates fixtures of one supplier type, each with its own records, faults and breaker. */
export interface FixtureFactory {
  create(name: string, timeoutMs: number): Promise<SupplierFixture>
  close(): Promise<void>
}

/** Late answers arrive this long after our time-out. */
export const LATE_BY_MS = 2_000
const GRACE_MS = 100

export type Switches = Pick<SupplierFixture, 'fault' | 'ignoresQueries'>

export function withShortTimes(supplier: Supplier, timeoutMs: number, canAnswerQueries: boolean): Supplier {
  // Items whose supplier cannot answer queries go to review soon; the others are given the time that a busy machine needs.
  const giveUpAfterMs = canAnswerQueries ? 240_000 : 8_000
  return { ...supplier, traits: { ...supplier.traits, graceMs: GRACE_MS, giveUpAfterMs, timeoutMs } }
}

/** Simulates network faults for suppliers that are called in the same process. */
function withFaults(inner: Supplier, switches: Switches, timeoutMs: number): Supplier {
  let calls = 0
  const died = new Set<string>()
  async function buy<Request extends SupplierRequest>(
    send: (requests: Request[]) => Promise<Outcome[]>,
    requests: Request[],
  ): Promise<Outcome[]> {
    const refused = (): Outcome => ({ kind: 'refused', message: 'refused by the test' })
    switch (switches.fault) {
      case 'none':
        return send(requests)
      case 'refuse':
        return requests.map(refused)
      case 'half': {
        const wanted = requests.filter((request) => request.itemNo % 2 === 1)
        const outcomes = await send(wanted)
        return requests.map((request) => outcomes[wanted.indexOf(request)] ?? refused())
      }
      case 'late': {
        const outcomes = await send(requests)
        await new Promise((resolve) => setTimeout(resolve, timeoutMs + LATE_BY_MS))
        return outcomes
      }
      case 'lost':
        await send(requests)
        throw new Error('the answer was lost')
      case 'dies':
        // Half of the requests were executed. Repeated requests succeed.
        if (requests.every((request) => died.has(request.key))) return send(requests)
        for (const request of requests) died.add(request.key)
        await send(requests.filter(() => calls++ % 2 === 0))
        throw new Error('it crashed in the middle')
    }
  }
  /** Carries out what is requested for a sold eSIM, but then loses the answer. */
  function losing<Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) {
    return async (...args: Args): Promise<Answer> => {
      const answer = await call(...args)
      if (switches.fault === 'lost') throw new Error('the answer was lost')
      return answer
    }
  }
  return {
    ...inner,
    ...(inner.topUp && { topUp: (requests: TopUpRequest[]) => buy(inner.topUp!, requests) }),
    ...(inner.suspend && { suspend: losing(inner.suspend) }),
    ...(inner.unsuspend && { unsuspend: losing(inner.unsuspend) }),
    ...(inner.revoke && { revoke: losing(inner.revoke) }),
    cancel: losing(inner.cancel),
    order: (requests) => buy(inner.order, requests),
    query: async (requests, purpose) => {
      if (switches.ignoresQueries) return requests.map(() => ({ kind: 'unknown', message: 'no answer' }))
      return inner.query(requests, purpose)
    },
  }
}

/** Counts at a sandbox, by the eSIM's ICCID: a record is one top-up or action, however often it was requested. */
async function countAtSandbox(db: Pick<Db, 'query'>, iccid: string, what: EsimAction | 'TOPUP'): Promise<number> {
  const text =
    what === 'TOPUP'
      ? `select e.iccid_number from sandbox_issued e join sandbox_issued t
           on t.supplier = e.supplier and t.topped_up_key = e.key and t.answer = 'ISSUED'`
      : `select e.iccid_number from sandbox_issued e join sandbox_actions a
           on a.supplier = e.supplier and a.esim_key = e.key and a.answer = 'DONE' and a.action = $1`
  const rows = await db.query<{ iccidNumber: bigint }>({ text, values: what === 'TOPUP' ? [] : [what] })
  return rows.filter((row) => iccidOf(row) === iccid).length
}

export async function createSandboxFixtures(shop: Shop): Promise<FixtureFactory> {
  return {
    async create(name, timeoutMs) {
      const switches: Switches = { fault: 'none', ignoresQueries: false }
      const inner = sandboxSupplier(name, {}, { ...shop, nowOf: tenantClock })
      return Object.assign(switches, {
        supplier: withShortTimes(withFaults(inner, switches, timeoutMs), timeoutMs, true),
        product: 'ANY',
        topUpProduct: 'ANY_TOPUP',
        canAnswerQueries: true,
        canCancel: true,
        async countTopUps() {
          const rows = await shop.db.query({
            text: `select from sandbox_issued where supplier = $1 and topped_up_key is not null and answer = 'ISSUED'`,
            values: [name],
          })
          return rows.length
        },
        countDone: (iccid: string, what: EsimAction | 'TOPUP') => countAtSandbox(shop.db, iccid, what),
        async listSold() {
          const rows = await shop.db.query<{ n: bigint }>({
            text: `select iccid_number as n from sandbox_issued
                   where supplier = $1 and answer = 'ISSUED' and cancelled_at is null and topped_up_key is null`,
            values: [name],
          })
          return rows.map((row) => iccidOf({ iccidNumber: row.n }))
        },
        close: async () => {},
      })
    },
    close: async () => {},
  }
}

const CODES = 50

export async function createStockFixtures(shop: Shop): Promise<FixtureFactory> {
  let serial = 0
  return {
    async create(name, timeoutMs) {
      const switches: Switches = { fault: 'none', ignoresQueries: false }
      await addSupplier(shop, name, 'stock')
      const rows = Array.from({ length: CODES }, () => {
        serial += 1
        return `${makeIccid('8985111', serial)},LPA:1$smdp.example.com$FIXTURE-${serial}`
      })
      const file = Readable.from([`iccid,ac\n${rows.join('\n')}`])
      await importStock(shop, { supplier: name, productCode: 'P', file }, { actor: 'cli:test' })
      const inner = stockSupplier(name, {}, shop)
      return Object.assign(switches, {
        supplier: withShortTimes(withFaults(inner, switches, timeoutMs), timeoutMs, true),
        product: 'P',
        canAnswerQueries: true,
        canCancel: true,
        async listSold() {
          const taken = await shop.db.query<{ iccid: string }>({
            text: `select iccid from stock_codes where supplier = $1 and state = 'RESERVED'`,
            values: [name],
          })
          return taken.map((row) => row.iccid)
        },
        close: async () => {},
      })
    },
    close: async () => {},
  }
}

/** With or without an ICCID range of our own. */
export async function createEs2plusFixtures(shop: Shop, withRange: boolean): Promise<FixtureFactory> {
  const outbound = createOutbound()
  let ranges = 0
  return {
    async create(name, timeoutMs) {
      const server = await startEs2plusServer()
      server.lateMs = timeoutMs + LATE_BY_MS
      ranges += 1
      const first = makeIccid('8985222', ranges * 1_000)
      const last = makeIccid('8985222', ranges * 1_000 + 999)
      const config = {
        url: server.url,
        functionRequesterIdentifier: '1.2.3',
        ...server.identity,
        timeoutMs: timeoutMs,
        ...(withRange ? { iccidRange: { first, last } } : {}),
      }
      await addSupplier(shop, name, 'es2plus', config)
      const inner = es2plusSupplier(name, config, { ...shop, outbound })
      return {
        // Each of its three calls has a separate time-out. A refusal is final after one: no test has two late calls.
        supplier: withShortTimes(inner, withRange ? timeoutMs : inner.traits.timeoutMs, withRange),
        product: 'PROFILE_TYPE_1',
        canAnswerQueries: withRange,
        canCancel: true,
        get fault() {
          return (server.fault.downloadOrder as Fault) ?? 'none'
        },
        set fault(fault: Fault) {
          server.fault.downloadOrder = fault
        },
        get ignoresQueries() {
          return server.fault.confirmOrder !== 'none'
        },
        set ignoresQueries(ignoresQueries: boolean) {
          server.fault.confirmOrder = ignoresQueries ? 'http-500' : 'none'
        },
        listSold: async () => server.soldIccids(),
        close: () => server.close(),
      }
    },
    close: () => outbound.close(),
  }
}

/** Two real gateways: ours buys from another process through a proxy with faults. */
export async function createGatewayFixtures(shop: Shop): Promise<FixtureFactory> {
  const upstreamDatabase = await createTestDatabase()
  const upstream = await startGateway({ databaseUrl: upstreamDatabase.url })
  const { baseUrl, appKey, appSecret } = JSON.parse(readFileSync(join(upstream.dataDir, 'local.json'), 'utf8')) as {
    baseUrl: string
    appKey: string
    appSecret: string
  }
  const db = createDb({ url: upstreamDatabase.url, poolSize: 2, applicationName: 'test fixtures' })
  // The cheapest packages that have a top-up: the demo dealer's balance pays for all cases.
  const packages = await db.query<{ packageCode: string; productCode: string }>({
    text: `select s.package_code, s.product_code from package_suppliers s join list_prices l using (package_code)
           join packages p using (package_code)
           where s.supplier = 'sandbox' and s.product_code not like 'SANDBOX%' and l.currency_code = 'USD'
             and p.package_type = 'BASE' and p.period_num_min is null
             and exists (select from packages t where t.package_code = s.package_code || '_TOPUP')
           order by l.price, s.package_code`,
  })
  const outbound = createOutbound()
  return {
    async create(name, timeoutMs) {
      const switches: Switches = { fault: 'none', ignoresQueries: false }
      const proxy = await startFaultyProxy(baseUrl, switches, timeoutMs)
      const config = { url: proxy.url, appKey, appSecret, timeoutMs: timeoutMs }
      await addSupplier(shop, name, 'gateway', config)
      const { packageCode: product, productCode: upstreamProduct } = packages.shift()!
      return Object.assign(switches, {
        supplier: withShortTimes(gatewaySupplier(name, config, { outbound }), timeoutMs, true),
        product,
        topUpProduct: `${product}_TOPUP`,
        canAnswerQueries: true,
        canCancel: true,
        countDone: (iccid: string, what: EsimAction | 'TOPUP') => countAtSandbox(db, iccid, what),
        async countTopUps() {
          const rows = await db.query({
            text: `select from sandbox_issued where answer = 'ISSUED' and product_code = $1`,
            values: [`${upstreamProduct}_TOPUP`],
          })
          return rows.length
        },
        async listSold() {
          const rows = await db.query<{ n: bigint }>({
            text: `select iccid_number as n from sandbox_issued
                   where answer = 'ISSUED' and product_code = $1 and cancelled_at is null`,
            values: [upstreamProduct],
          })
          return rows.map((row) => iccidOf({ iccidNumber: row.n }))
        },
        close: () => proxy.close(),
      })
    },
    async close() {
      await outbound.close()
      await db.close()
      await upstream.kill()
      await upstreamDatabase.drop()
    },
  }
}

/** An HTTP proxy that loses, delays and refuses orders and top-ups, loses the answers to actions and drops queries. */
async function startFaultyProxy(target: string, switches: Switches, timeoutMs: number) {
  let orders = 0
  const seen = new Set<string>()
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const sent = Buffer.concat(chunks)
    const isOrder = /\/esim\/(order|topup)$/.test(request.url ?? '')
    const isAction = /\/esim\/(cancel|suspend|unsuspend|revoke)$/.test(request.url ?? '')
    if (!isOrder && switches.ignoresQueries) return void request.socket.destroy()
    const key = isOrder || isAction ? (JSON.parse(sent.toString()) as { transactionId: string }).transactionId : ''
    // Repeated requests succeed.
    const isFaulty = (isOrder || (isAction && switches.fault === 'lost')) && !seen.has(key)
    const fault = isFaulty ? switches.fault : 'none'
    if (isOrder) orders += 1
    seen.add(key)
    if (fault === 'refuse' || (fault === 'half' && orders % 2 === 0)) {
      const body = JSON.stringify({ code: '200011', message: 'none left', data: { requestId: '' } })
      return void response.writeHead(422, { 'content-type': 'application/json' }).end(body)
    }
    if (fault === 'dies' && orders % 2 === 0) return void request.socket.destroy()
    // fetch computes the length itself. If given one, it fails if undici was loaded before its first use in this process.
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
    const forwarded = await fetch(`${target}${request.url}`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: sent,
    })
    const body = await forwarded.text()
    if (fault === 'lost' || fault === 'dies') return void request.socket.destroy()
    if (fault === 'late') await new Promise((resolve) => setTimeout(resolve, timeoutMs + LATE_BY_MS))
    response.writeHead(forwarded.status, { 'content-type': 'application/json' }).end(body)
  }
  const server = createServer((request, response) => void pass(request, response).catch(() => request.socket.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
