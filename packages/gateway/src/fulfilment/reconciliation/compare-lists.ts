import { stripIccidPadding } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { latestReference } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { SupplierRecord, UnreadableEntry } from '@dealer-esim/wholesalers/supplier.ts'
import { isUnreadable } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import type { ItemStatus } from '#orders/order-item.ts'
import { parseItemKey } from '#orders/order-item.ts'
import { unreadOf } from '#products/sync/unread.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { acceptEsim } from '../outcomes/save-outcomes.ts'

/**
 * Compares a supplier's list of eSIMs with our items. An eSIM that we do not have is queried by its key and accepted; one
 * that does not belong to any item is reported as unclaimed. The names of unreadable entries are kept for the report.
 * @param overMs the minimum time to look back: after a restore, the first successful comparison begins before the backup
 *   @returns the number of eSIMs that we did not have.
 */
export async function compareSupplierList(
  deps: FulfilmentDeps,
  supplied: ConfiguredSupplier,
  overMs: number,
): Promise<number> {
  const { supplier } = supplied
  if (supplier.list === undefined) return 0
  let found = 0
  let isComplete = true
  const unreadable: UnreadableEntry[] = []
  const { startedAt, unknownSince } = await findUnknown(deps.db, supplier.name)
  const since = Math.min(deps.databaseClock.now() - overMs, unknownSince?.getTime() ?? Number.POSITIVE_INFINITY)
  try {
    for await (const record of supplier.list(new Date(since))) {
      if (isUnreadable(record)) {
        unreadable.push(record)
        continue
      }
      if (record.cancelled) continue
      const item = await findItem(deps.db, supplied, record)
      if (item !== undefined && isAccountedFor(item)) continue
      found += 1
      const { key, iccid } = record
      await acceptOrReport(deps, supplied, record, item).catch((error) => {
        isComplete = false
        deps.log.error(
          { err: error, supplier: supplier.name, key, iccid },
          'an eSIM of a supplier’s list could not be saved',
        )
      })
    }
  } catch (error) {
    isComplete = false
    deps.log.warn({ err: error, supplier: supplier.name }, 'a supplier’s list could not be read to its end')
    unreadable.push({ entry: 'the rest of the list', reason: error instanceof Error ? error.message : String(error) })
  }
  await saveCheck(deps, supplier.name, { unreadable, completeAt: isComplete ? startedAt : null })
  return found
}

/** What suppliers know from shortly before the backup is also compared: an order may take a long time to get its eSIM. */
const BEFORE_BACKUP = `interval '1 hour'`

/**
 * SQL: true if the supplier's list was compared after the restore `r`, by a comparison that began once open orders were held:
 * until then it leaves them to fulfilment, which then buys nothing for them.
 */
export const isComparedAfterRestore = (supplier: string): string =>
  `exists (select from supplier_list_checks c
     where c.supplier = ${supplier} and c.complete_at > greatest(r.restored_at, r.prepared_at))`

/**
 * Finds the time since which sales may be missing because of a restored backup; null: none are. During a recovery each comparison
 * covers the whole time: its unreadable entries replace those of the previous one, and each may be a sale.
 */
async function findUnknown(db: Db, supplier: string): Promise<{ startedAt: Date; unknownSince: Date | null }> {
  const [row] = await db.query<{ startedAt: Date; unknownSince: Date | null }>({
    name: 'unknown-since',
    text: `select now() as started_at, min(backup_started_at) - ${BEFORE_BACKUP} as unknown_since from restores r
           where r.recovering or not ${isComparedAfterRestore('$1')}`,
    values: [supplier],
  })
  return row!
}

/** Stores the first of these names. Each comparison replaces those of the previous one. */
async function saveCheck(
  { db, log }: Pick<FulfilmentDeps, 'db' | 'log'>,
  supplier: string,
  { unreadable: entries, completeAt }: { unreadable: readonly UnreadableEntry[]; completeAt: Date | null },
): Promise<void> {
  const { unreadable, unreadableEntries } = unreadOf(entries, 0)
  if (unreadable > 0)
    log.warn({ supplier, unreadable, unreadableEntries }, 'entries of a supplier’s list are unreadable')
  await db.query({
    text: `insert into supplier_list_checks as c (supplier, checked_at, unreadable, unreadable_entries, complete_at)
           select supplier, now(), $2, $3, $4 from suppliers where supplier = $1
           on conflict (supplier) do update set checked_at = excluded.checked_at, unreadable = excluded.unreadable,
             unreadable_entries = excluded.unreadable_entries, complete_at = greatest(excluded.complete_at, c.complete_at)`,
    values: [supplier, unreadable, JSON.stringify(unreadableEntries), completeAt],
  })
}

