import { randomBytes } from 'node:crypto'
import { createDatabaseClock, systemClock } from '@dealer-esim/lib/clock.ts'
import { type Cipher, createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { createCatalogue } from '#catalogue/catalogue.ts'
import type { Topic } from '#deps.ts'
import type { FulfilmentDeps } from '#fulfilment/outcomes/outcome-deps.ts'
import type { SupplierType } from '#suppliers/create-supplier.ts'
import { createSuppliers } from '#suppliers/supplier-registry.ts'
import { testLog } from './debugging.ts'

/** Shared by all nodes of a test and its child processes. */
export const TEST_KEY = Buffer.alloc(32, 7)
const TEST_LINK_KEY = Buffer.alloc(32, 9)

/** One node's selling and delivery modules, on a test database. */
export interface Shop extends FulfilmentDeps {
  wake: Pick<Wakeups<Topic>, 'wake' | 'on'>
  db: Db & { close(): Promise<void> }
  suppliers: Awaited<ReturnType<typeof createSuppliers>>
  linkKey: Buffer
  links: { publicUrl: string }
  close(): Promise<void>
}

export async function createShop(
  url: string,
  deployment: 'local' | 'production' = 'local',
  poolSize = 10,
): Promise<Shop> {
  const db = createDb({ url, poolSize, applicationName: 'test shop' })
  const cipher: Cipher = createCipher([TEST_KEY])
  const shared = {
    db,
    ids: systemIds,
    clock: systemClock,
    databaseClock: createDatabaseClock(systemClock),
    cipher,
    log: testLog,
    wake: localWake(),
    linkKey: TEST_LINK_KEY,
  }
  const catalogue = createCatalogue(shared)
  await catalogue.latest()
  const outbound = createOutbound()
  const suppliers = await createSuppliers({ ...shared, config: { deployment }, outbound })
  return {
    ...shared,
    catalogue,
    suppliers,
    links: { publicUrl: 'https://esim.example.com' },
    async close() {
      await suppliers.stop(1_000)
      await outbound.close()
      await db.close()
    },
  }
}

/** Wake-ups within the process. */
function localWake(): Pick<Wakeups<Topic>, 'wake' | 'on'> {
  const listeners = new Map<Topic, Set<() => void>>()
  return {
    wake: (topic) => {
      for (const listener of listeners.get(topic) ?? []) listener()
    },
    on(topic, listener) {
      const set = listeners.get(topic) ?? new Set()
      listeners.set(topic, set.add(listener))
      return () => set.delete(listener)
    },
  }
}

export interface TestRoute {
  supplier: string
  productCode: string
  cost?: bigint
}

/** Puts a package with these routes on sale. Does nothing if it already exists, because a test may be retried. */
export async function addPackage(db: Db, packageCode: string, routes: TestRoute[], allowLoss = false): Promise<void> {
  await db.tx(async (tx) => {
    tx.send({ text: `insert into coverages values ('test', '{JP}', '[]') on conflict do nothing` })
    tx.send({ text: `update catalogue_version set version = version + 1, changed_at = clock_timestamp()` })
    tx.send({
      text: `insert into packages (package_code, slug, name, data_type, volume, duration, duration_unit,
               unused_valid_time, activation_policy, ekyc_required, coverage_id, sms_status, allow_loss, on_sale,
               ever_on_sale, sale_changed_at, created_at, updated_at, touched_at)
             select $1, lower($1), 'Package ' || $1, 'TOTAL', 1000000000, 7, 'DAY', 180, 'ON_INSTALL', false, 'test', 0,
               $2, true, true, changed_at, changed_at, changed_at, changed_at
             from catalogue_version
             on conflict do nothing`,
      values: [packageCode, allowLoss],
    })
    for (const [position, route] of routes.entries()) {
      tx.send({
        text: `insert into package_suppliers values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
        values: [
          packageCode,
          position,
          route.supplier,
          route.productCode,
          route.cost ?? null,
          route.cost ? 'USD' : null,
        ],
      })
    }
  })
}

/** A tenant with a wallet that contains `balance` (USD, 1/10 000), topped up once. */
export async function addTenant(db: Db, balance = 1_000_000_000_000n): Promise<string> {
  const tenantId = systemIds.uuid()
  await db.tx(async (tx) => {
    tx.send({
      text: `insert into tenants (tenant_id, app_key, tenant_name, currency_code) values ($1, $2, 'Test dealer', 'USD')`,
      values: [tenantId, randomBytes(12).toString('base64url')],
    })
    tx.send({
      text: `insert into wallets (tenant_id, currency_code, balance, version) values ($1, 'USD', $2, 1)`,
      values: [tenantId, balance],
    })
    tx.send({
      text: `insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after,
               reference, actor, created_at)
             values ($1, 1, 'TOP_UP', 'TOP_UPS', 'WALLET', $2, $2, 'start', 'system', now())`,
      values: [tenantId, balance],
    })
  })
  return tenantId
}

export const PRICE = 10_000n

/** Inserts `orders` paid orders for `count` eSIMs each, with the rows that the order path writes. @returns their ids */
export async function payOrders(
  db: Db,
  tenantId: string,
  packageCode: string,
  { orders = 1, count = 1 }: { orders?: number; count?: number } = {},
): Promise<string[]> {
  const ids = Array.from({ length: orders }, () => systemIds.uuid())
  await db.tx(async (tx) => {
    await tx.query({
      text: `with wallet as (
          select tenant_id, balance, version from wallets where tenant_id = $1 for no key update
        ), placed as (
          select w.tenant_id, o.order_id, o.n, w.balance - o.n * $4::bigint as balance_after, w.version + o.n as version
          from wallet w, unnest($2::uuid[]) with ordinality as o(order_id, n)
        ), debited as (
          insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after,
            order_id, created_at)
          select tenant_id, version, 'ORDER', 'WALLET', 'SALES', $4, balance_after, order_id, now() from placed
        ), moved as (
          update wallets w set balance = w.balance - cardinality($2::uuid[]) * $4::bigint,
            version = w.version + cardinality($2::uuid[]) from wallet where w.tenant_id = wallet.tenant_id
        ), ordered as (
          insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
            wallet_version, package_lines, status_history, event_sequence, due_at, created_at, updated_at)
          select tenant_id, order_id, 'T-' || order_id, 'PAID', $4, 'USD', balance_after, version,
            json_build_array(json_build_object('packageCode', $3::text, 'packageName', 'Package', 'count', $5::int,
              'price', $6::bigint)),
            jsonb_build_array(jsonb_build_object('orderStatus', 'PAID', 'time', now())), 1, now(), now(), now()
          from placed returning tenant_id, order_id
        )
        select 1`,
      values: [tenantId, ids, packageCode, PRICE * BigInt(count), count, PRICE],
    })
    tx.send({
      text: `insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, updated_at)
             select $1, o, i, 0, $3, $4, now() from unnest($2::uuid[]) as o, generate_series(1, $5::integer) as i`,
      values: [tenantId, ids, packageCode, PRICE, count],
    })
  })
  return ids
}

/** Inserts a paid top-up for each of the tenant's eSIMs, with the rows that the order path writes. */
export async function payTopUps(db: Db, tenantId: string, packageCode: string): Promise<void> {
  await db.tx(async (tx) => {
    await tx.query({
      text: `with wallet as (
          select tenant_id, balance, version from wallets where tenant_id = $1 for no key update
        ), placed as (
          select w.tenant_id, o.order_id, p.profile_id, w.balance - o.n * $4::bigint as balance_after,
            w.version + o.n as version
          from wallet w
          cross join lateral (select profile_id, row_number() over (order by profile_id) as n from profiles
                              where tenant_id = $1) p
          join unnest($2::uuid[]) with ordinality as o(order_id, n) on o.n = p.n
        ), debited as (
          insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after,
            order_id, created_at)
          select tenant_id, version, 'ESIM_TOPUP', 'WALLET', 'SALES', $4, balance_after, order_id, now() from placed
        ), moved as (
          update wallets w set balance = w.balance - cardinality($2::uuid[]) * $4::bigint,
            version = w.version + cardinality($2::uuid[]) from wallet where w.tenant_id = wallet.tenant_id
        ), items as (
          insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, updated_at)
          select tenant_id, order_id, 1, 0, $3, $4, now() from placed
        )
        insert into orders (tenant_id, order_id, transaction_id, order_type, topped_up_profile_id, order_status, amount,
          currency_code, balance_after, wallet_version, package_lines, status_history, event_sequence, due_at, created_at,
          updated_at)
        select tenant_id, order_id, 'T-' || order_id, 'TOPUP', profile_id, 'PAID', $4, 'USD', balance_after, version,
          json_build_array(json_build_object('packageCode', $3::text, 'packageName', 'Package', 'count', 1,
            'price', $4::bigint)),
          jsonb_build_array(jsonb_build_object('orderStatus', 'PAID', 'time', now())), 1, now(), now(), now()
        from placed`,
      values: [tenantId, await idsFor(tx, tenantId), packageCode, PRICE],
    })
  })
}

/** A new id for each of the tenant's eSIMs. */
async function idsFor(tx: Pick<Db, 'query'>, tenantId: string): Promise<string[]> {
  const esims = await tx.query({ text: 'select from profiles where tenant_id = $1', values: [tenantId] })
  return esims.map(() => systemIds.uuid())
}

/** Other processes, and a busy machine, may take long. A failing test waits no longer than this. */
const WAIT_MAX_MS = 60_000

/** Waits until `read` returns a value. @throws after `timeoutMs` */
export async function waitUntil<Value>(
  read: () => Promise<Value | undefined | false>,
  timeoutMs = WAIT_MAX_MS,
  everyMs = 10,
): Promise<Value> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await read()
    if (value !== undefined && value !== false) return value
    if (performance.now() > deadline) throw new Error(`the condition was not met within ${timeoutMs / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

/**
 * Makes due any orders that would otherwise wait longer than this: waits double up to a minute. The waits do not decide
 * when a purchase that may still be running counts as ended (`mayBeRunningUntil`), so an item in doubt is only queried more
 * often.
 */
export async function shortenWaits({ db, wake }: Pick<Shop, 'db' | 'wake'>, tenantId: string, maxMs: number) {
  const due = await db.query({
    text: `with long as (
             select order_id from orders
             where tenant_id = $1 and lease_token is null and due_at > now() + $2 * interval '1 millisecond'
             for no key update skip locked
           ), items as (
             update order_items i set retry_at = now() from long
             where i.tenant_id = $1 and i.order_id = long.order_id and i.item_status in ('WAITING', 'UNKNOWN')
               and i.retry_at is not null
           )
           update orders o set due_at = now() from long
           where o.tenant_id = $1 and o.order_id = long.order_id returning o.order_id`,
    values: [tenantId, maxMs],
  })
  if (due.length > 0) wake.wake('fulfilment')
}

/** Returns how many of the tenant's orders have each status. */
export async function statuses(db: Db, tenantId: string): Promise<Record<string, number>> {
  const rows = await db.query<{ orderStatus: string; count: number }>({
    text: 'select order_status, count(*)::int as count from orders where tenant_id = $1 group by 1',
    values: [tenantId],
  })
  return Object.fromEntries(rows.map((row) => [row.orderStatus, row.count]))
}

/** The contents of a tenant's events, oldest first. */
export function eventsOf(db: Db, tenantId: string) {
  return db.query<{ content: { orderStatus: string; sequence: number; refundedAmount: number } }>({
    text: 'select content from events where tenant_id = $1 order by notify_id',
    values: [tenantId],
  })
}

/** A wallet's balance, the sum of its transfers, and its refunds. */
export async function walletOf(db: Db, tenantId: string) {
  const [row] = await db.query<{ balance: bigint; sum: bigint; refunds: number; refunded: bigint }>({
    text: `select w.balance, (select sum(case when to_account = 'WALLET' then amount else -amount end)::bigint
             from transfers t where t.tenant_id = w.tenant_id) as sum,
           (select count(*)::int from transfers t where t.tenant_id = w.tenant_id and kind = 'REFUND') as refunds,
           (select coalesce(sum(amount), 0)::bigint from transfers t where t.tenant_id = w.tenant_id and kind = 'REFUND')
             as refunded
           from wallets w where tenant_id = $1`,
    values: [tenantId],
  })
  return row!
}

/** Adds a supplier and reloads this shop's suppliers. Does nothing if the supplier exists. */
export async function addSupplier(shop: Shop, name: string, type: SupplierType, config: object = {}): Promise<void> {
  await shop.db.query({
    text: 'insert into suppliers (supplier, type, config) values ($1, $2, $3) on conflict do nothing',
    values: [name, type, shop.cipher.encrypt(JSON.stringify(config), `supplier:${name}`)],
  })
  await shop.suppliers.refresh()
}
