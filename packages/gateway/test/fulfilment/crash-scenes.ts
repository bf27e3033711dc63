import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type EsimAction, makeIccid } from '@dealer-esim/contract'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { createSimulator, type SimulatorKind } from '@dealer-esim/wholesaler-simulators'
import type { SupplierTraits } from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { importStock } from '#stock/import-stock.ts'
import type { SupplierType } from '#suppliers/create-supplier.ts'
import { createTestDatabase } from '../harness/databases/database.ts'
import { startGateway } from '../harness/processes/gateway-process.ts'
import { startEs2plusServer } from '../harness/servers/es2plus-server.ts'
import { addSupplier, createShop, type Shop } from '../harness/shop.ts'

/** A database with one supplier whose workers will be killed. */
export interface CrashScene {
  databaseUrl: string
  shop: Shop
  supplier: string
  /** A separate product for each play, so that its eSIMs can be counted. */
  product(play: string, refused: boolean): Promise<string>
  /** eSIMs of the play's product that, by its own records, the supplier has sold and not taken back. */
  soldCount(play: string): Promise<number>
  /** The statuses of all actions of this kind in the records of an upstream gateway. */
  actionsAtUpstream?(action: EsimAction): Promise<string[]>
  /** Prepares the scene for the worker that takes over. */
  prepareTakeover(): void
  close(): Promise<void>
}

export const ES2PLUS_POINTS = [
  'es2plus.before-download-order',
  'es2plus.after-download-order',
  'es2plus.ordered',
  'es2plus.before-confirm-order',
  'es2plus.after-confirm-order',
  'es2plus.confirmed',
] as const

export const MOBIMATTER_POINTS = [
  'mobimatter.before-create',
  'mobimatter.after-create',
  'mobimatter.created',
  'mobimatter.before-complete',
  'mobimatter.after-complete',
] as const

/** Failpoints that are reached only while a supplier is slow. */
export const SLOW_POINTS = [
  'fulfilment.before-asked',
  'fulfilment.asked-half-written',
  'fulfilment.after-asked',
] as const

export const CANCEL_POINTS = [
  'action.after-attempt',
  'esim-access.acted',
  'esim-go.acted',
  'zendit.acted',
  'es2plus.before-cancel-order',
  'es2plus.after-cancel-order',
  'action.after-call',
  'action.before-outcome-commit',
  'action.after-outcome',
] as const

/** Failpoints between the effect of an action at a supplier and the supplier's answer. */
export const ACTED_POINTS = ['sandbox.acted', 'gateway.acted'] as const

/** No call hangs here, so a call is no longer in doubt after this time. */
const TIMEOUT_MS = 5_000

async function openScene() {
  const database = await createTestDatabase()
  const shop = await createShop(database.url)
  return {
    databaseUrl: database.url,
    shop,
    products: new Map<string, string>(),
    prepareTakeover() {
      const quick: Pick<SupplierTraits, 'graceMs' | 'timeoutMs'> = { graceMs: 0, timeoutMs: TIMEOUT_MS }
      for (const { supplier } of shop.suppliers.all()) Object.assign(supplier.traits, quick)
    },
    async close() {
      await shop.close()
      await database.drop()
    },
  }
}

const codeOf = (play: string) => play.replace(/\W/g, '_').toUpperCase()

/** sandbox or stock: their records are in the same database, but are written in separate transactions. */
export async function localScene(type: 'sandbox' | 'stock'): Promise<CrashScene> {
  const scene = await openScene()
  const supplier = `crash-${type}`
  const { shop, products } = scene
  await addSupplier(shop, supplier, type)
  let serial = 0
  return {
    ...scene,
    supplier,
    async product(play, refused) {
      const isSlow = SLOW_POINTS.some((point) => play === point)
      const productCode = isSlow ? 'SANDBOX_SLOW' : refused && type === 'sandbox' ? 'SANDBOX_REFUSED' : codeOf(play)
      products.set(play, productCode)
      if (type === 'stock' && !refused) {
        const rows = Array.from({ length: 5 }, () => {
          serial += 1
          return `${makeIccid('8985444', serial)},LPA:1$smdp.example.com$CRASH-${serial}`
        })
        const file = Readable.from([`iccid,ac\n${rows.join('\n')}`])
        await importStock(shop, { supplier, productCode, file }, { actor: 'cli:test' })
      }
      return productCode
    },
    async soldCount(play) {
      const text =
        type === 'stock'
          ? `select from stock_codes where supplier = $1 and product_code = $2 and state = 'RESERVED'`
          : `select from sandbox_issued where supplier = $1 and product_code = $2 and answer = 'ISSUED' and key = any ($3)`
      const keys = type === 'sandbox' ? [await keysOf(shop, play)] : []
      return (await shop.db.query({ text, values: [supplier, products.get(play), ...keys] })).length
    },
  }
}

/** The keys of the items that a play has sold: its package is named after it. */
async function keysOf(shop: Shop, play: string): Promise<string[]> {
  const items = await shop.db.query<{ orderId: string; itemNo: number }>({
    text: 'select order_id, item_no from order_items where package_code = $1',
    values: [play.replace(/\W/g, '_')],
  })
  return items.map(({ orderId, itemNo }) => itemKeyOf(orderId, itemNo))
}