interface ListedItem {
  tenantId: string
  orderId: string
  itemNo: number
  productCode: string
  /** The supplier's own name for the item's latest purchase. */
  reference: string | null
  itemStatus: ItemStatus
  /** Only an operator ends its review, such as after a restore: a query must not buy it. */
  isOperators: boolean
  /**
   * The listed eSIM is the item's own, one of its orphans, or one that it topped up; or the item is currently being bought.
   */
  known: boolean
}

const IS_OPERATORS = `(i.item_status = 'REVIEW' and i.in_doubt_at is null and i.retry_at is null)`

/** Finds the item of a listed eSIM, even if another supplier delivered it while this one is in doubt, is watched, or its eSIM is known. */
async function findItem(db: Db, supplied: ConfiguredSupplier, record: SupplierRecord): Promise<ListedItem | undefined> {
  const named = parseItemKey(record.key)
  if (named === undefined) return undefined
  const [item] = await db.query<Omit<ListedItem, 'orderId' | 'itemNo'>>({
    name: 'reconcile-own-item',
    text: `select i.tenant_id, coalesce(w.other_suppliers ->> $3, w.product_code, i.product_code) as product_code,
             i.item_status, ${IS_OPERATORS} as is_operators, k.known,
             ${latestReference({ tenantId: 'i.tenant_id', orderId: 'i.order_id', itemNo: 'i.item_no', supplier: '$3' })} as reference
           from tenants t join order_items i on i.tenant_id = t.tenant_id
           left join watched_items w on w.tenant_id = i.tenant_id and w.order_id = i.order_id and w.item_no = i.item_no
             and (w.purpose = 'DELIVERED_IN_DOUBT' and w.supplier = $3 or w.other_suppliers ? $3)
           cross join lateral (
             select exists (select from profiles p where p.tenant_id = i.tenant_id and p.order_id = i.order_id
                 and p.item_no = i.item_no and p.iccid = $4)
               or exists (select from orphans p where p.tenant_id = i.tenant_id and p.order_id = i.order_id
                 and p.item_no = i.item_no and p.iccid = $4)
               or exists (select from orders o where o.tenant_id = i.tenant_id and o.order_id = i.order_id
                and o.order_type = 'TOPUP')
               or i.supplier is null and exists (select from supplier_attempts a where a.tenant_id = i.tenant_id
                 and a.order_id = i.order_id and a.item_no = i.item_no and a.supplier = $3 and a.finished_at is null) as known
           ) k
           where i.order_id = $1 and i.item_no = $2 and (i.supplier = $3 or w.supplier is not null or k.known
             or ${IS_OPERATORS})`,
    values: [named.orderId, named.itemNo, supplied.supplier.name, record.iccid],
  })
  return item && { ...item, ...named }
}

/** True if the eSIM needs no further look-up. For an open item, fulfilment itself obtains the answer. */
function isAccountedFor(item: ListedItem): boolean {
  return item.known || ['WAITING', 'ASKED', 'UNKNOWN'].includes(item.itemStatus)
}

async function acceptOrReport(
  deps: FulfilmentDeps,
  supplied: ConfiguredSupplier,
  record: SupplierRecord,
  item: ListedItem | undefined,
): Promise<void> {
  if (item !== undefined) {
    const { tenantId, orderId, itemNo, productCode } = item
    const reference = item.reference ?? undefined
    const request = { tenantId, orderId, itemNo, key: record.key, productCode, reference }
    const purpose = item.itemStatus === 'REVIEW' && !item.isOperators ? 'RESUME' : 'CHECK'
    const [outcome] = await supplied.supplier.query([request], purpose)
    if (outcome?.kind === 'delivered') {
      await acceptEsim(deps, tenantId, { orderId, itemNo, supplier: supplied.supplier.name }, outcome.esim)
      // A query returns one eSIM for a key. A second one listed under the same key is unclaimed.
      if (stripIccidPadding(outcome.esim.iccid) === record.iccid) return
    }
  }
  await deps.db.query({
    text: 'insert into unclaimed_esims (supplier, key, iccid) values ($1, $2, $3) on conflict do nothing',
    values: [supplied.supplier.name, record.key, record.iccid],
  })
}
