import { setTimeout as sleep } from 'node:timers/promises'
import { orderNoOf } from '@dealer-esim/contract'
import { createAlert } from '../alerts/create.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { isConnectionLoss } from '../lib/postgres/errors.ts'
import { failpoint } from '../lib/process/failpoint.ts'
import { rootSpanIdOf, traceIdOf } from '../lib/telemetry/traces.ts'
import { ACTION_COLUMNS, type Action, IS_OPEN, wasNeverUsed } from '../orders/action.ts'
import { type ActionChange, changeAction } from '../orders/change-action.ts'
import { itemKeyOf } from '../orders/item.ts'
import { type LockedOrder, type LockedProfile, lockOrders, lockWalletAndOrders } from '../orders/lock.ts'
import { type SuppliedEsimRow, toSuppliedEsim } from '../profiles/secrets.ts'
import type { ConfiguredSupplier } from '../suppliers/registry.ts'
import { latestReference, withStorableMessage } from '../suppliers/stored-answer.ts'
import type { ActionOutcome, SuppliedEsim } from '../suppliers/supplier.ts'
import { callForAction } from './call-supplier.ts'
import type { ActionDeps } from './deps.ts'

/** A leased action. */
export interface ActionJob {
  tenantId: string
  actionId: string
  orderId: string
  supplier: string
  leaseToken: string
}

/** A lease that is not renewed for this long expires, and another worker takes the action over. */
export const LEASE_MS = 30_000
const RENEW_MS = LEASE_MS / 3
/** An action whose supplier is paused, or not loaded on this node, waits this long. */
const UNAVAILABLE_MS = 10_000
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
 * Runs a leased action: commits an attempt, asks the supplier, and saves the outcome under the lease. After a crash in
 * between, the lease ends and another worker asks again: suppliers answer a repeat as they answered the first call.
 * @returns the outcome; undefined if the action was no longer open or leased
 */
export async function runAction(deps: ActionDeps, job: ActionJob): Promise<ActionOutcome | undefined> {
  const supplied = deps.suppliers.get(job.supplier)
  if (supplied === undefined) return postpone(deps, job, `supplier ${job.supplier} is not configured`, UNAVAILABLE_MS)
  if (supplied.paused) return postpone(deps, job, `supplier ${job.supplier} is paused`, UNAVAILABLE_MS)
  const esim = await readEsim(deps, job)
  if (supplied.gate.acquire(job.tenantId, 1) === 0) {
    return postpone(deps, job, `${job.supplier} takes no calls now`, supplied.gate.retryInMs(job.tenantId))
  }
  const begun = await beginAttempt(deps, job, supplied).catch((error) => {
    supplied.gate.release(job.tenantId, 1)
    throw error
  })
  if ('ended' in begun) {
    supplied.gate.release(job.tenantId, 1)
    if (begun.ended !== undefined) deps.wake.wake('webhooks')
    return begun.ended
  }
  await failpoint('action.after-attempt')
  const outcome = await whileLeased(deps, job, () => call(deps, job, supplied, begun.action, esim))
  await failpoint('action.after-call')
  return saveWithRetry(deps, job, begun.attemptId, outcome)
}

/** @throws DecryptionFailed */
async function readEsim(deps: ActionDeps, { tenantId, actionId }: ActionJob): Promise<SuppliedEsim> {
  const [row] = await deps.db.query<SuppliedEsimRow>({
    name: 'actions-esim',
    text: `select p.order_id, p.item_no, i.product_code, p.iccid, p.secrets,
             ${latestReference({ tenantId: 'p.tenant_id', orderId: 'p.order_id', itemNo: 'p.item_no', supplier: 'p.supplier' })} as reference
           from esim_actions a join profiles p using (tenant_id, profile_id)
           join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
           where a.tenant_id = $1 and a.action_id = $2`,
    values: [tenantId, actionId],
  })
  return toSuppliedEsim(deps.cipher, tenantId, row!, true)
}

type Begun = { action: Action; attemptId: string } | { ended: ActionOutcome | undefined }

