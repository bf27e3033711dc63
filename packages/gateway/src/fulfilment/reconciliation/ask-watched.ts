import { latestReference } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { claimJobs, type JobTable, runJob } from '#platform/jobs.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { unwatchItem, type WatchedItem } from '../outcomes/outcome-items.ts'
import { acceptFound } from '../outcomes/save-outcomes.ts'
import { readEsimsOfTopUps } from '../outcomes/top-up-orders.ts'
import { askBySupplier, CLAIMED_MAX } from './ask-by-supplier.ts'

const ASK_AGAIN_MIN_MS = 60_000
const ASK_AGAIN_MAX_MS = 6 * 3_600_000

type WatchedJob = WatchedItem & { tenantId: string; reference: string | null }

const WAIT_MS = `least(${ASK_AGAIN_MAX_MS}, ${ASK_AGAIN_MIN_MS} * power(2, least(attempts, 20)))`

/** The jobs that query watched items. A claim sets the next query: after one minute, doubled each time up to six hours. */
export const WATCHED: JobTable = {
  name: 'reconcile-watched',
  table: 'watched_items',
  key: ['order_id', 'item_no', 'purpose'],
  claimable: 'true',
  dueAt: 'due_at',
  longestWaitMs: WAIT_MS,
  claim: `attempts = attempts + 1, due_at = now() + interval '1 millisecond' * ${WAIT_MS}`,
  columns: `job.tenant_id, job.order_id, job.item_no, job.purpose, job.supplier, job.product_code, job.other_suppliers,
    ${latestReference({ tenantId: 'job.tenant_id', orderId: 'job.order_id', itemNo: 'job.item_no', supplier: 'job.supplier' })} as reference`,
}

/** Claims the watched items that are due and queries their suppliers. @returns how many were due */
export async function askAboutWatched(deps: FulfilmentDeps): Promise<number> {
  const due = await claimJobs<WatchedJob>(deps.db, WATCHED, CLAIMED_MAX)
  await askBySupplier(deps.clock, due.flatMap(eachSupplier), (job) => askAbout(deps, job))
  await endWatches(deps)
  return due.length
}

/** One question for each supplier that may have delivered the item. Only the item's own has given us a reference. */
function eachSupplier(job: WatchedJob): WatchedJob[] {
  const others = Object.entries(job.otherSuppliers ?? {})
  return [job, ...others.map(([supplier, productCode]) => ({ ...job, supplier, productCode, reference: null }))]
}

function askAbout(deps: FulfilmentDeps, job: WatchedJob): Promise<void> {
  const { tenantId, orderId, itemNo, purpose } = job
  return runJob(deps.log, 'watched item', { tenantId, orderId, itemNo, purpose }, () => askForLateEsim(deps, job))
}

async function askForLateEsim(deps: FulfilmentDeps, job: WatchedJob): Promise<void> {
  const { tenantId, orderId, itemNo, productCode } = job
  const supplied = deps.suppliers.get(job.supplier)
  if (supplied === undefined || productCode === null) return
  const key = itemKeyOf(orderId, itemNo)
  const topUp = (await readEsimsOfTopUps(deps.db, deps.cipher, tenantId, [orderId])).get(orderId)?.esim
  const request = { tenantId, orderId, itemNo, key, productCode, reference: job.reference ?? undefined, topUp }
  const answering = supplied.supplier.query([request], 'CHECK')
  const [outcome] = await answering.catch((): Outcome[] => [])
  if (!(await acceptFound(deps, tenantId, { orderId, itemNo, supplier: job.supplier }, outcome))) return
  await deps.db.tx((tx) => unwatchItem(tx, tenantId, { orderId, itemNo, purpose: job.purpose }, job.supplier))
}

/** Ends watches whose time is up. */
async function endWatches(deps: FulfilmentDeps): Promise<void> {
  const tenants = await deps.db.query<{ tenantId: string }>({
    name: 'reconcile-end-tenants',
    text: `select distinct tenant_id from watched_items
           where give_up_at <= now() and due_at > now() and not ${isHeld('watched_items.tenant_id')}`,
  })
  for (const { tenantId } of tenants) {
    // Locks rows of one tenant and skips locked ones, which another transaction or the next pass will end.
    await deps.db.query({
      name: 'reconcile-end',
      text: `with over as (
          select order_id, item_no, purpose from watched_items
          where tenant_id = $1 and give_up_at <= now() and due_at > now() for update skip locked
        )
        delete from watched_items w using over o
        where w.tenant_id = $1 and w.order_id = o.order_id and w.item_no = o.item_no and w.purpose = o.purpose`,
      values: [tenantId],
    })
  }
}
