import { formatMoney } from '@dealer-esim/contract'
import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { raw } from 'sql-template-tag'
import { isMoving } from '#platform/held-tenants.ts'
import type { LedgerFault, Verification } from './verification.ts'
import { verifyBooks } from './verify-books.ts'
import { verifyChain } from './verify-chain.ts'
import { verifyOrders } from './verify-orders.ts'

export interface LedgerCounts {
  tenants: bigint
  transfers: bigint
  orders: bigint
  faults: bigint
}

export interface VerifyOptions {
  /** Verifies only this tenant. */
  tenantId?: string
  /** Called for every fault as it is found. Faults are not collected, so memory use stays limited. */
  onFault(fault: LedgerFault): void
  onTenant?(tenantId: string, counts: LedgerCounts): void
  /** Aborts the verification between two pages. */
  signal?: AbortSignal
  /** Rows per statement; for tests. */
  pageRows?: number
}

// PostgreSQL checks a page and returns only its faults. A million orders and the same number of transfers take half a
// minute on two busy cores, and 75 MB in this process.
const PAGE_ROWS = 20_000

/**
 * Verifies the ledger during live traffic: each wallet in its own snapshot, without a lock.
 * @throws Refusal if the tenant does not exist
 */
export async function verifyLedger(db: Db, options: VerifyOptions): Promise<LedgerCounts> {
  const counts: LedgerCounts = { tenants: 0n, transfers: 0n, orders: 0n, faults: 0n }
  for await (const tenantId of tenantIds(db, options.tenantId)) {
    options.signal?.throwIfAborted()
    const verification: Verification = {
      tenantId,
      pageRows: options.pageRows ?? PAGE_ROWS,
      throwIfAborted: () => options.signal?.throwIfAborted(),
      report(kind, message) {
        counts.faults += 1n
        options.onFault({ tenantId, kind, message })
      },
    }
    await db.tx(async (tx) => {
      // The first statement after BEGIN, so that wallet, transfers and orders are read from one snapshot.
      tx.send({ text: 'set transaction isolation level repeatable read, read only' })
      await verifyTenant(tx, verification, counts)
    })
    options.onTenant?.(tenantId, counts)
  }
  return counts
}

async function verifyTenant(tx: Tx, verification: Verification, counts: LedgerCounts): Promise<void> {
  const { tenantId, report } = verification
  const [wallet] = await tx.query<{ balance: bigint; version: bigint }>(sql`
    select balance, version from wallets where tenant_id = ${tenantId}`)
  counts.tenants += 1n
  if (!wallet) report('WALLET', 'This tenant id has no wallet, although it has movements, orders or a tenant.')
  const chain = await verifyChain(tx, verification)
  counts.transfers += chain.count
  if (wallet && wallet.balance !== chain.sum) {
    const [balance, sum] = [formatMoney(wallet.balance), formatMoney(chain.sum)]
    report('BALANCE', `The wallet's balance is ${balance}, the sum of its transfers ${sum}.`)
  }
  if (wallet && wallet.version !== chain.count) {
    report('BALANCE', `The wallet's version is ${wallet.version}, but it has ${chain.count} transfers.`)
  }
  counts.orders += await verifyOrders(tx, verification)
  await verifyBooks(tx, verification)
}

const TENANTS_PAGE = 500

async function* tenantIds(db: Db, only: string | undefined): AsyncGenerator<string> {
  if (only !== undefined) {
    const tenantId = requireUuid(only, 'tenant')
    const [found] = await db.query(sql`select from tenants where tenant_id = ${tenantId}`)
    if (!found) throw notFound('tenant')
    yield tenantId
    return
  }
  yield* pagesOf(db, tenantsAfter)
  yield* pagesOf(db, idsWithoutTenantAfter)
}

async function* pagesOf(db: Db, query: (after: string) => { text: string; values: unknown[] }): AsyncGenerator<string> {
  let after = LOWEST_UUID
  for (;;) {
    const rows = await db.query<{ tenantId: string }>(query(after))
    for (const row of rows) yield row.tenantId
    if (rows.length < TENANTS_PAGE) return
    after = rows[rows.length - 1]!.tenantId
  }
}

const tenantsAfter = (after: string) => sql`
  select tenant_id from tenants where tenant_id > ${after} and not ${raw(isMoving('tenants.tenant_id'))} order by tenant_id limit ${TENANTS_PAGE}`

/** The tenant ids of movements and orders that have no tenant. Finds distinct ids by skipping through the primary keys. */
const idsWithoutTenantAfter = (after: string) => sql`
  with recursive movers (tenant_id) as (
    (select tenant_id from transfers where tenant_id > ${after} order by tenant_id limit 1)
    union all
    select (select t.tenant_id from transfers t where t.tenant_id > m.tenant_id order by t.tenant_id limit 1)
    from movers m where m.tenant_id is not null
  ), buyers (tenant_id) as (
    (select tenant_id from orders where tenant_id > ${after} order by tenant_id limit 1)
    union all
    select (select o.tenant_id from orders o where o.tenant_id > b.tenant_id order by o.tenant_id limit 1)
    from buyers b where b.tenant_id is not null
  )
  select tenant_id from (select * from movers union select * from buyers) as used
  where tenant_id is not null and not exists (select from tenants t where t.tenant_id = used.tenant_id)
  order by tenant_id limit ${TENANTS_PAGE}`
