import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { connect } from '../../src/lib/db.ts'
import { createOutbound } from '../../src/lib/outbound/outbound.ts'
import { es2plusSupplier } from '../../src/suppliers/es2plus/es2plus.ts'
import { gatewaySupplier } from '../../src/suppliers/gateway/gateway.ts'
import { sandboxSupplier } from '../../src/suppliers/sandbox.ts'
import { importStock } from '../../src/suppliers/stock/import.ts'
import { stockSupplier } from '../../src/suppliers/stock/stock.ts'
import type { Outcome, Supplier, SupplierRequest, SupplierTraits } from '../../src/suppliers/supplier.ts'
import { createTestDatabase } from './database.ts'
import { startEs2plusServer } from './es2plus-server.ts'
import { startGateway } from './gateway-process.ts'
import { addSupplier, type Shop } from './shop.ts'

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

const TIMEOUT_MS = 600
const LATE_MS = 1_200
const QUICK: Partial<SupplierTraits> = { settles_ms: 100, giveUpAfter_ms: 20_000 }

type Switches = Pick<Stage, 'fault' | 'mute'>

/** For suppliers without a wire: what a wire would do to their answers. */
function faultyLine(inner: Supplier, switches: Switches): Supplier {
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
        await new Promise((resolve) => setTimeout(resolve, LATE_MS))
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
    traits: { ...inner.traits, ...QUICK, timeout_ms: TIMEOUT_MS },
    order,
    query: async (requests) => {
      if (switches.mute) return requests.map(() => ({ kind: 'unknown', words: 'it does not say' }))
      return inner.query(requests)
    },
  }
}

export async function sandboxStage(shop: Shop): Promise<Stage> {
  const switches: Switches = { fault: 'none', mute: false }
  const inner = sandboxSupplier('sandbox', {}, shop)
  return Object.assign(switches, {
    supplier: faultyLine(inner, switches),
    product: 'STAGE_SANDBOX',
    canTell: true,
    canCancel: true,
    async taken() {
      const rows = await shop.db.query<{ n: bigint }>({
        text: `select iccid_number as n from sandbox_issued where answer = 'ISSUED' and cancelled_at is null`,
      })
      return rows.map((row) => makeIccid('89999', row.n))
    },
    close: async () => {},
  })
}

export async function stockStage(shop: Shop): Promise<Stage> {
  const switches: Switches = { fault: 'none', mute: false }
  await addSupplier(shop, 'shelf', 'stock')
  const rows = Array.from({ length: 2_000 }, (_, i) => `${makeIccid('8985111', i)},LPA:1$smdp.example.com$STAGE-${i}`)
  const file = Readable.from([`iccid,ac\n${rows.join('\n')}`])
  await importStock(shop, { supplier: 'shelf', productCode: 'STAGE_STOCK', file, actor: 'cli:test' })
  const inner = stockSupplier('shelf', {}, shop)
  return Object.assign(switches, {
    supplier: faultyLine(inner, switches),
    product: 'STAGE_STOCK',
    canTell: true,
    canCancel: true,
    async taken() {
      const taken = await shop.db.query<{ iccid: string }>({
        text: `select iccid from stock_codes where supplier = 'shelf' and state = 'RESERVED'`,
      })
      return taken.map((row) => row.iccid)
    },
    close: async () => {},
  })
}

/** With an ICCID range of ours, or without. */
export async function es2plusStage(shop: Shop, withRange: boolean): Promise<Stage> {
  const server = await startEs2plusServer()
  const outbound = createOutbound()
  const name = withRange ? 'smdp-range' : 'smdp'
  await addSupplier(shop, name, 'es2plus', { url: server.url, functionRequesterIdentifier: '1.2.3' })
  const inner = es2plusSupplier(
    name,
    {
      url: server.url,
      functionRequesterIdentifier: '1.2.3',
      ...server.identity,
      timeoutMs: TIMEOUT_MS,
      ...(withRange ? { iccidRange: { first: makeIccid('8985222', 1), last: makeIccid('8985222', 9_999) } } : {}),
    },
    { ...shop, outbound },
  )
  server.late_ms = LATE_MS
  return {
    supplier: { ...inner, traits: { ...inner.traits, ...QUICK } },
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
      return server.fault.confirmOrder === 'lost'
    },
    set mute(mute: boolean) {
      server.fault.confirmOrder = mute ? 'http-500' : 'none'
    },
    taken: async () => server.taken(),
    async close() {
      await outbound.close()
      await server.close()
    },
  }
}

/** Two real gateways: ours buys from another process, through a line that breaks. */
export async function gatewayStage(shop: Shop): Promise<Stage> {
  const upstreamDatabase = await createTestDatabase()
  const upstream = await startGateway({ databaseUrl: upstreamDatabase.url })
  const credentials = JSON.parse(readFileSync(join(upstream.dataDir, 'local.json'), 'utf8')) as {
    baseUrl: string
    appKey: string
    appSecret: string
  }
  const db = connect({ url: upstreamDatabase.url, poolSize: 2, applicationName: 'test stage' })
  const [package_] = await db.query<{ package_code: string }>({
    text: `select s.package_code from package_suppliers s join list_prices l using (package_code)
           where s.supplier = 'sandbox' and s.product_code not like 'SANDBOX%' and l.currency_code = 'USD'
           order by l.price, s.package_code limit 1`,
  })
  const switches: Switches = { fault: 'none', mute: false }
  const line = await breakingLine(credentials.baseUrl, switches)
  const outbound = createOutbound()
  const config = { ...credentials, url: line.url, timeoutMs: TIMEOUT_MS }
  const { baseUrl: _, ...stored } = config
  await addSupplier(shop, 'upstream', 'gateway', stored)
  const inner = gatewaySupplier('upstream', stored, { outbound })
  return Object.assign(switches, {
    supplier: { ...inner, traits: { ...inner.traits, ...QUICK } },
    product: package_!.package_code,
    canTell: true,
    canCancel: false,
    async taken() {
      const rows = await db.query<{ n: bigint }>({
        text: `select iccid_number as n from sandbox_issued where answer = 'ISSUED'`,
      })
      return rows.map((row) => makeIccid('89999', row.n))
    },
    async close() {
      await outbound.close()
      await line.close()
      await db.close()
      await upstream.kill()
      await upstreamDatabase.drop()
    },
  })
}

/** An HTTP proxy that loses, delays and refuses orders, and swallows questions. */
async function breakingLine(target: string, switches: Switches) {
  let turn = 0
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const isOrder = request.url?.endsWith('/esim/order')
    if (!isOrder && switches.mute) return void request.socket.destroy()
    const fault = isOrder ? switches.fault : 'none'
    if (isOrder) turn += 1
    if (fault === 'refuse' || (fault === 'half' && turn % 2 === 0)) {
      const body = JSON.stringify({ code: '200011', message: 'none left', data: { requestId: '' } })
      return void response.writeHead(422, { 'content-type': 'application/json' }).end(body)
    }
    if (fault === 'dies' && turn % 2 === 0) return void request.socket.destroy()
    const { host: _, connection: __, ...headers } = request.headers
    const forwarded = await fetch(`${target}${request.url}`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: Buffer.concat(chunks),
    })
    const body = await forwarded.text()
    if (fault === 'lost' || fault === 'dies') return void request.socket.destroy()
    if (fault === 'late') await new Promise((resolve) => setTimeout(resolve, LATE_MS))
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
