import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { createOutbound } from '../../src/lib/outbound/outbound.ts'
import { createDb } from '../../src/lib/postgres/db.ts'
import { es2plusSupplier } from '../../src/suppliers/es2plus/es2plus.ts'
import { gatewaySupplier } from '../../src/suppliers/gateway/gateway.ts'
import { sandboxSupplier } from '../../src/suppliers/sandbox.ts'
import { importStock } from '../../src/suppliers/stock/import.ts'
import { stockSupplier } from '../../src/suppliers/stock/stock.ts'
import type { Outcome, Supplier, SupplierRequest } from '../../src/suppliers/supplier.ts'
import { createTestDatabase } from '../harness/databases/database.ts'
import { startGateway } from '../harness/processes/gateway-process.ts'
import { startEs2plusServer } from '../harness/servers/es2plus-server.ts'
import { addSupplier, type Shop } from '../harness/shop.ts'

type Fault = 'none' | 'refuse' | 'half' | 'late' | 'lost' | 'dies'

/** A supplier with its far side, on which faults are played. What was taken is counted there, never in our tables. */
export interface Stage {
  supplier: Supplier
  product: string
  /** Of purchases, from now on. */
  fault: Fault
  /** Questions get no answer. */
  mute: boolean
  /** ICCIDs that the far side has sold and not taken back. */
  taken(): Promise<string[]>
  /** Whether a question about a lost purchase can be answered. */
  canTell: boolean
  /** Whether an eSIM that nobody wants can be given back. */
  canCancel: boolean
  close(): Promise<void>
}

/** A kind of supplier: a stage for each case, with books, faults and a breaker of its own. */
export interface StageKind {
  stage(name: string, timeoutMs: number): Promise<Stage>
  close(): Promise<void>
}

/** Answers that come late come this much after our time-out. */
const LATE_BY_MS = 2_000
const SETTLES_MS = 100

type Switches = Pick<Stage, 'fault' | 'mute'>

function quick(supplier: Supplier, timeoutMs: number, canTell: boolean): Supplier {
  // What nobody can tell goes to review soon; what can be told is given the time that a crowded machine needs.
  const giveUpAfterMs = canTell ? 60_000 : 8_000
  return { ...supplier, traits: { ...supplier.traits, settlesMs: SETTLES_MS, giveUpAfterMs, timeoutMs } }
}

/** For suppliers without a wire: what a wire would do to their answers. */
function faultyLine(inner: Supplier, switches: Switches, timeoutMs: number): Supplier {
  let turn = 0
  const died = new Set<string>()
  async function order(requests: SupplierRequest[]): Promise<Outcome[]> {
    const refused = (): Outcome => ({ kind: 'refused', words: 'refused by the test' })
    switch (switches.fault) {
      case 'none':
        return inner.order(requests)
      case 'refuse':
        return requests.map(refused)
      case 'half': {
        const wanted = requests.filter((request) => request.itemNo % 2 === 1)
        const outcomes = await inner.order(wanted)
        return requests.map((request) => outcomes[wanted.indexOf(request)] ?? refused())
      }
      case 'late': {
        const outcomes = await inner.order(requests)
        await new Promise((resolve) => setTimeout(resolve, timeoutMs + LATE_BY_MS))
        return outcomes
      }
      case 'lost':
        await inner.order(requests)
        throw new Error('the answer was lost')
      case 'dies':
        // Half of them were still done. It is back for those that come again.
        if (requests.every((request) => died.has(request.key))) return inner.order(requests)
        for (const request of requests) died.add(request.key)
        await inner.order(requests.filter(() => turn++ % 2 === 0))
        throw new Error('it died in the middle')
    }
  }
  return {
    ...inner,
    order,
    query: async (requests, purpose) => {
      if (switches.mute) return requests.map(() => ({ kind: 'unknown', words: 'it does not say' }))
      return inner.query(requests, purpose)
    },
  }
}

export async function sandboxKind(shop: Shop): Promise<StageKind> {
  return {
    async stage(name, timeoutMs) {
      const switches: Switches = { fault: 'none', mute: false }
      const inner = sandboxSupplier(name, {}, shop)
      return Object.assign(switches, {
        supplier: quick(faultyLine(inner, switches, timeoutMs), timeoutMs, true),
        product: 'ANY',
        canTell: true,
        canCancel: true,
        async taken() {
          const rows = await shop.db.query<{ n: bigint }>({
            text: `select iccid_number as n from sandbox_issued
                   where supplier = $1 and answer = 'ISSUED' and cancelled_at is null`,
            values: [name],
          })
          return rows.map((row) => makeIccid('89999', row.n))
        },
        close: async () => {},
      })
    },
    close: async () => {},
  }
}

const CODES = 50

