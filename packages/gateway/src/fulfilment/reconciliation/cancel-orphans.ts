import { latestReference, withStorableMessage } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { ActionOutcome } from '@dealer-esim/wholesalers/supplier.ts'
import { callForAction } from '#esims/actions/call-supplier.ts'
import { type SuppliedEsimRow, toSuppliedEsim } from '#esims/profile-secrets.ts'
import { claimJobs, type JobTable, runJob } from '#platform/jobs.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { askBySupplier, CLAIMED_MAX } from './ask-by-supplier.ts'

const CANCEL_AGAIN_MS = 10 * 60_000

interface OrphanJob extends SuppliedEsimRow {
  tenantId: string
  orphanId: string
  supplier: string
}

/**
 * The jobs that cancel orphans. A claim sets the next try, because if two nodes asked, the supplier would tell the second
 * that the eSIM does not exist.
 */
export const ORPHANS: JobTable = {
  name: 'reconcile-orphans',
  table: 'orphans',
  key: ['orphan_id'],
  claimable: `state = 'FOUND'`,
  dueAt: 'updated_at',
  longestWaitMs: String(CANCEL_AGAIN_MS),
  claim: `updated_at = now() + interval '1 millisecond' * ${CANCEL_AGAIN_MS}`,
  columns: `job.tenant_id, job.orphan_id, job.order_id, job.item_no, job.supplier, job.iccid, job.secrets,
    (select product_code from order_items i
     where i.tenant_id = job.tenant_id and i.order_id = job.order_id and i.item_no = job.item_no) as product_code,
    ${latestReference({ tenantId: 'job.tenant_id', orderId: 'job.order_id', itemNo: 'job.item_no', supplier: 'job.supplier' })} as reference`,
}

/** Cancels orphans at their suppliers. An orphan that cannot be cancelled is kept and reported. @returns how many were due */
export async function cancelOrphans(deps: FulfilmentDeps): Promise<number> {
  const due = await claimJobs<OrphanJob>(deps.db, ORPHANS, CLAIMED_MAX)
  await askBySupplier(deps.clock, due, (orphan) =>
    runJob(deps.log, 'orphan', identityOf(orphan), () => cancelOrphan(deps, orphan)),
  )
  return due.length
}

function identityOf({ tenantId, orderId, itemNo }: OrphanJob) {
  return { tenantId, orderId, itemNo }
}

async function cancelOrphan(deps: FulfilmentDeps, orphan: OrphanJob): Promise<void> {
  const { tenantId, orphanId, supplier } = orphan
  const esim = toSuppliedEsim(deps.cipher, tenantId, orphan, false)
  const supplied = deps.suppliers.get(supplier)
  const outcome: ActionOutcome =
    supplied === undefined
      ? { kind: 'unknown', message: `supplier ${supplier} is not configured` }
      : supplied.paused
        ? { kind: 'unknown', message: `supplier ${supplier} is paused` }
        : withStorableMessage(await callForAction(supplied.supplier, 'CANCEL', esim, undefined))
  const state = { done: 'CANCELLED', refused: 'KEPT', unknown: 'FOUND' }[outcome.kind]
  await deps.db.query({
    text: `update orphans set state = $3, message = $4,
             updated_at = case when $3 = 'FOUND' then updated_at else now() end
             where tenant_id = $1 and orphan_id = $2`,
    values: [tenantId, orphanId, state, 'message' in outcome ? outcome.message : null],
  })
}
