import { orderNoOf } from '@dealer-esim/contract'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { rootSpanIdOf, traceIdOf } from '@dealer-esim/lib/telemetry/traces.ts'
import { latestReference, withStorableMessage } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { ActionOutcome, SuppliedEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { changeAction } from '#orders/change-action.ts'
import { type Action, wasNeverUsed } from '#orders/esim-action.ts'
import type { LockedOrder, LockedProfile } from '#orders/lock-orders.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'
import { type SuppliedEsimRow, toSuppliedEsim } from '../profile-secrets.ts'
import type { ActionDeps } from './action-deps.ts'
import { type ActionJob, LEASE_MS, lockHeld, whileLeased } from './action-lease.ts'
import { callForAction } from './call-supplier.ts'
import { postpone, saveOutcome } from './save-action-outcome.ts'

/** The wait for an action whose supplier is paused, or not loaded on this node. */
const UNAVAILABLE_MS = 10_000

/**
 * Runs a leased action: commits an attempt, calls the supplier, and saves the outcome under the lease. After a crash in
 * between, the lease ends and another worker repeats the call, which suppliers answer like the first one.
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
  return saveOutcome(deps, job, begun.attemptId, outcome)
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
    const { action, order, now, databaseNow } = held
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
      values: [tenantId, attemptId, orderId, action.itemNo, supplier.name, action.action, job.leaseToken, databaseNow],
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

/** @returns why the supplier need not be asked any more; undefined: it must be asked */
function whyImpossible(action: Action, order: LockedOrder): string | undefined {
  const profile = order.profiles.find((candidate) => candidate.profileId === action.profileId) as LockedProfile
  // A report may show the effect of an earlier call whose answer was lost. The supplier confirms it when it is called
  // again.
  if (action.action === 'REVOKE' && action.attempts > 0 && profile.esimStatus === 'REVOKED') return undefined
  if (profile.esimStatus === 'CANCEL' || profile.esimStatus === 'REVOKED') return `the eSIM is ${profile.esimStatus}`
  if (action.action === 'CANCEL' && !wasNeverUsed(profile)) return 'the eSIM was downloaded in the meantime'
  return undefined
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
