import { setTimeout as sleep } from 'node:timers/promises'
import { orderNoOf } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { isConnectionLoss } from '@dealer-esim/lib/postgres/errors.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { ActionOutcome } from '@dealer-esim/wholesalers/supplier.ts'
import { createAlert } from '#alerts/create-alert.ts'
import { type ActionChange, changeAction } from '#orders/change-action.ts'
import { ACTION_COLUMNS, type Action } from '#orders/esim-action.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import type { ActionDeps } from './action-deps.ts'
import { type ActionJob, type HeldAction, lockHeld } from './action-lease.ts'

/** How long an action may be PENDING if no node knows its supplier. */
const GIVE_UP_AFTER_MS = 3_600_000
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000
const REVIEW_WAIT_MIN_MS = 60_000
export const REVIEW_WAIT_MAX_MS = 6 * 3_600_000
/** Saving an outcome is retried while the database is unreachable. */
const SAVE_TRIES = 5
const FIRST_PAUSE_MS = 200

/**
 * Saves an outcome. If that fails, the attempt stays open, and the worker that takes over the action calls the supplier
 * again.
 */
export async function saveOutcome(
  deps: ActionDeps,
  job: ActionJob,
  attemptId: string,
  outcome: ActionOutcome,
): Promise<ActionOutcome> {
  for (let failures = 1; ; failures++) {
    try {
      return await save(deps, job, attemptId, outcome)
    } catch (error) {
      if (!isConnectionLoss(error) || failures >= SAVE_TRIES) throw error
      await sleep(FIRST_PAUSE_MS * 2 ** failures)
    }
  }
}

/**
 * Saves the outcome of an attempt. The eSIM is refunded in the transaction that records the supplier's confirmation, never
 * earlier.
 * Locks: the wallet if an eSIM was cancelled, then the order.
 * @returns the outcome, or `unknown` while a refusal is not final
 */
async function save(
  deps: ActionDeps,
  job: ActionJob,
  attemptId: string,
  outcome: ActionOutcome,
): Promise<ActionOutcome> {
  const { tenantId } = job
  const giveUpAfterMs = giveUpAfterMsOf(deps, job)
  const { result, eventsToSend } = await deps.db.tx(async (tx) => {
    const held = await lockHeld(tx, job, outcome.kind === 'done')
    tx.send({
      name: 'actions-attempt-outcome',
      text: `update supplier_attempts set finished_at = clock_timestamp(), message = $4,
               outcome = case when $3 = 'done' and operation = 'CANCEL' then 'cancelled' else $3 end
             where tenant_id = $1 and attempt_id = $2 and outcome is null`,
      values: [tenantId, attemptId, outcome.kind, 'message' in outcome ? outcome.message : null],
    })
    if (held === undefined) {
      if (outcome.kind === 'done') await alertIfRefused(tx, deps, job)
      return { result: outcome, eventsToSend: false }
    }
    const { action, order, now, databaseNow } = held
    const callsEndInMs =
      outcome.kind === 'refused' ? (await readCallsEndAt(tx, deps, job, action)) - databaseNow.getTime() : 0
    if (outcome.kind === 'unknown' || callsEndInMs > 0) {
      const backoffMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (action.attempts - 1))
      const waitMs = Math.max(backoffMs, callsEndInMs)
      const { message } = outcome as Exclude<ActionOutcome, { kind: 'done' }>
      const eventsToSend = await waitOrReview(tx, deps, tenantId, held, { message, waitMs, giveUpAfterMs })
      return { result: { kind: 'unknown', message } as const, eventsToSend }
    }
    const change: ActionChange = outcome.kind === 'done' ? { to: 'DONE' } : { to: 'REFUSED', message: outcome.message }
    await changeAction(tx, deps, tenantId, { action, order, change }, now)
    await failpoint('action.before-outcome-commit')
    return { result: outcome, eventsToSend: true }
  })
  await failpoint('action.after-outcome')
  if (eventsToSend) deps.wake.wake('webhooks')
  return result
}

/**
 * The time from which no earlier call for the same eSIM and action can still be carried out (ms; 0: now). Until then no
 * refusal is final: a supplier may refuse an action just because an unanswered call is carrying it out.
 */
async function readCallsEndAt(
  tx: Tx,
  deps: ActionDeps,
  { tenantId, supplier }: ActionJob,
  action: Action,
): Promise<number> {
  const traits = deps.suppliers.get(supplier)?.supplier.traits
  if (traits === undefined) return 0
  const [row] = await tx.query<{ endedAt: Date | null }>({
    name: 'actions-earlier-calls',
    text: `select max(coalesce(finished_at, started_at + $5 * interval '1 millisecond')) as ended_at from supplier_attempts
           where tenant_id = $1 and order_id = $2 and item_no = $3 and operation = $4
             and (outcome is null or outcome = 'unknown')`,
    values: [tenantId, action.orderId, action.itemNo, action.action, traits.timeoutMs],
  })
  return row!.endedAt === null ? 0 : row!.endedAt.getTime() + traits.graceMs
}

