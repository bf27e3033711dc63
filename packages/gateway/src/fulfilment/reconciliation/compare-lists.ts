import { stripIccidPadding } from '@dealer-esim/contract'
import type { Db } from '../../lib/postgres/db.ts'
import { parseItemKey } from '../../orders/item.ts'
import type { ItemStatus } from '../../orders/status.ts'
import type { Supplied } from '../../suppliers/registry.ts'
import type { SupplierRecord } from '../../suppliers/supplier.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'
import { acceptEsim } from '../outcomes/save-outcomes.ts'

/**
 * Compares a supplier's list with ours. What it delivered and we do not have is asked for by its key and taken in; what
 * belongs to no item of ours is reported.
 */
export async function compareSupplierList(deps: FulfilmentDeps, supplied: Supplied, overMs: number): Promise<number> {
  const { supplier } = supplied
  if (supplier.list === undefined) return 0
  let found = 0
  try {
    for await (const record of supplier.list(new Date(deps.databaseClock.now() - overMs))) {
      if (record.cancelled) continue
      const item = await ownItem(deps.db, supplied, record)
      if (item !== undefined && isOnOurBooks(item)) continue
      found += 1
      const { key, iccid } = record
      await takeIn(deps, supplied, record, item).catch((error) =>
        deps.log.error(
          { err: error, supplier: supplier.name, key, iccid },
          'it could not be taken in; the others go on',
        ),
      )
    }
  } catch (error) {
    deps.log.warn({ err: error, supplier: supplier.name }, 'its list could not be read to the end')
  }
  return found
}

interface OwnItem {
  tenantId: string
  orderId: string
  itemNo: number
  productCode: string
  itemStatus: ItemStatus
  /** Its eSIM, or orphan, is this one. */
  known: boolean
}

/** Of an item that another supplier has delivered, too, where this one is in doubt or its eSIM was found already. */
async function ownItem(db: Db, supplied: Supplied, record: SupplierRecord): Promise<OwnItem | undefined> {
  const named = parseItemKey(record.key)
  if (named === undefined) return undefined
  const [item] = await db.query<Omit<OwnItem, 'orderId' | 'itemNo'>>({
    name: 'reconcile-own-item',
    text: `select i.tenant_id, coalesce(w.product_code, i.product_code) as product_code,
             i.item_status, k.known
           from tenants t join order_items i on i.tenant_id = t.tenant_id
           left join watched_items w on w.tenant_id = i.tenant_id and w.order_id = i.order_id and w.item_no = i.item_no
             and w.purpose = 'DELIVERED_IN_DOUBT' and w.supplier = $3
           cross join lateral (
             select exists (select from profiles p where p.tenant_id = i.tenant_id and p.order_id = i.order_id
                 and p.item_no = i.item_no and p.iccid = $4)
               or exists (select from orphans p where p.tenant_id = i.tenant_id and p.order_id = i.order_id
                 and p.item_no = i.item_no and p.iccid = $4) as known
           ) k
           where i.order_id = $1 and i.item_no = $2 and (i.supplier = $3 or w.supplier is not null or k.known)`,
    values: [named.orderId, named.itemNo, supplied.supplier.name, record.iccid],
  })
  return item && { ...item, ...named }
}

/** One that is in work gets its answer from fulfilment. */
function isOnOurBooks(item: OwnItem): boolean {
  return item.known || ['WAITING', 'ASKED', 'UNKNOWN'].includes(item.itemStatus)
}

async function takeIn(
  deps: FulfilmentDeps,
  supplied: Supplied,
  record: SupplierRecord,
  item: OwnItem | undefined,
): Promise<void> {
  if (item !== undefined) {
    const { tenantId, orderId, itemNo, productCode } = item
    const request = { tenantId, orderId, itemNo, key: record.key, productCode }
    const purpose = item.itemStatus === 'REVIEW' ? 'RESUME' : 'LOOK'
    const [outcome] = await supplied.supplier.query([request], purpose)
    if (outcome?.kind === 'delivered') {
      await acceptEsim(deps, tenantId, { orderId, itemNo, supplier: supplied.supplier.name }, outcome.esim)
      // By its key a supplier tells of one eSIM. One that it lists beside it is nobody's.
      if (stripIccidPadding(outcome.esim.iccid) === record.iccid) return
    }
  }
  await deps.db.query({
    text: 'insert into unclaimed_esims (supplier, key, iccid) values ($1, $2, $3) on conflict do nothing',
    values: [supplied.supplier.name, record.key, record.iccid],
  })
}