export async function stockKind(shop: Shop): Promise<StageKind> {
  let serial = 0
  return {
    async stage(name, timeoutMs) {
      const switches: Switches = { fault: 'none', mute: false }
      await addSupplier(shop, name, 'stock')
      const rows = Array.from({ length: CODES }, () => {
        serial += 1
        return `${makeIccid('8985111', serial)},LPA:1$smdp.example.com$STAGE-${serial}`
      })
      const file = Readable.from([`iccid,ac\n${rows.join('\n')}`])
      await importStock(shop, { supplier: name, productCode: 'P', file }, { actor: 'cli:test' })
      const inner = stockSupplier(name, {}, shop)
      return Object.assign(switches, {
        supplier: quick(faultyLine(inner, switches, timeoutMs), timeoutMs, true),
        product: 'P',
        canTell: true,
        canCancel: true,
        async taken() {
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

/** With an ICCID range of ours, or without. */
export async function es2plusKind(shop: Shop, withRange: boolean): Promise<StageKind> {
  const outbound = createOutbound()
  let ranges = 0
  return {
    async stage(name, timeoutMs) {
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
        // Its three calls each have their own time-out; a refusal is believed after one of them, as no test has two late.
        supplier: quick(inner, withRange ? timeoutMs : inner.traits.timeoutMs, withRange),
        product: 'PROFILE_TYPE_1',
        canTell: withRange,
        canCancel: true,
        get fault() {
          return (server.fault.downloadOrder as Fault) ?? 'none'
        },
        set fault(fault: Fault) {
          server.fault.downloadOrder = fault
        },
        get mute() {
          return server.fault.confirmOrder !== 'none'
        },
        set mute(mute: boolean) {
          server.fault.confirmOrder = mute ? 'http-500' : 'none'
        },
        taken: async () => server.soldIccids(),
        close: () => server.close(),
      }
    },
    close: () => outbound.close(),
  }
}

/** Two real gateways: ours buys from another process, through lines that break. */
export async function gatewayKind(shop: Shop): Promise<StageKind> {
  const upstreamDatabase = await createTestDatabase()
  const upstream = await startGateway({ databaseUrl: upstreamDatabase.url })
  const { baseUrl, appKey, appSecret } = JSON.parse(readFileSync(join(upstream.dataDir, 'local.json'), 'utf8')) as {
    baseUrl: string
    appKey: string
    appSecret: string
  }
  const db = createDb({ url: upstreamDatabase.url, poolSize: 2, applicationName: 'test stage' })
  // The cheapest: the demo dealer's balance pays for all cases.
  const packages = await db.query<{ packageCode: string; productCode: string }>({
    text: `select s.package_code, s.product_code from package_suppliers s join list_prices l using (package_code)
           where s.supplier = 'sandbox' and s.product_code not like 'SANDBOX%' and l.currency_code = 'USD'
           order by l.price, s.package_code`,
  })
  const outbound = createOutbound()
  return {
    async stage(name, timeoutMs) {
      const switches: Switches = { fault: 'none', mute: false }
      const line = await breakingLine(baseUrl, switches, timeoutMs)
      const config = { url: line.url, appKey, appSecret, timeoutMs: timeoutMs }
      await addSupplier(shop, name, 'gateway', config)
      const { packageCode: product, productCode: upstreamProduct } = packages.shift()!
      return Object.assign(switches, {
        supplier: quick(gatewaySupplier(name, config, { outbound }), timeoutMs, true),
        product,
        canTell: true,
        canCancel: false,
        async taken() {
          const rows = await db.query<{ n: bigint }>({
            text: `select iccid_number as n from sandbox_issued where answer = 'ISSUED' and product_code = $1`,
            values: [upstreamProduct],
          })
          return rows.map((row) => makeIccid('89999', row.n))
        },
        close: () => line.close(),
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

/** An HTTP proxy that loses, delays and refuses orders, and swallows questions. */
async function breakingLine(target: string, switches: Switches, timeoutMs: number) {
  let turn = 0
  const seen = new Set<string>()
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const sent = Buffer.concat(chunks)
    const isOrder = request.url?.endsWith('/esim/order')
    if (!isOrder && switches.mute) return void request.socket.destroy()
    const key = isOrder ? (JSON.parse(sent.toString()) as { transactionId: string }).transactionId : ''
    // It is back for those that come again.
    const fault = isOrder && !seen.has(key) ? switches.fault : 'none'
    if (isOrder) turn += 1
    seen.add(key)
    if (fault === 'refuse' || (fault === 'half' && turn % 2 === 0)) {
      const body = JSON.stringify({ code: '200011', message: 'none left', data: { requestId: '' } })
      return void response.writeHead(422, { 'content-type': 'application/json' }).end(body)
    }
    if (fault === 'dies' && turn % 2 === 0) return void request.socket.destroy()
    const { host: _, connection: __, ...headers } = request.headers
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
