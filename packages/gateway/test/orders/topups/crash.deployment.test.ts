import { orderNoOf } from '@dealer-esim/contract'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { MOBIMATTER_POINTS } from '#test/fulfilment/crash-scenes.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { bundleForChildren, type ChildBundle, spawnFulfilment } from '#test/harness/processes/child-process.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  createShop,
  payOrders,
  type Shop,
  shortenWaits,
  statuses,
  waitUntil,
  walletOf,
} from '#test/harness/shop.ts'

/*
 * A worker is killed at each failpoint while it tops up eSIMs, and another one takes over: each top-up is applied once and
 * recorded once at the supplier, or refunded once if the supplier refuses it.
 */

const ESIMS = 3
const VOLUME = 1_000_000_000n
const POINTS = [
  'fulfilment.claimed',
  'fulfilment.before-attempt',
  'fulfilment.after-attempt',
  'fulfilment.before-call',
  'fulfilment.after-call',
  'fulfilment.outcome-half-written',
  'fulfilment.before-outcome-commit',
  'fulfilment.after-outcome',
]
/** The failpoints of each supplier. */
const SUPPLIERS = {
  airalo: [...POINTS, 'airalo.ordered'],
  'esim-go': ['fulfilment.after-attempt', 'fulfilment.after-call', 'esim-go.before-order', 'esim-go.ordered'],
  mobimatter: ['fulfilment.after-attempt', 'fulfilment.after-call', ...MOBIMATTER_POINTS],
  sandbox: [...POINTS, 'sandbox.issued'],
}
type SupplierName = keyof typeof SUPPLIERS
const WHOLESALERS = ['airalo', 'esim-go', 'mobimatter'] as const
/** Failpoints that are not reached by a refused top-up. */
const NOT_REACHED: readonly string[] = MOBIMATTER_POINTS.slice(MOBIMATTER_POINTS.indexOf('mobimatter.created'))
const PLAYS = (Object.keys(SUPPLIERS) as SupplierName[]).flatMap((supplier) =>
  SUPPLIERS[supplier].flatMap((point) => [
    [supplier, point, 'UP'] as const,
    ...(NOT_REACHED.includes(point) ? [] : [[supplier, point, 'UP_REFUSED'] as const]),
  ]),
)
/** How long suppliers wait for a request. */
const TIMEOUT_MS = 800
const WAIT_MAX_MS = 100_000
/** The successor does not wait any longer before it tries again: waits are not what is tested. */
const RETRY_WAIT_MAX_MS = 100
const LOOK_EVERY_MS = 50

let database: TestDatabase
let shop: Shop
let bundle: ChildBundle
const simulators = new Map<string, Simulator>()
/** Tenants with delivered eSIMs, by supplier: one for each play. */
const tenants: Record<SupplierName, string[]> = { airalo: [], 'esim-go': [], mobimatter: [], sandbox: [] }

beforeAll(async () => {
  bundle = await bundleForChildren(new URL('../../harness/processes/fulfilment-node.ts', import.meta.url))
  database = await createTestDatabase()
  shop = await createShop(database.url)
  for (const kind of WHOLESALERS) {
    const simulator = await createSimulator(kind, { catalogueSize: 300 })
    simulators.set(kind, simulator)
    const timeout = kind === 'airalo' ? {} : { timeoutMs: TIMEOUT_MS }
    await addSupplier(shop, kind, kind, { url: simulator.url, ...simulator.credentials, ...timeout })
  }
  await addPackages('sandbox', { base: 'BASE', up: 'UP', refused: 'SANDBOX_REFUSED' })
  for (const kind of WHOLESALERS) await addPackages(kind, await productsOf(kind))
  await shop.db.query({ text: `update packages set package_type = 'TOPUP' where package_code not like '%_BASE'` })
  for (const { supplier } of shop.suppliers.all()) Object.assign(supplier.traits, { timeoutMs: 1_000, graceMs: 0 })
  await deliverEsims(PLAYS.map(([supplier]) => supplier))
}, 480_000)
afterAll(async () => {
  for (const simulator of simulators.values()) await simulator.close()
  await shop.close()
  await database.drop()
  bundle.remove()
})

async function addPackages(supplier: SupplierName, products: { base: string; up: string; refused: string }) {
  await addPackage(shop.db, `${supplier}_BASE`, [{ supplier, productCode: products.base }])
  await addPackage(shop.db, `${supplier}_UP`, [{ supplier, productCode: products.up }])
  await addPackage(shop.db, `${supplier}_UP_REFUSED`, [{ supplier, productCode: products.refused }])
}

/** A package with two top-ups for its coverage, one of them out of stock. At eSIM Go, each bundle is also a top-up. */
async function productsOf(supplier: (typeof WHOLESALERS)[number]) {
  const groups = new Map<string, { base: string[]; ups: string[] }>()
  const products = readableProducts(shop.suppliers.get(supplier)!.supplier)
  for await (const { productCode, packageType, countries } of products) {
    const group = groups.get(countries.join()) ?? { base: [], ups: [] }
    groups.set(countries.join(), group)
    if (packageType === 'BASE') group.base.push(productCode)
    if (packageType === 'TOPUP' || supplier === 'esim-go') group.ups.push(productCode)
  }
  const { base, ups } = [...groups.values()].find((group) => group.base.length > 0 && group.ups.length > 1)!
  simulators.get(supplier)!.changeProduct({ code: ups[1]!, inStock: false })
  return { base: base[0]!, up: ups[0]!, refused: ups[1]! }
}

