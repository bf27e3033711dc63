import type { Db } from '../lib/db.ts'
import { orderIdOf } from '../lib/ids.ts'
import { type Loop, runLoop } from '../lib/lifecycle.ts'
import { notify } from '../notices/notices.ts'
import { openSecrets } from '../profiles/read.ts'
import type { Supplied } from '../suppliers/registry.ts'
import type { CancelOutcome, Outcome, SupplierRecord } from '../suppliers/supplier.ts'
import { type Attempt, itemKey } from './begin.ts'
import { callCancel, finishCancel, isUnused, readForCancel } from './cancel-esim.ts'
import type { FulfilmentDeps } from './deps.ts'
import { finishWork } from './finish.ts'
import { unwatch, type Watched } from './watch.ts'

const POLL_MS = 30_000
/** Of one pass; the next begins at once while there is more. */
const AT_ONCE = 50
const ASK_AGAIN_MIN_MS = 60_000
const ASK_AGAIN_MAX_MS = 6 * 3_600_000
const CANCEL_AGAIN_MS = 10 * 60_000
/** Suppliers' books are compared this often, over a little more than that. */
const COMPARE_EVERY_MS = 3_600_000
const COMPARE_SINCE_MS = 26 * 3_600_000
const FIRST_COMPARE_MS = 120_000

/**
 * What fulfilment leaves open is not forgotten: eSIMs that may yet come for refunded items, cancels without an answer,
 * orphans to be cancelled, and whatever suppliers have on their books for us that we do not have on ours. (Orders under
 * review are asked about by fulfilment itself.)
 */
export function reconcileLoop(deps: FulfilmentDeps): Loop {
  // A node that never runs for an hour compares all the same.
  let comparedAt = deps.clock.now() - COMPARE_EVERY_MS + FIRST_COMPARE_MS
  return runLoop({
    name: 'reconcile',
    log: deps.log,
    loops: deps.loops,
    poll_ms: POLL_MS,
    async pass() {
      const watched = await askAboutWatched(deps)
      const orphans = await cancelOrphans(deps)
      if (deps.clock.now() - comparedAt >= COMPARE_EVERY_MS) {
        comparedAt = deps.clock.now()
        for (const supplied of deps.suppliers.all()) await compareBooks(deps, supplied, COMPARE_SINCE_MS)
      }
      return watched === AT_ONCE || orphans === AT_ONCE
    },
  })
}

interface WatchedRow {
  tenant_id: string
  order_id: string
  item_no: number
  purpose: Watched['purpose']
  supplier: string
  product_code: string
}

/** Takes what is due (its next time is set in the same statement, so that no other node takes it) and asks. */
export async function askAboutWatched(deps: FulfilmentDeps): Promise<number> {
  const rows = await deps.db.query<WatchedRow>({
    name: 'reconcile-watched',
    text: `with due as (
        select tenant_id, order_id, item_no, purpose from watched_items where ask_at <= now() order by ask_at limit $1
        for no key update skip locked
      ), taken as (
        update watched_items w set asked = asked + 1,
          ask_at = now() + least($3, $2 * power(2, least(asked, 20))) * interval '1 millisecond'
        from due d where w.tenant_id = d.tenant_id and w.order_id = d.order_id and w.item_no = d.item_no
          and w.purpose = d.purpose
        returning w.tenant_id, w.order_id, w.item_no, w.purpose
      )
      select t.*, i.supplier, i.product_code from taken t
      join order_items i on i.tenant_id = t.tenant_id and i.order_id = t.order_id and i.item_no = t.item_no`,
    values: [AT_ONCE, ASK_AGAIN_MIN_MS, ASK_AGAIN_MAX_MS],
  })
  for (const row of rows) {
    if (row.purpose === 'CANCEL') await repeatCancel(deps, row)
    else await askForLateEsim(deps, row)
  }
  await endWatches(deps)
  return rows.length
}