/** Commits the attempt. An action that the eSIM no longer allows is refused instead. */
async function beginAttempt(deps: ActionDeps, job: ActionJob, { supplier }: ConfiguredSupplier): Promise<Begun> {
  const { tenantId, actionId, orderId } = job
  return deps.db.tx(async (tx): Promise<Begun> => {
    const held = await lockHeld(tx, job, false)
    if (held === undefined) return { ended: undefined }
    const { action, order, now } = held
    const message = whyImpossible(action, order)
    if (message !== undefined) {
      await changeAction(tx, deps, tenantId, { action, order, change: { to: 'REFUSED', message } }, now)
      return { ended: { kind: 'refused', message } }
    }
    const attemptId = deps.ids.uuid()
    tx.send({
      name: 'actions-attempt',
      text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
               started_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      values: [tenantId, attemptId, orderId, action.itemNo, supplier.name, action.action, job.leaseToken, now],
    })
    tx.send({
      name: 'actions-attempted',
      text: `update esim_actions set attempts = least(attempts + 1, 32767),
               lease_until = clock_timestamp() + $3 * interval '1 millisecond'
             where tenant_id = $1 and action_id = $2`,
      values: [tenantId, actionId, LEASE_MS],
    })
    return { action: { ...action, attempts: action.attempts + 1 }, attemptId }
  })
}

interface HeldAction {
  action: Action
  order: LockedOrder
  now: Date
}

/** Locks the eSIM's order, and before it the wallet if a refund may follow. @returns undefined if the lease is lost */
async function lockHeld(tx: Tx, job: ActionJob, mayRefund: boolean): Promise<HeldAction | undefined> {
  const lock = mayRefund ? lockWalletAndOrders : lockOrders
  const [{ orders, now }, [action]] = await Promise.all([
    lock(tx, job.tenantId, [job.orderId]),
    tx.query<Action>({
      name: 'actions-held',
      text: `select ${ACTION_COLUMNS} from esim_actions a join profiles p using (tenant_id, profile_id)
             where a.tenant_id = $1 and a.action_id = $2 and a.lease_token = $3 and ${IS_OPEN}
             for no key update of a`,
      values: [job.tenantId, job.actionId, job.leaseToken],
    }),
  ])
  return action && { action, order: orders.get(job.orderId)!, now }
}

/** @returns why the supplier need not be asked any more; undefined: it must be asked */
function whyImpossible(action: Action, order: LockedOrder): string | undefined {
  const profile = order.profiles.find((candidate) => candidate.profileId === action.profileId) as LockedProfile
  // A report shows what a call has done whose answer was lost: its supplier says so when it is asked again.
  if (action.action === 'REVOKE' && action.attempts > 0 && profile.esimStatus === 'REVOKED') return undefined
  if (profile.esimStatus === 'CANCEL' || profile.esimStatus === 'REVOKED') return `the eSIM is ${profile.esimStatus}`
  if (action.action === 'CANCEL' && !wasNeverUsed(profile)) return 'the eSIM was downloaded in the meantime'
  return undefined
}

async function whileLeased<Result>(
  deps: ActionDeps,
  { tenantId, actionId, leaseToken }: ActionJob,
  work: () => Promise<Result>,
): Promise<Result> {
  const renewing = setInterval(() => {
    const renewal = {
      name: 'actions-renew',
      text: `update esim_actions set lease_until = now() + $4 * interval '1 millisecond'
             where tenant_id = $1 and action_id = $2 and lease_token = $3`,
      values: [tenantId, actionId, leaseToken, LEASE_MS],
    }
    deps.db.query(renewal).catch((error) => deps.log.warn({ err: error }, 'a lease could not be renewed'))
  }, RENEW_MS)
  try {
    return await work()
  } finally {
    clearInterval(renewing)
  }
}

async function call(
  deps: ActionDeps,
  { tenantId, orderId }: ActionJob,
  { supplier, gate }: ConfiguredSupplier,
  { action, actionId, itemNo }: Action,
  esim: SuppliedEsim,
): Promise<ActionOutcome> {
  const startedAt = deps.clock.monotonic()
  const { down, ...outcome } = withStorableMessage(await callForAction(supplier, action, esim, orderNoOf(actionId)))
  const durationMs = deps.clock.monotonic() - startedAt
  gate.complete(tenantId, 1, durationMs, down === true)
  deps.supplierMetrics?.called(supplier.name, action, [outcome.kind], durationMs)
  deps.traces?.add({
    traceId: traceIdOf(orderId),
    parentSpanId: rootSpanIdOf(orderId),
    name: `${action.toLowerCase()} ${supplier.name}`,
    kind: 'CLIENT',
    endedAt: deps.clock.now(),
    durationMs,
    attributes: {
      'dealer_esim.tenant_id': tenantId,
      'dealer_esim.supplier': supplier.name,
      'dealer_esim.supplier_type': supplier.type,
      'dealer_esim.key': itemKeyOf(orderId, itemNo),
      'dealer_esim.action_no': orderNoOf(actionId),
      'dealer_esim.outcome': outcome.kind,
    },
    ...('message' in outcome ? { error: outcome.message } : {}),
  })
  return outcome
}