function giveUpAfterMsOf({ suppliers }: ActionDeps, { supplier }: ActionJob): number {
  return suppliers.get(supplier)?.supplier.traits.giveUpAfterMs ?? GIVE_UP_AFTER_MS
}

/** Releases an action that cannot be run now; it goes to review if it has been PENDING for too long. */
export async function postpone(
  deps: ActionDeps,
  job: ActionJob,
  message: string,
  waitMs: number,
): Promise<ActionOutcome | undefined> {
  const giveUpAfterMs = giveUpAfterMsOf(deps, job)
  const eventsToSend = await deps.db.tx(async (tx) => {
    const held = await lockHeld(tx, job, false)
    return held && waitOrReview(tx, deps, job.tenantId, held, { message, waitMs, giveUpAfterMs })
  })
  if (eventsToSend === undefined) return undefined
  if (eventsToSend) deps.wake.wake('webhooks')
  return { kind: 'unknown', message }
}

/**
 * Makes an action wait, or puts it under review once its supplier's time limit for giving up has passed. Under review, its
 * supplier is called less and less often.
 * @returns whether there are events to send
 */
async function waitOrReview(
  tx: Tx,
  deps: ActionDeps,
  tenantId: string,
  { action, order, now, databaseNow }: HeldAction,
  { message, waitMs, giveUpAfterMs }: { message: string; waitMs: number; giveUpAfterMs: number },
): Promise<boolean> {
  const openMs = now.getTime() - action.createdAt.getTime()
  const isReviewed = action.actionStatus === 'UNDER_REVIEW'
  const isLate = openMs >= giveUpAfterMs
  const reviewWaitMs = Math.min(REVIEW_WAIT_MAX_MS, Math.max(REVIEW_WAIT_MIN_MS, openMs))
  const nextMs = isLate ? reviewWaitMs : Math.min(waitMs, giveUpAfterMs - openMs)
  const dueAt = new Date(databaseNow.getTime() + Math.ceil(nextMs))
  if (isLate && !isReviewed) {
    await changeAction(tx, deps, tenantId, { action, order, change: { to: 'UNDER_REVIEW', message, dueAt } }, now)
    const what = `${action.supplier} did not answer the ${nameOf(action)} in time. Nothing will be refunded until it does.`
    const todo = 'Ask the supplier, and record what it says on the eSIM’s page or with esim settle.'
    alertOperators(tx, deps, tenantId, action, `${what} ${todo}`)
    return true
  }
  tx.send({
    name: 'actions-postpone',
    text: `update esim_actions set due_at = $3, lease_token = null, lease_until = null
           where tenant_id = $1 and action_id = $2`,
    values: [tenantId, action.actionId, dueAt],
  })
  return false
}

/**
 * An operator, or a worker that had taken over the action, has ended it as not done, but now the supplier says that it was
 * done.
 */
async function alertIfRefused(tx: Tx, deps: ActionDeps, { tenantId, actionId }: ActionJob): Promise<void> {
  const [action] = await tx.query<Action>({
    text: `select ${ACTION_COLUMNS} from esim_actions a join profiles p using (tenant_id, profile_id)
           where a.tenant_id = $1 and a.action_id = $2 and a.action_status = 'REFUSED'`,
    values: [tenantId, actionId],
  })
  if (action === undefined) return
  const what = `${action.supplier} carried out the ${nameOf(action)} after it had been resolved as not done.`
  const todo = `Repeat it on the eSIM’s page or with esim ${action.action.toLowerCase()}: the supplier confirms it, and a cancelled eSIM is refunded.`
  alertOperators(tx, deps, tenantId, action, `${what} ${todo}`)
}

function nameOf({ action, orderId, itemNo }: Action): string {
  return `${action} of eSIM ${itemKeyOf(orderId, itemNo)}`
}

function alertOperators(
  tx: Tx,
  { ids }: Pick<ActionDeps, 'ids'>,
  tenantId: string,
  { actionId, orderId, itemNo, profileId }: Action,
  message: string,
): void {
  createAlert(tx, ids, {
    kind: 'ACTION_UNDER_REVIEW',
    message,
    data: { tenantId, orderNo: orderNoOf(orderId), itemNo, profileId, actionNo: orderNoOf(actionId) },
  })
}