async function repeatCancel(deps: FulfilmentDeps, row: WatchedRow): Promise<void> {
  const { tenant_id: tenantId, order_id: orderId, item_no: itemNo } = row
  const profile = await readForCancel(deps, tenantId, { orderId, itemNo })
  if (profile === undefined) return
  const subject = { orderId, itemNo, profileId: profile.profileId }
  const outcome: CancelOutcome = isUnused(profile.esimStatus, profile.smdpStatus)
    ? await callCancel(deps, profile.supplier, profile.esim)
    : { kind: 'refused', words: 'it was downloaded meanwhile' }
  await finishCancel(deps, tenantId, subject, outcome)
}

async function askForLateEsim(deps: FulfilmentDeps, row: WatchedRow): Promise<void> {
  const { tenant_id: tenantId, order_id: orderId, item_no: itemNo, product_code: productCode } = row
  const supplied = deps.suppliers.get(row.supplier)
  if (supplied === undefined) return
  const key = itemKey(orderId, itemNo)
  const asking = supplied.supplier.query([{ tenantId, orderId, itemNo, key, productCode }], 'LOOK')
  const [outcome] = await asking.catch((): Outcome[] => [])
  if (outcome?.kind !== 'delivered') return
  await learnOutcome(deps, supplied, { tenantId, orderId, itemNo, productCode }, outcome)
  await deps.db.tx(async (tx) => unwatch(tx, tenantId, { orderId, itemNo, purpose: row.purpose }))
}

/** Takes in an eSIM that is known to exist: delivered where the item still wants it, else an orphan. */
export async function learnOutcome(
  deps: FulfilmentDeps,
  supplied: Supplied,
  item: { tenantId: string; orderId: string; itemNo: number; productCode: string },
  outcome: Outcome,
): Promise<void> {
  const { tenantId, orderId, itemNo, productCode } = item
  const attempt: Attempt = {
    attemptId: deps.ids.uuid(), // of no row: nothing was sent
    orderId,
    itemNo,
    key: itemKey(orderId, itemNo),
    supplied,
    productCode,
    operation: 'QUERY',
    startedAt: new Date(deps.clock.now()),
    doubtSince: null,
  }
  await finishWork(deps, tenantId, { leaseToken: undefined }, [{ orderId, itemNo, outcome, attempt }])
}

/** A cancel that nobody answers for a week is an operator's to settle with the supplier. */
async function endWatches(deps: FulfilmentDeps): Promise<void> {
  await deps.db.tx(async (tx) => {
    const ended = await tx.query<{ tenant_id: string; order_id: string; item_no: number; purpose: string }>({
      name: 'reconcile-end',
      text: 'delete from watched_items where until <= now() and ask_at > now() returning tenant_id, order_id, item_no, purpose',
    })
    for (const row of ended) {
      if (row.purpose !== 'CANCEL') continue
      notify(tx, deps.ids, {
        tenantId: null,
        kind: 'CANCEL_UNANSWERED',
        audience: 'OPERATOR',
        message: `The supplier never said whether it cancelled eSIM ${itemKey(row.order_id, row.item_no)}. It is not refunded: ask the supplier, and record what it says on the order’s page or with esim settle.`,
        data: { tenantId: row.tenant_id, orderId: row.order_id, itemNo: row.item_no },
      })
    }
  })
}

interface OrphanRow {
  tenant_id: string
  orphan_id: string
  order_id: string
  item_no: number
  supplier: string
  product_code: string
  iccid: string
  secrets: Buffer
}

/**
 * Gives orphans back to their suppliers. What cannot be given back is kept, and stays in the report. Each is taken by one
 * node (its next time is set in the same statement): to the second one a supplier would say that there is no such eSIM.
 */