/**
 * Saves an outcome. If that fails, the attempt stays open, and the worker that takes the action over asks the supplier again.
 */
async function saveWithRetry(
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
 * @returns the outcome as far as it is believed
 */
async function save(
  deps: ActionDeps,
  job: ActionJob,
  attemptId: string,
  outcome: ActionOutcome,
): Promise<ActionOutcome> {
  const { tenantId } = job
  const giveUpAfterMs = giveUpAfterMsOf(deps, job)
  const { believed, eventsToSend } = await deps.db.tx(async (tx) => {
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
      return { believed: outcome, eventsToSend: false }
    }
    const { action, order, now } = held
    const callsEndInMs = outcome.kind === 'refused' ? (await readCallsEndAt(tx, deps, job, action)) - now.getTime() : 0
    if (outcome.kind === 'unknown' || callsEndInMs > 0) {
      const backoffMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (action.attempts - 1))
      const waitMs = Math.max(backoffMs, callsEndInMs)
      const { message } = outcome as Exclude<ActionOutcome, { kind: 'done' }>
      const eventsToSend = await waitOrReview(tx, deps, tenantId, held, { message, waitMs, giveUpAfterMs })
      return { believed: { kind: 'unknown', message } as const, eventsToSend }
    }
    const change: ActionChange = outcome.kind === 'done' ? { to: 'DONE' } : { to: 'REFUSED', message: outcome.message }
    await changeAction(tx, deps, tenantId, { action, order, change }, now)
    await failpoint('action.before-outcome-commit')
    return { believed: outcome, eventsToSend: true }
  })
  await failpoint('action.after-outcome')
  if (eventsToSend) deps.wake.wake('webhooks')
  return believed
}

/**
 * When no earlier call for the same eSIM and action can be carried out any more (ms; 0: now). Until then no refusal is believed:
 * a supplier may refuse an action just because an unanswered call is carrying it out.
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
 * Makes an action wait, or puts it under review once its supplier's time to give up is over. Under review, its supplier is
 * asked less and less often.
 * @returns whether there are events to send
 */
async function waitOrReview(
  tx: Tx,
  deps: ActionDeps,
  tenantId: string,
  { action, order, now }: HeldAction,
  { message, waitMs, giveUpAfterMs }: { message: string; waitMs: number; giveUpAfterMs: number },
): Promise<boolean> {
  const openMs = now.getTime() - action.createdAt.getTime()
  const isReviewed = action.actionStatus === 'UNDER_REVIEW'
  const isLate = openMs >= giveUpAfterMs
  const reviewWaitMs = Math.min(REVIEW_WAIT_MAX_MS, Math.max(REVIEW_WAIT_MIN_MS, openMs))
  const nextMs = isLate ? reviewWaitMs : Math.min(waitMs, giveUpAfterMs - openMs)
  const dueAt = new Date(now.getTime() + Math.ceil(nextMs))
  if (isLate && !isReviewed) {
    await changeAction(tx, deps, tenantId, { action, order, change: { to: 'UNDER_REVIEW', message, dueAt } }, now)
    const what = `${action.supplier} did not answer the ${nameOf(action)} in time. Nothing is refunded until it does.`
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

/** An operator, or a worker that had taken the action over, has ended it as not done, and now the supplier says that it is. */
async function alertIfRefused(tx: Tx, deps: ActionDeps, { tenantId, actionId }: ActionJob): Promise<void> {
  const [action] = await tx.query<Action>({
    text: `select ${ACTION_COLUMNS} from esim_actions a join profiles p using (tenant_id, profile_id)
           where a.tenant_id = $1 and a.action_id = $2 and a.action_status = 'REFUSED'`,
    values: [tenantId, actionId],
  })
  if (action === undefined) return
  const what = `${action.supplier} has carried out the ${nameOf(action)} after it had ended as not done.`
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
    tenantId: null,
    kind: 'ACTION_UNDER_REVIEW',
    audience: 'OPERATOR',
    message,
    data: { tenantId, orderNo: orderNoOf(orderId), itemNo, profileId, actionNo: orderNoOf(actionId) },
  })
}
