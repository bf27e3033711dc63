import { orderNoOf } from '@dealer-esim/contract'
import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { textArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { Catalogue, Offer } from '#catalogue/catalogue.ts'
import { type AuditEntry, auditAll } from '#platform/audit/audit.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { reenterRequestIds } from '#tenants/admission/admit-batch.ts'
import { readKeySpending, saveKeySpending } from '#tenants/keys/key-spending.ts'
import { reportLowBalance } from '#wallet/ledger/balance.ts'
import type { CachedWallet, WalletCache } from '#wallet/ledger/cached-wallets.ts'
import { lockWallets } from '#wallet/ledger/lock-wallets.ts'
import { decideBatch, type ExistingOrder, type PlacedOrder, type Verdict } from './decide-order.ts'
import type { OrderInput } from './order-input.ts'
import { readSentTo } from './refuse-hand-over.ts'
import { keepRepeated, readRestored } from './restored-orders.ts'
import { readToppedUpEsims } from './topped-up-esims.ts'
import { writePlaced } from './write-orders.ts'
import { writeSends } from './write-sends.ts'

export interface PlacementDeps {
  db: Db
  ids: Ids
  databaseClock: Pick<DatabaseClock, 'now'>
  catalogue: Catalogue
  stock: { available(offer: Offer): number | undefined }
  suppliers: Pick<Suppliers, 'get'>
  walletCache: WalletCache
}

/**
 * Places a batch of orders in one transaction, under the locks of their wallets: reads, decides, writes.
 * @param inDoubt true if the COMMIT of an earlier attempt was not answered
 */
export async function placeBatch(deps: PlacementDeps, inputs: OrderInput[], inDoubt: boolean): Promise<Verdict[]> {
  // An optimistic first attempt may still wait for its lock. If stock refused the order now, the wallet would stay unchanged,
  // and that attempt could place the order after its dealer had received the refusal.
  const placing = inDoubt ? { ...deps, stock: UNCOUNTED } : deps
  const { verdicts, wallets } = await deps.db.tx(async (tx) => {
    const placement = await placeLocked(tx, placing, inputs)
    reenter(tx, deps, inputs)
    return placement
  })
  deps.walletCache.put(await wallets)
  return verdicts
}

/**
 * Stores again the RequestIDs of requests that arrived before this connection was made. A standby may have become primary
 * since, without the RequestIDs that the old primary had just accepted. An older connection leads to the server that
 * accepted them, and COMMIT confirms them together with the order, so no extra statement is needed.
 */
export function reenter(tx: Tx, { databaseClock }: PlacementDeps, inputs: readonly OrderInput[]): void {
  const accepted = inputs.flatMap(({ tenant, headers, receivedAt = tx.connectedAt }) => {
    if (!headers || receivedAt >= tx.connectedAt) return []
    return [{ tenantId: tenant.tenantId, requestId: headers.requestId, timestampMs: Number(headers.timestamp) }]
  })
  reenterRequestIds(tx, accepted, databaseClock.now())
}

const UNCOUNTED: PlacementDeps['stock'] = { available: () => undefined }

interface Placement {
  /** In the same order as the inputs. */
  verdicts: Verdict[]
  /** The debited wallets, as the batch leaves them. Known when the transaction has committed. */
  wallets: Promise<CachedWallet[]>
}

/**
 * Places the orders of several wallets in one transaction: locks the wallets, reads, decides and writes. Order, debit,
 * items, entries and event commit together or not at all.
 * Locks: the wallets' rows, in ascending tenant order. All other rows are new. The context is read after the locks, by a
 * separate statement: a statement's snapshot is older than the lock that it waits for, and would not show the orders of the
 * transaction that held the lock. Statements of a transaction run in the order in which they are sent (read committed),
 * even if the next one is sent before the previous one is answered, and COMMIT follows the last.
 * The locks are held for two round trips whatever the number of orders: locking and reading, then the writing statement and
 * COMMIT. There is a third one between them if an order has a restricted key or is sent to a traveller.
 */
export async function placeLocked(
  tx: Tx,
  deps: Pick<PlacementDeps, 'ids' | 'catalogue' | 'stock' | 'suppliers'>,
  inputs: OrderInput[],
): Promise<Placement> {
  const tenantIds = [...new Set(inputs.map(({ tenant }) => tenant.tenantId))]
  const [wallets, context, esims, restored] = await Promise.all([
    lockWallets(tx, tenantIds),
    readOrderContext(tx, inputs),
    readToppedUpEsims(tx, inputs),
    readRestored(tx, inputs),
  ])
  const { now, catalogueVersion, existing } = context
  const [keys, sentTo] = await Promise.all([readKeySpending(tx, keysOf(inputs)), readSentTo(tx, inputs, now.getTime())])
  const catalogue = await deps.catalogue.current(catalogueVersion)
  await failpoint('orders.locked')
  const batch = decideBatch(wallets, inputs, {
    ...{ now, catalogue, existing, esims, keys, restored, sentTo },
    ...{ available: deps.stock.available, suppliers: deps.suppliers },
  })
  const isNew = ({ tenant, request }: OrderInput) => !existing.get(tenant.tenantId)?.has(request.transactionId)
  const isRepeated = ({ tenant, request }: OrderInput) =>
    restored.get(tenant.tenantId)?.get(request.transactionId) === 'TENANT_HELD'
  if (restored.size > 0)
    keepRepeated(
      tx,
      inputs.filter((input) => isRepeated(input) && isNew(input)),
    )
  for (const change of batch.lowBalanceChanges) reportLowBalance(tx, deps.ids, change)
  auditUnsigned(tx, deps.ids, batch.placed)
  saveKeySpending(tx, batch.keys)
  const written = writePlaced(tx, deps.ids, batch)
  written.catch(() => {}) // if it fails, so does the transaction
  writeSends(tx, deps.ids, batch.placed)
  if (batch.placed.length > 0) await failpoint('orders.before-commit')
  return { verdicts: inputs.map((input) => batch.verdicts.get(input)!), wallets: written }
}

/** The restricted keys of the orders, each once. Orders of tenants' own keys have none, and cause no statement. */
export function keysOf(inputs: readonly OrderInput[]): { tenantId: string; keyId: string }[] {
  const keys = new Map<string, { tenantId: string; keyId: string }>()
  for (const { key, tenant } of inputs) if (key) keys.set(key.keyId, { tenantId: tenant.tenantId, keyId: key.keyId })
  return [...keys.values()]
}

function auditUnsigned(tx: Tx, ids: Ids, placed: readonly PlacedOrder[]): void {
  const entries = placed.flatMap(({ tenantId, orderId, amount, sent }): AuditEntry[] => {
    if (sent?.unsignedFrom === undefined) return []
    const by = { actor: 'unsigned' as const, address: sent.unsignedFrom }
    return [{ tenantId, ...by, action: 'order.place_unsigned', subject: orderNoOf(orderId), after: { amount } }]
  })
  if (entries.length > 0) auditAll(tx, ids, entries)
}

/** The facts in the database on which a batch of orders is decided, other than the wallets. */
export interface OrderContext {
  now: Date
  catalogueVersion: bigint
  /** Earlier orders, by tenant and transactionId. */
  existing: Map<string, Map<string, ExistingOrder>>
}

/**
 * One statement, without a lock. The time and the catalogue version are in every row, and there is always at least one row.
 */
export async function readOrderContext(db: Pick<Tx, 'query'>, inputs: readonly OrderInput[]): Promise<OrderContext> {
  // Two hundred calls with one transactionId cause one look-up.
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
    (select tenant_id, order_id, transaction_id, order_type, topped_up_profile_id, (
              select iccid from profiles p where p.tenant_id = input.tenant_id and p.profile_id = topped_up_profile_id
            ) as topped_up_iccid, order_status, amount, currency_code, balance_after, package_lines, created_at
     from orders where tenant_id = input.tenant_id and transaction_id = input.transaction_id limit 1)
    union all
    -- An action on an eSIM. It has no order type, so no order has the same content.
    (select tenant_id, action_id, transaction_id, null, null, null, null, 0, currency_code, 0, '[]', created_at
     from esim_actions where tenant_id = input.tenant_id and transaction_id = input.transaction_id limit 1)
    union all
    -- A link that was sent to a traveller. It has no order type either.
    (select tenant_id, send_id, transaction_id, null, null, null, null, 0, null, 0, '[]', created_at
     from esim_sends where tenant_id = input.tenant_id and transaction_id = input.transaction_id limit 1)
    limit 1 -- keeps the plan an index look-up for each, independent of statistics
  ) o
) existing on true`

type ContextRow = { now: Date; version: bigint } & ((ExistingOrder & { tenantId: string }) | { tenantId: null })
