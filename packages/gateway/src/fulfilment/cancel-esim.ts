import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import { type Actor, audit } from '../audit/audit.ts'
import type { Db, Tx } from '../lib/db.ts'
import { orderNoOf } from '../lib/ids.ts'
import { pause } from '../lib/pause.ts'
import { Refusal } from '../lib/refusal.ts'
import { changeOrders } from '../orders/change.ts'
import { itemKeyOf } from '../orders/item-key.ts'
import { lockOrders, lockWalletAndOrders } from '../orders/lock.ts'
import { refundItems } from '../orders/refund.ts'
import { openSecrets } from '../profiles/read.ts'
import type { CancelOutcome, SuppliedEsim } from '../suppliers/supplier.ts'
import type { FulfilmentDeps } from './deps.ts'
import { unwatch, watch } from './watch.ts'
import { withPlainWords } from './words.ts'

type Deps = Pick<FulfilmentDeps, 'db' | 'ids' | 'cipher' | 'suppliers' | 'wake' | 'clock'>

/**
 * Cancels an eSIM that was delivered and not used: first at the supplier, and only when that has cancelled it, here,
 * with its refund. The intent is committed before the call; where the answer is lost, reconciliation asks again.
 * @throws Refusal where it is used, or the supplier does not cancel it.
 */