export async function cancelOrphans(deps: FulfilmentDeps): Promise<number> {
  const rows = await deps.db.query<OrphanRow>({
    name: 'reconcile-orphans',
    text: `with due as (
        select tenant_id, orphan_id from orphans where state = 'FOUND' and updated_at <= now() order by orphan_id limit $1
        for no key update skip locked
      ), taken as (
        update orphans o set updated_at = now() + $2 * interval '1 millisecond'
        from due d where o.tenant_id = d.tenant_id and o.orphan_id = d.orphan_id
        returning o.tenant_id, o.orphan_id, o.order_id, o.item_no, o.supplier, o.iccid, o.secrets
      )
      select t.*, i.product_code from taken t
      join order_items i on i.tenant_id = t.tenant_id and i.order_id = t.order_id and i.item_no = t.item_no`,
    values: [AT_ONCE, CANCEL_AGAIN_MS],
  })
  for (const row of rows) {
    const { tenant_id: tenantId, order_id: orderId, item_no: itemNo, iccid } = row
    const { matchingId } = openSecrets(deps.cipher, tenantId, row.secrets)
    const key = itemKey(orderId, itemNo)
    const esim = { tenantId, orderId, itemNo, key, productCode: row.product_code, iccid, matchingId, shown: false }
    const outcome = await callCancel(deps, row.supplier, esim)
    const state = { cancelled: 'CANCELLED', refused: 'KEPT', unknown: 'FOUND' }[outcome.kind]
    await deps.db.query({
      text: `update orphans set state = $3, detail = $4, updated_at = case when $3 = 'FOUND' then updated_at else now() end
             where tenant_id = $1 and orphan_id = $2`,
      values: [tenantId, row.orphan_id, state, 'words' in outcome ? outcome.words : null],
    })
  }
  return rows.length
}

/**
 * Compares a supplier's list with ours. What it delivered and we do not have is asked for by its key and taken in; what
 * belongs to no item of ours is reported.
 */
export async function compareBooks(deps: FulfilmentDeps, supplied: Supplied, over_ms: number): Promise<number> {
  const { supplier } = supplied
  if (supplier.list === undefined) return 0
  let found = 0
  try {
    for await (const record of supplier.list(new Date(deps.clock.now() - over_ms))) {
      if (!record.cancelled && !(await isOnOurBooks(deps.db, supplied, record))) {
        found += 1
        await takeIn(deps, supplied, record)
      }
    }
  } catch (error) {
    deps.log.warn({ err: error, supplier: supplier.name }, 'its list could not be read to the end')
  }
  return found
}

const ITEM_KEY = /^([0-9A-Z]{26})-(\d{1,3})$/

interface OwnItem {
  tenant_id: string
  product_code: string
  item_status: string
  known: boolean
}

async function ownItem(db: Db, supplied: Supplied, record: SupplierRecord) {
  const [, orderNo = '', itemNo = ''] = ITEM_KEY.exec(record.key) ?? []
  const orderId = orderIdOf(orderNo)
  if (orderId === undefined) return undefined
  const [item] = await db.query<OwnItem>({
    name: 'reconcile-own-item',
    text: `select i.tenant_id, i.product_code, i.item_status,
             exists (select from profiles p where p.tenant_id = i.tenant_id and p.order_id = i.order_id
               and p.item_no = i.item_no and p.iccid = $4)
             or exists (select from orphans p where p.tenant_id = i.tenant_id and p.order_id = i.order_id
               and p.item_no = i.item_no and p.iccid = $4) as known
           from tenants t join order_items i on i.tenant_id = t.tenant_id
           where i.order_id = $1 and i.item_no = $2 and i.supplier = $3`,
    values: [orderId, Number(itemNo), supplied.supplier.name, record.iccid],
  })
  return item && { ...item, orderId, itemNo: Number(itemNo) }
}

async function isOnOurBooks(db: Db, supplied: Supplied, record: SupplierRecord): Promise<boolean> {
  const item = await ownItem(db, supplied, record)
  // One that is in work gets its answer from fulfilment.
  return item !== undefined && (item.known || ['WAITING', 'ASKED', 'UNKNOWN'].includes(item.item_status))
}

async function takeIn(deps: FulfilmentDeps, supplied: Supplied, record: SupplierRecord): Promise<void> {
  const item = await ownItem(deps.db, supplied, record)
  if (item !== undefined) {
    const { tenant_id: tenantId, orderId, itemNo, product_code: productCode } = item
    const request = { tenantId, orderId, itemNo, key: record.key, productCode }
    const purpose = item.item_status === 'REVIEW' ? 'RESUME' : 'LOOK'
    const [outcome] = await supplied.supplier.query([request], purpose)
    if (outcome?.kind === 'delivered') return learnOutcome(deps, supplied, request, outcome)
  }
  await deps.db.query({
    text: 'insert into unclaimed_esims (supplier, key, iccid) values ($1, $2, $3) on conflict do nothing',
    values: [supplied.supplier.name, record.key, record.iccid],
  })
}
