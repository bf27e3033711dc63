import { isAhead, type TimesAhead } from '@dealer-esim/lib/leases.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { isHeld } from '#platform/held-tenants.ts'

/*
 * Questions about eSIMs that are triggered from outside: by a sender of events, or by a person pressing a button. Across
 * all nodes, each eSIM is queried at most once every 30 s. An event that comes sooner is not lost: it leaves a question for
 * the end of that time.
 */

/** An eSIM, identified by its order and the number of its item. */
export interface AskedItem {
  tenantId: string
  orderId: string
  itemNo: number
}

/** The minimum time between two questions about an eSIM. */
export const ASK_EVERY_S = 30
/** The same, if the supplier has signed the event or sent it from one of its addresses. */
const ASK_PROVEN_EVERY_S = 1
/**
 * The most eSIMs of one tenant that may wait for a question. Anything reported by further events is found when suppliers
 * are polled.
 */
export const WAITING_OF_TENANT_MAX = 1_000
/** A question that has not ended by then was lost with its node, and is asked again. Longer than any supplier's time-out. */
const LEASE_MS = 300_000
/** A question that could not be asked for this long has been superseded by polling. */
const KEEP = `interval '1 day'`

const IS_DUE = `(q.due_at <= now() or ${isAhead('q.due_at', String(LEASE_MS))})`

/** Questions timed by a fast clock: claims ignore it. */
export const QUESTIONS_AHEAD: TimesAhead = {
  table: 'supplier_questions',
  key: ['tenant_id', 'order_id', 'item_no'],
  isAhead: isAhead('due_at', String(LEASE_MS)),
}

/**
 * Records that items may have changed. Ignores items that this supplier does not have, and those that nobody needs to ask
 * about because fulfilment is already asking.
 * @param proven the supplier itself has reported the change
 * @returns how many questions are due or will be
 */
export async function noteQuestions(
  db: Pick<Db, 'query'>,
  supplier: string,
  items: readonly Omit<AskedItem, 'tenantId'>[],
  proven: boolean,
): Promise<number> {
  const everyS = proven ? ASK_PROVEN_EVERY_S : ASK_EVERY_S
  const noted = await db.query({
    name: 'supplier-questions-note',
    text: `insert into supplier_questions as q (tenant_id, order_id, item_no, supplier, reported_at, due_at)
           select i.tenant_id, i.order_id, i.item_no, $1, now(), now()
           from unnest($2::uuid[], $3::int[]) as named(order_id, item_no)
           cross join tenants t
           join order_items i on i.tenant_id = t.tenant_id and i.order_id = named.order_id and i.item_no = named.item_no
           where i.supplier = $1 and i.item_status in ('UNKNOWN', 'REVIEW', 'DELIVERED', 'REFUSED', 'CANCELLED')
             and not ${isHeld('i.tenant_id')}
             and (select count(*) from (select from supplier_questions w
                    where w.tenant_id = i.tenant_id limit ${WAITING_OF_TENANT_MAX}) waiting) < ${WAITING_OF_TENANT_MAX}
           on conflict (tenant_id, order_id, item_no) do update set reported_at = now(), supplier = excluded.supplier,
             due_at = least(q.due_at, greatest(now(), least(now(), q.asked_at) + $4 * interval '1 second'))
           returning 1`,
    values: [supplier, items.map(({ orderId }) => orderId), items.map(({ itemNo }) => itemNo), everyS],
  })
  return noted.length
}

/** Lists items with due questions: each tenant's longest-waiting item comes before any tenant's second one. */
export function listDueQuestions(db: Pick<Db, 'query'>, supplier: string, limit: number): Promise<AskedItem[]> {
  return db.query<AskedItem>({
    name: 'supplier-questions-due',
    text: `select tenant_id, order_id, item_no from (
             select q.tenant_id, q.order_id, q.item_no, q.due_at,
               row_number() over (partition by q.tenant_id order by q.due_at) as turn
             from supplier_questions q where q.supplier = $1 and ${IS_DUE} and not ${isHeld('q.tenant_id')}
           ) due
           order by turn, due_at limit $2`,
    values: [supplier, limit],
  })
}

/** Begins a due question. @returns false if another node has begun it */
export async function beginQuestion(db: Pick<Db, 'query'>, { tenantId, orderId, itemNo }: AskedItem): Promise<boolean> {
  const begun = await db.query({
    name: 'supplier-questions-begin',
    text: `update supplier_questions q set asked_at = now(), due_at = now() + interval '${LEASE_MS} milliseconds'
           where q.tenant_id = $1 and q.order_id = $2 and q.item_no = $3 and ${IS_DUE} returning 1`,
    values: [tenantId, orderId, itemNo],
  })
  return begun.length === 1
}

/**
 * Ends a question. If an event has come in since, the next question is already due.
 * @param again it was not asked, or it failed
 */
export async function endQuestion(
  db: Pick<Db, 'query'>,
  { tenantId, orderId, itemNo }: AskedItem,
  again: boolean,
): Promise<void> {
  await db.query({
    name: 'supplier-questions-end',
    text: `update supplier_questions q
           set due_at = case when $4 or q.reported_at > q.asked_at
                             then least(q.due_at, q.asked_at + interval '${ASK_EVERY_S} seconds') end
           where q.tenant_id = $1 and q.order_id = $2 and q.item_no = $3`,
    values: [tenantId, orderId, itemNo, again],
  })
}

/**
 * Begins a question that a person asks now.
 * @returns in how many seconds it may be asked, if the item was queried a moment ago; otherwise undefined
 */
export async function beginQuestionNow(
  db: Pick<Db, 'query'>,
  supplier: string,
  { tenantId, orderId, itemNo }: AskedItem,
): Promise<number | undefined> {
  const begun = await db.query({
    name: 'supplier-questions-now',
    text: `insert into supplier_questions as q (tenant_id, order_id, item_no, supplier, reported_at, asked_at)
           values ($1, $2, $3, $4, now(), now())
           on conflict (tenant_id, order_id, item_no) do update
             set asked_at = now(), due_at = case when q.due_at is not null then now() + interval '${ASK_EVERY_S} seconds' end
             where q.asked_at is null or q.asked_at > now() or q.asked_at <= now() - interval '${ASK_EVERY_S} seconds'
           returning 1`,
    values: [tenantId, orderId, itemNo, supplier],
  })
  return begun.length === 1 ? undefined : ASK_EVERY_S
}

/** Deletes rows that no longer hold anything back. */
export async function forgetQuestions(db: Pick<Db, 'query'>): Promise<void> {
  await db.query({
    name: 'supplier-questions-forget',
    text: `delete from supplier_questions
           where due_at is null and asked_at < now() - interval '${ASK_EVERY_S} seconds'
              or reported_at < now() - ${KEEP} or ${isAhead('reported_at', '0')}`,
  })
}