export async function cancelEsim(
  deps: Deps,
  {
    tenantId,
    profileId,
    reason,
    ...by
  }: { tenantId: string; profileId: string; reason?: string; actor: Actor; address?: string },
): Promise<CancelOutcome> {
  const profile = await readForCancel(deps, tenantId, profileId)
  if (profile === undefined) throw new Refusal(404, 'ESIM_UNKNOWN', 'There is no such eSIM.')
  if (!isUnused(profile)) {
    const words = `The eSIM is ${profile.smdpStatus ?? profile.esimStatus}: only one that was never downloaded can be cancelled.`
    throw new Refusal(409, 'ESIM_IN_USE', words)
  }
  const { orderId, itemNo } = profile.esim
  const attemptId = deps.ids.uuid()
  await deps.db.tx(async (tx) => {
    const { orders, now } = await lockOrders(tx, tenantId, [orderId])
    if (!orders.has(orderId)) throw new Refusal(404, 'ORDER_UNKNOWN', 'There is no such order.')
    watch(tx, tenantId, { orderId, itemNo, purpose: 'CANCEL' }, now)
    tx.send({
      text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
               started_at) values ($1, $2, $3, $4, $5, 'CANCEL', $2, $6)`,
      values: [tenantId, attemptId, orderId, itemNo, profile.supplier, now],
    })
    const after = { profileId, itemNo, ...(reason !== undefined && { reason }) }
    audit(tx, deps.ids, { tenantId, ...by, action: 'order.cancel_esim', subject: orderNoOf(orderId), after })
  })
  await pause('cancel.after-attempt')
  const outcome = await callCancel(deps, profile.supplier, profile.esim)
  await pause('cancel.after-call')
  await finishCancel(deps, tenantId, { ...profile.esim, profileId, attemptId }, outcome)
  return outcome
}

/** An eSIM that its SM-DP+ or a device has begun to use, or whose time is over, is not to be cancelled any more. */
function isUnused({ esimStatus, smdpStatus }: ProfileStatus): boolean {
  return esimStatus === 'GOT_RESOURCE' && wasNeverUsed({ esimStatus, smdpStatus })
}

/**
 * Whether a cancel that is in question may still turn out to have been executed. That its time has passed meanwhile says
 * nothing against it: eSIMs are returned on their last day, too.
 */
export function wasNeverUsed({ esimStatus, smdpStatus }: ProfileStatus): boolean {
  return !USED.includes(esimStatus) && (smdpStatus === null || smdpStatus === 'RELEASED')
}

const USED: readonly EsimStatus[] = ['IN_USE', 'USED_UP', 'USED_EXPIRED']

interface ProfileStatus {
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
}

export async function callCancel(
  deps: Pick<Deps, 'suppliers'>,
  name: string,
  esim: SuppliedEsim,
): Promise<CancelOutcome> {
  const supplied = deps.suppliers.get(name)
  if (supplied === undefined) return { kind: 'unknown', words: `supplier ${name} is not configured` }
  try {
    return withPlainWords(await supplied.supplier.cancel(esim))
  } catch (error) {
    return withPlainWords({ kind: 'unknown', words: error instanceof Error ? error.message : String(error) })
  }
}

interface Cancelled {
  orderId: string
  itemNo: number
  profileId: string
  attemptId?: string
}

/** Writes what a cancel led to; nothing is refunded unless the supplier has cancelled. May be repeated. */
export async function finishCancel(
  deps: Pick<Deps, 'db' | 'ids' | 'wake'>,
  tenantId: string,
  subject: Cancelled,
  outcome: CancelOutcome,
): Promise<void> {
  await deps.db.tx((tx) => writeCancel(tx, deps, tenantId, subject, outcome))
  deps.wake.wake('webhooks')
}

/**
 * What is definite settles every cancel of the eSIM that is still in question, whoever asked and learnt it.
 * Locks: the wallet where it is to be refunded, then the order.
 * @returns how many attempts got their outcome.
 */
export async function writeCancel(
  tx: Tx,
  deps: Pick<Deps, 'ids'>,
  tenantId: string,
  { orderId, itemNo, profileId, attemptId }: Cancelled,
  outcome: CancelOutcome,
): Promise<number> {
  const lock = outcome.kind === 'cancelled' ? lockWalletAndOrders : lockOrders
  const { orders, now } = await lock(tx, tenantId, [orderId])
  const attempts = await tx.query({
    text: `update supplier_attempts set finished_at = coalesce(finished_at, $5), outcome = $6, detail = $7
           where tenant_id = $1 and order_id = $2 and item_no = $3 and operation = 'CANCEL' and
             case when $6 = 'unknown' then attempt_id = $4 and outcome is null
             else outcome is null or outcome = 'unknown' end
           returning 1`,
    values: [
      tenantId,
      orderId,
      itemNo,
      attemptId ?? null,
      now,
      outcome.kind,
      'words' in outcome ? outcome.words : null,
    ],
  })
  if (outcome.kind === 'unknown') return attempts.length
  unwatch(tx, tenantId, { orderId, itemNo, purpose: 'CANCEL' })
  const order = orders.get(orderId)
  const profile = order?.profiles.find((candidate) => candidate.profileId === profileId)
  if (outcome.kind !== 'cancelled' || !order || !profile || profile.esimStatus === 'CANCEL') return attempts.length
  const item = order.items.find((candidate) => candidate.itemNo === itemNo)!
  profile.esimStatus = 'CANCEL'
  tx.send({
    text: `update profiles set esim_status = 'CANCEL', updated_at = $3 where tenant_id = $1 and profile_id = $2`,
    values: [tenantId, profileId, now],
  })
  const items = [{ itemNo, amount: item.price }]
  await refundItems(tx, tenantId, order, items, 'cancelled unused by the supplier')
  changeOrders(tx, deps, tenantId, [{ order, profilesChanged: true }], now)
  return attempts.length
}

export interface CancelSubject {
  supplier: string
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  profileId: string
  esim: SuppliedEsim
}

/** By profile, or by the item that it came for. */
export async function readForCancel(
  deps: { db: Db; cipher: FulfilmentDeps['cipher'] },
  tenantId: string,
  profile: string | { orderId: string; itemNo: number },
): Promise<CancelSubject | undefined> {
  const byId = typeof profile === 'string'
  const [row] = await deps.db.query<{
    profile_id: string
    order_id: string
    item_no: number
    supplier: string
    product_code: string
    iccid: string
    esim_status: EsimStatus
    smdp_status: SmdpStatus | null
    secrets: Buffer
  }>({
    text: `select p.profile_id, p.order_id, p.item_no, p.supplier, i.product_code, p.iccid, p.esim_status, p.smdp_status,
             p.secrets
           from profiles p join order_items i
             on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
           where p.tenant_id = $1 and ${byId ? 'p.profile_id = $2' : 'p.order_id = $2 and p.item_no = $3'}`,
    values: byId ? [tenantId, profile] : [tenantId, profile.orderId, profile.itemNo],
  })
  if (!row) return undefined
  return {
    supplier: row.supplier,
    esimStatus: row.esim_status,
    smdpStatus: row.smdp_status,
    profileId: row.profile_id,
    esim: {
      tenantId,
      orderId: row.order_id,
      itemNo: row.item_no,
      key: itemKeyOf(row.order_id, row.item_no),
      productCode: row.product_code,
      iccid: row.iccid,
      matchingId: openSecrets(deps.cipher, tenantId, row.secrets).matchingId,
      shown: true,
    },
  }
}
