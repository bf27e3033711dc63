import { notify } from '../../alerts/alerts.ts'
import { itemKeyOf } from '../../orders/item.ts'
import type { CancelOutcome, Outcome } from '../../suppliers/supplier.ts'
import type { FulfilmentDeps } from '../deps.ts'
import { callCancel } from '../review/cancel-esim.ts'
import { readForCancel, wasNeverUsed } from '../review/cancel-subject.ts'
import { finishCancel } from '../review/finish-cancel.ts'
import { takeInEsim } from '../take-in.ts'
import { askBySupplier, takeFrom } from './ask-by-supplier.ts'
import { unwatch, type Watched } from './watch.ts'

/** Of one pass; the next begins at once. */
const AT_ONCE = 50
const ASK_AGAIN_MIN_MS = 60_000
const ASK_AGAIN_MAX_MS = 6 * 3_600_000

interface WatchedRow {
  tenantId: string
  orderId: string
  itemNo: number
  purpose: Watched['purpose']
  supplier: string
  productCode: string | null
}

/**
 * Takes what is due (its next time is set in the same statement, so that no other node takes it) and asks. Of the tenants of
 * what is due longest: each statement locks rows of one tenant, skips those that somebody else has, and waits for nobody.
 * @returns how many were due
 */
export async function askAboutWatched(deps: FulfilmentDeps): Promise<number> {
  const tenants = await deps.db.query<{ tenantId: string }>({
    name: 'reconcile-watched-tenants',
    text: `select distinct tenant_id from (
             select tenant_id from watched_items where due_at <= now() order by due_at limit $1) due`,
    values: [AT_ONCE],
  })
  const due = await takeFrom(tenants, (tenantId) => takeWatched(deps, tenantId))
  await askBySupplier(deps.clock, due, (row) => askAbout(deps, row))
  await endWatches(deps)
  return due.length
}

function takeWatched(deps: FulfilmentDeps, tenant: string): Promise<WatchedRow[]> {
  return deps.db.query({
    name: 'reconcile-watched',
    text: `with due as (
        select order_id, item_no, purpose from watched_items where tenant_id = $4 and due_at <= now()
        order by due_at limit $1 for no key update skip locked
      )
      update watched_items w set attempts = attempts + 1,
        due_at = now() + least($3, $2 * power(2, least(attempts, 20))) * interval '1 millisecond'
      from due d where w.tenant_id = $4 and w.order_id = d.order_id and w.item_no = d.item_no and w.purpose = d.purpose
      returning w.tenant_id, w.order_id, w.item_no, w.purpose, w.supplier, w.product_code`,
    values: [AT_ONCE, ASK_AGAIN_MIN_MS, ASK_AGAIN_MAX_MS, tenant],
  })
}

async function askAbout(deps: FulfilmentDeps, row: WatchedRow): Promise<void> {
  const asking = row.purpose === 'CANCEL' ? repeatCancel(deps, row) : askForLateEsim(deps, row)
  const { tenantId, orderId, itemNo, purpose } = row
  await asking.catch((error) =>
    deps.log.error({ err: error, tenantId, orderId, itemNo, purpose }, 'it could not be asked about; the others go on'),
  )
}

async function repeatCancel(deps: FulfilmentDeps, row: WatchedRow): Promise<void> {
  const { tenantId, orderId, itemNo } = row
  const profile = await readForCancel(deps, tenantId, { orderId, itemNo })
  if (profile === undefined) return
  const subject = { orderId, itemNo, profileId: profile.profileId }
  const outcome: CancelOutcome = wasNeverUsed(profile)
    ? await callCancel(deps, profile.supplier, profile.esim)
    : { kind: 'refused', words: 'it was downloaded meanwhile' }
  await finishCancel(deps, tenantId, subject, outcome)
}

async function askForLateEsim(deps: FulfilmentDeps, row: WatchedRow): Promise<void> {
  const { tenantId, orderId, itemNo, productCode } = row
  const supplied = deps.suppliers.get(row.supplier)
  if (supplied === undefined || productCode === null) return
  const key = itemKeyOf(orderId, itemNo)
  const asking = supplied.supplier.query([{ tenantId, orderId, itemNo, key, productCode }], 'LOOK')
  const [outcome] = await asking.catch((): Outcome[] => [])
  if (outcome?.kind !== 'delivered') return
  await takeInEsim(deps, tenantId, { orderId, itemNo, supplier: row.supplier }, outcome.esim)
  await deps.db.tx(async (tx) => unwatch(tx, tenantId, { orderId, itemNo, purpose: row.purpose }))
}

/** A cancel that nobody answers for a week is an operator's to settle with the supplier. */
async function endWatches(deps: FulfilmentDeps): Promise<void> {
  const tenants = await deps.db.query<{ tenantId: string }>({
    name: 'reconcile-end-tenants',
    text: 'select distinct tenant_id from watched_items where give_up_at <= now() and due_at > now()',
  })
  for (const { tenantId } of tenants) await endWatchesOf(deps, tenantId)
}

/** Locks rows of one tenant, but those that somebody is just settling: they are none any more, or end with the next pass. */
async function endWatchesOf(deps: FulfilmentDeps, tenantId: string): Promise<void> {
  await deps.db.tx(async (tx) => {
    const ended = await tx.query<{ orderId: string; itemNo: number; purpose: string }>({
      name: 'reconcile-end',
      text: `with over as (
          select order_id, item_no, purpose from watched_items
          where tenant_id = $1 and give_up_at <= now() and due_at > now() for update skip locked
        )
        delete from watched_items w using over o
        where w.tenant_id = $1 and w.order_id = o.order_id and w.item_no = o.item_no and w.purpose = o.purpose
        returning w.order_id, w.item_no, w.purpose`,
      values: [tenantId],
    })
    for (const row of ended) {
      if (row.purpose !== 'CANCEL') continue
      notify(tx, deps.ids, {
        tenantId: null,
        kind: 'CANCEL_UNANSWERED',
        audience: 'OPERATOR',
        message: `The supplier never said whether it cancelled eSIM ${itemKeyOf(row.orderId, row.itemNo)}. It is not refunded: ask the supplier, and record what it says on the order’s page or with esim settle.`,
        data: { tenantId, orderId: row.orderId, itemNo: row.itemNo },
      })
    }
  })
}