/** How often the supplier has carried out each of these top-ups, one per eSIM, according to its own records. */
async function countToppedUp(supplier: SupplierName, tenantId: string, keys: string[]): Promise<number[]> {
  const simulator = simulators.get(supplier)
  if (simulator === undefined) {
    const rows = await shop.db.query<{ key: string }>({
      text: `select key from sandbox_issued where key = any ($1) and answer = 'ISSUED' and topped_up_key is not null`,
      values: [keys],
    })
    return keys.map((key) => rows.filter((row) => row.key === key).length)
  }
  const profiles = await shop.db.query<{ iccid: string }>({
    text: 'select iccid from profiles where tenant_id = $1',
    values: [tenantId],
  })
  const sold = new Map(simulator.esims().map(({ iccid, productCodes }) => [iccid, productCodes.length]))
  return profiles.map(({ iccid }) => sold.get(iccid)! - 1)
}

/** Buys eSIMs for a new tenant each, all together: one after another, each would wait for a loop to start and stop. */
async function deliverEsims(suppliers: SupplierName[]): Promise<void> {
  const added: string[] = []
  for (const supplier of suppliers) {
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, `${supplier}_BASE`, { orders: ESIMS })
    tenants[supplier].push(tenantId)
    added.push(tenantId)
  }
  const loop = fulfilmentLoop(shop)
  for (const tenantId of added) {
    await untilEnded(tenantId)
    expect(await statuses(shop.db, tenantId)).toEqual({ DELIVERED: ESIMS })
  }
  await loop.stop(5_000)
}

async function untilEnded(tenantId: string): Promise<void> {
  const isEnded = async () => {
    await shortenWaits(shop, tenantId, RETRY_WAIT_MAX_MS)
    const { PAID, ALLOCATING } = await statuses(shop.db, tenantId)
    return !PAID && !ALLOCATING
  }
  await waitUntil(isEnded, WAIT_MAX_MS, LOOK_EVERY_MS)
}

/** Pays for one top-up for each of a tenant's eSIMs. @returns the top-ups' orders */
async function payTopUps(tenantId: string, supplier: SupplierName, packageCode: string): Promise<string[]> {
  const profiles = await shop.db.query<{ profileId: string }>({
    text: 'select profile_id from profiles where tenant_id = $1',
    values: [tenantId],
  })
  const orderIds = await payOrders(shop.db, tenantId, `${supplier}_${packageCode}`, { orders: ESIMS })
  await shop.db.query({
    text: `update orders o set order_type = 'TOPUP', topped_up_profile_id = t.profile_id,
             package_lines = jsonb_set(package_lines, '{0}', package_lines -> 0 || $4)
           from unnest($2::uuid[], $3::uuid[]) as t(order_id, profile_id)
           where o.tenant_id = $1 and o.order_id = t.order_id`,
    values: [
      tenantId,
      orderIds,
      profiles.map(({ profileId }) => profileId),
      JSON.stringify({ volume: Number(VOLUME), duration: 7, dataType: 'TOTAL', durationUnit: 'DAY' }),
    ],
  })
  return orderIds
}

/** The dead worker's leases have expired, and its calls have ended. */
async function letMinutePass(): Promise<void> {
  await shop.db.tx(async (tx) => {
    tx.send({ text: 'update orders set due_at = now(), lease_until = null where due_at is not null' })
    tx.send({
      text: `update order_items set in_doubt_at = in_doubt_at - interval '1 minute',
        updated_at = updated_at - interval '1 minute' where item_status = 'ASKED'`,
    })
  })
}

it.each(PLAYS)(
  'top-ups at %s are handled once each even if the worker dies at %s (package %s)',
  async (supplier, point, packageCode) => {
    // A play that is tried a second time takes one more.
    if (tenants[supplier].length === 0) await deliverEsims([supplier])
    const tenantId = tenants[supplier].pop()!
    const orderIds = await payTopUps(tenantId, supplier, packageCode)
    const killed = spawnFulfilment(bundle.path, database.url, point)
    let stderr = ''
    killed.stderr!.on('data', (text) => (stderr += text))
    expect(((await killed.ended) as unknown[])[1], stderr).toBe('SIGKILL')
    expect(stderr).toContain(`paused at ${point}`)
    await letMinutePass()
    const successor = fulfilmentLoop(shop)
    const end = packageCode === 'UP' ? { DELIVERED: 2 * ESIMS } : { DELIVERED: ESIMS, FAILED: ESIMS }
    try {
      await untilEnded(tenantId)
    } finally {
      await successor.stop(5_000)
    }
    expect(await statuses(shop.db, tenantId)).toEqual(end)
    const keys = orderIds.map((orderId) => `${orderNoOf(orderId)}-1`)
    expect(await countToppedUp(supplier, tenantId, keys)).toEqual(Array(ESIMS).fill(packageCode === 'UP' ? 1 : 0))
    const volumes = await shop.db.query<{ totalVolume: bigint }>({
      text: 'select total_volume from profiles where tenant_id = $1',
      values: [tenantId],
    })
    const volume = packageCode === 'UP' ? 2n * VOLUME : VOLUME
    expect(volumes.map(({ totalVolume }) => BigInt(totalVolume))).toEqual(Array(ESIMS).fill(volume))
    const { balance, sum, refunds } = await walletOf(shop.db, tenantId)
    expect({ balance, refunds }).toEqual({ balance: sum, refunds: packageCode === 'UP' ? 0 : ESIMS })
  },
)
