import { type SuppliedEsimRow, toSuppliedEsim } from '../../profiles/secrets.ts'
import { cancelAtSupplier } from '../cancelling/cancel-esim.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'
import { askBySupplier, takeFrom } from './ask-by-supplier.ts'

/** Of one pass; the next begins at once. */
const AT_ONCE = 50
const CANCEL_AGAIN_MS = 10 * 60_000

interface OrphanRow extends SuppliedEsimRow {
  tenantId: string
  orphanId: string
  supplier: string
}

/**
 * Gives orphans back to their suppliers. What cannot be given back is kept, and stays in the report. Each is taken by one
 * node (its next time is set in the same statement): to the second one a supplier would say that there is no such eSIM.
 * @returns how many were due
 */
export async function cancelOrphans(deps: FulfilmentDeps): Promise<number> {
  const tenants = await deps.db.query<{ tenantId: string }>({
    name: 'reconcile-orphan-tenants',
    text: `select distinct tenant_id from (
             select tenant_id from orphans where state = 'FOUND' and updated_at <= now() order by updated_at limit $1) due`,
    values: [AT_ONCE],
  })
  const due = await takeFrom(tenants, (tenantId) => takeOrphans(deps, tenantId))
  await askBySupplier(deps.clock, due, (row) => giveBack(deps, row))
  return due.length
}

/** Locks rows of one tenant, and skips those that somebody else has. */
function takeOrphans(deps: FulfilmentDeps, tenant: string): Promise<OrphanRow[]> {
  return deps.db.query({
    name: 'reconcile-orphans',
    text: `with due as (
        select orphan_id from orphans where tenant_id = $3 and state = 'FOUND' and updated_at <= now()
        order by orphan_id limit $1 for no key update skip locked
      ), taken as (
        update orphans o set updated_at = now() + $2 * interval '1 millisecond'
        from due d where o.tenant_id = $3 and o.orphan_id = d.orphan_id
        returning o.tenant_id, o.orphan_id, o.order_id, o.item_no, o.supplier, o.iccid, o.secrets
      )
      select t.*, i.product_code from taken t
      join order_items i on i.tenant_id = $3 and i.order_id = t.order_id and i.item_no = t.item_no`,
    values: [AT_ONCE, CANCEL_AGAIN_MS, tenant],
  })
}

async function giveBack(deps: FulfilmentDeps, row: OrphanRow): Promise<void> {
  const { tenantId, orderId, itemNo } = row
  await cancelOrphan(deps, row).catch((error) =>
    deps.log.error({ err: error, tenantId, orderId, itemNo }, 'an orphan could not be given back; the others go on'),
  )
}

async function cancelOrphan(deps: FulfilmentDeps, row: OrphanRow): Promise<void> {
  const tenantId = row.tenantId
  const outcome = await cancelAtSupplier(deps, row.supplier, toSuppliedEsim(deps.cipher, tenantId, row, false))
  const state = { cancelled: 'CANCELLED', refused: 'KEPT', unknown: 'FOUND' }[outcome.kind]
  await deps.db.query({
    text: `update orphans set state = $3, detail = $4, updated_at = case when $3 = 'FOUND' then updated_at else now() end
             where tenant_id = $1 and orphan_id = $2`,
    values: [tenantId, row.orphanId, state, 'words' in outcome ? outcome.words : null],
  })
}