export async function es2plusScene(withRange: boolean): Promise<CrashScene> {
  const scene = await openScene()
  const server = await startEs2plusServer()
  const supplier = 'crash-smdp'
  await addSupplier(scene.shop, supplier, 'es2plus', {
    url: server.url,
    functionRequesterIdentifier: '1.2.3',
    ...server.identity,
    timeoutMs: TIMEOUT_MS,
    ...(withRange
      ? { iccidRange: { first: makeIccid('8985222', 1), last: makeIccid('8985222', 9_999) } }
      : { giveUpAfterMs: 4_000, concurrency: 200 }), // the deadline is too short to wait for a permit
  })
  return {
    ...scene,
    supplier,
    async product(play, refused) {
      scene.products.set(play, `${refused ? 'NONE_LEFT' : 'TYPE'}_${codeOf(play)}`)
      return scene.products.get(play)!
    },
    async soldCount(play) {
      const type = scene.products.get(play)
      const orders = [...server.orders.values()]
      return orders.filter((order) => order.profileType === type && order.state !== 'UNAVAILABLE').length
    },
    async close() {
      await server.close()
      await scene.close()
    },
  }
}

export function airaloScene(): Promise<CrashScene> {
  return wholesalerScene('airalo', (credentials) => credentials)
}

export function esimAccessScene(): Promise<CrashScene> {
  return wholesalerScene('esim-access', ({ accessCode, secretKey }) => ({ accessCode, secretKey, perSecond: 1_000 }))
}

export function esimGoScene(): Promise<CrashScene> {
  return wholesalerScene('esim-go', ({ apiKey }) => ({ apiKey, perSecond: 1_000 }))
}

export function mobimatterScene(): Promise<CrashScene> {
  return wholesalerScene('mobimatter', (credentials) => credentials)
}

export function zenditScene(): Promise<CrashScene> {
  return wholesalerScene('zendit', ({ apiKey }) => ({ apiKey }))
}

/** The wholesaler's simulator keeps running while our worker is killed. */
async function wholesalerScene(
  kind: SimulatorKind & SupplierType,
  configOf: (credentials: Record<string, string>) => object,
): Promise<CrashScene> {
  const scene = await openScene()
  const simulator = await createSimulator(kind, { catalogueSize: 60 })
  const supplier = 'crash-wholesaler'
  const config = { url: simulator.url, timeoutMs: TIMEOUT_MS, ...configOf(simulator.credentials) }
  await addSupplier(scene.shop, supplier, kind, config)
  const codes: string[] = []
  for await (const product of readableProducts(scene.shop.suppliers.get(supplier)!.supplier)) {
    if (product.packageType === 'BASE' && !product.isDayPass) codes.push(product.productCode)
  }
  return {
    ...scene,
    supplier,
    async product(play, refused) {
      const code = codes.shift()!
      scene.products.set(play, code)
      if (refused) simulator.changeProduct({ code, inStock: false })
      return code
    },
    async soldCount(play) {
      return simulator.counters().takenByProduct[scene.products.get(play)!] ?? 0
    },
    async close() {
      await simulator.close()
      await scene.close()
    },
  }
}

/** Another gateway, of which the shop is a dealer. It runs in its own process while ours is killed. */
async function startUpstream(shop: Shop, supplier: string) {
  const upstreamDatabase = await createTestDatabase()
  const upstream = await startGateway({ databaseUrl: upstreamDatabase.url })
  const { baseUrl, appKey, appSecret } = JSON.parse(readFileSync(join(upstream.dataDir, 'local.json'), 'utf8')) as {
    baseUrl: string
    appKey: string
    appSecret: string
  }
  const db = createDb({ url: upstreamDatabase.url, poolSize: 2, applicationName: 'test scene' })
  const packages = await db.query<{ packageCode: string; productCode: string }>({
    text: `select s.package_code, s.product_code from package_suppliers s
             join list_prices l using (package_code) join packages p using (package_code)
           where s.supplier = 'sandbox' and l.currency_code = 'USD' and p.package_type = 'BASE' and p.period_num_max is null
           order by l.price, s.package_code`,
  })
  await addSupplier(shop, supplier, 'gateway', { url: baseUrl, appKey, appSecret, timeoutMs: TIMEOUT_MS })
  return {
    db,
    packages,
    async close() {
      await db.close()
      await upstream.kill()
      await upstreamDatabase.drop()
    },
  }
}

export async function gatewayScene(): Promise<CrashScene> {
  const scene = await openScene()
  const supplier = 'crash-upstream'
  const { db, packages, close } = await startUpstream(scene.shop, supplier)
  const sold = packages.filter((one) => !one.productCode.startsWith('SANDBOX'))
  const refusedOne = packages.find((one) => one.productCode === 'SANDBOX_REFUSED')!
  return {
    ...scene,
    supplier,
    async product(play, refused) {
      const chosen = refused ? refusedOne : sold.shift()!
      scene.products.set(play, chosen.productCode)
      return chosen.packageCode
    },
    async soldCount(play) {
      const text = `select from sandbox_issued where product_code = $1 and answer = 'ISSUED'`
      return (await db.query({ text, values: [scene.products.get(play)] })).length
    },
    async actionsAtUpstream(action) {
      const text = 'select action_status from esim_actions where action = $1'
      const rows = await db.query<{ actionStatus: string }>({ text, values: [action] })
      return rows.map(({ actionStatus }) => actionStatus)
    },
    async close() {
      await close()
      await scene.close()
    },
  }
}
