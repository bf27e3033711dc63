import type { Catalogue, Offer } from '../../catalogue/catalogue.ts'
import type { Ids } from '../../lib/ids.ts'
import { textArray, uuidArray } from '../../lib/postgres/columns.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { failpoint } from '../../lib/process/failpoint.ts'
import type { CachedWallet } from '../../wallet/ledger/cache.ts'
import { lockWallets } from '../../wallet/ledger/lock.ts'
import { alertLowBalance } from '../../wallet/ledger/low-balance.ts'
import { decideBatch, type ExistingOrder, type OrderInput, type Verdict } from './decide.ts'
import { writePlaced } from './write.ts'

export interface PlaceDeps {
  ids: Ids
  catalogue: Catalogue
  stock: { available(offer: Offer): number | undefined }
}

/** 'not-admitted': the request was not admitted in time, so nothing was decided about its order. */
export type BatchVerdict = Verdict | { kind: 'not-admitted' }

export const NOT_ADMITTED: BatchVerdict = { kind: 'not-admitted' }

export interface Placement {
  /** In the order of the inputs. */
  verdicts: BatchVerdict[]
  /** The debited wallets, as the batch leaves them. Known when the transaction has committed. */
  wallets: Promise<CachedWallet[]>
}

/**
 * Places the orders of several wallets in one transaction: locks the wallets, reads, decides and writes. Order, debit,
 * items, entries and event commit together or not at all.
 *
 * Locks: the wallets' rows, in ascending tenant order. All other rows are new. The context is read after the locks, by a
 * statement of its own: the snapshot of a statement is older than the lock that it waits for, and would not show the
 * orders of the transaction that it waited for.
 *
 * The locks are held for two round trips, whatever the number of orders: locks and reads, then the writing statement and
 * COMMIT. Orders whose requests are not admitted in between are left out.
 */
export async function placeLocked(tx: Tx, deps: PlaceDeps, inputs: OrderInput[]): Promise<Placement> {
  const tenantIds = [...new Set(inputs.map(({ tenant }) => tenant.tenantId))]
  const [wallets, context] = await Promise.all([lockWallets(tx, tenantIds), readOrderContext(tx, inputs)])
  const { now, catalogueVersion, existing } = context
  const catalogue = await deps.catalogue.current(catalogueVersion)
  await failpoint('orders.locked')
  const admitted = await admittedOf(inputs)
  const batch = decideBatch(wallets, admitted, { now, catalogue, existing, available: deps.stock.available })
  for (const fall of batch.falls) alertLowBalance(tx, deps.ids, fall)
  const written = writePlaced(tx, deps.ids, batch)
  written.catch(() => {}) // the transaction fails with it
  if (batch.placed.length > 0) await failpoint('orders.before-commit')
  return { verdicts: inputs.map((input) => batch.verdicts.get(input) ?? NOT_ADMITTED), wallets: written }
}

/** Waits for the requests that are still being admitted, and leaves out those that were not. */
export async function admittedOf(inputs: OrderInput[]): Promise<OrderInput[]> {
  if (inputs.every(({ isAdmitted }) => isAdmitted === undefined)) return inputs
  const admitted = await Promise.all(inputs.map(({ isAdmitted = true }) => isAdmitted))
  return inputs.filter((_, index) => admitted[index])
}

/** What the database says about a batch of orders, besides their wallets. */
export interface OrderContext {
  now: Date
  catalogueVersion: bigint
  /** Earlier orders, by tenant and transactionId. */
  existing: Map<string, Map<string, ExistingOrder>>
}

/** One statement, without a lock. Time and catalogue version are in every row, and there is always at least one row. */
export async function readOrderContext(db: Pick<Tx, 'query'>, inputs: readonly OrderInput[]): Promise<OrderContext> {
  // Two hundred calls with one transactionId are one look-up.
  const keys = new Map(inputs.map((input) => [input.tenant.tenantId + input.request.transactionId, input]))
  const distinct = [...keys.values()]
  const rows = await db.query<ContextRow>({
    name: 'orders-context',
    text: READ_CONTEXT,
    values: [
      uuidArray(distinct.map(({ tenant }) => tenant.tenantId)),
      textArray(distinct.map(({ request }) => request.transactionId)),
    ],
  })
  const existing: OrderContext['existing'] = new Map()
  for (const row of rows) {
    if (row.tenantId === null) continue
    const ofTenant = existing.get(row.tenantId) ?? new Map<string, ExistingOrder>()
    existing.set(row.tenantId, ofTenant.set(row.transactionId, row))
  }
  return { now: rows[0]!.now, catalogueVersion: rows[0]!.version, existing }
}

const READ_CONTEXT = `
select date_trunc('milliseconds', clock_timestamp()) as now, version, existing.*
from catalogue_version
left join (
  select o.* from unnest($1::uuid[], $2::text[]) as input(tenant_id, transaction_id)
  cross join lateral (
    select tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after, package_lines,
           created_at
    from orders where tenant_id = input.tenant_id and transaction_id = input.transaction_id
    limit 1 -- keeps the plan an index look-up for each, whatever the statistics say
  ) o
) existing on true`

type ContextRow = { now: Date; version: bigint } & ((ExistingOrder & { tenantId: string }) | { tenantId: null })
