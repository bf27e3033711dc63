import sql from 'sql-template-tag'
import { audit, type By } from '../../audit/audit.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Db, Tx } from '../../lib/postgres/db.ts'
import { notFound, Refusal, requireUuid } from '../../lib/refusal.ts'
import { ADJUSTMENT_COLUMNS, type Adjustment } from './adjustments.ts'
import { checkAmount, checkFits, checkLine } from './checks.ts'
import { lockTenantWallet } from './lock.ts'
import { alertLowBalance, lowBalanceStep } from './low-balance.ts'
import { post } from './post.ts'

/*
 * An adjustment moves money for which no payment and no order stands, so two people make it:
 *
 *   PROPOSED → APPROVED   by somebody else than the proposer; the transfer is posted in that transaction
 *   PROPOSED → REJECTED   by anybody, the proposer included (a withdrawal)
 *   PROPOSED → EXPIRED    after a week: an approval that comes later would rest on what nobody remembers
 *
 * All of it happens under the wallet's lock, taken before the proposal's row is read.
 */

interface AdjustDeps {
  db: Db
  ids: Ids
}

export interface AdjustmentWish {
  tenantId: string
  /** Negative: taken from the wallet. */
  amount: bigint
  /** Unique among the wallet's adjustments; free again once its proposal was rejected or expired. */
  reference: string
  reason: string
}

/**
 * Proposes an adjustment. The same reference with the same amount repeats the proposal that stands.
 * @throws Refusal for a reference used with another amount, for what is malformed, or for a tenant that is not there
 */
export async function proposeAdjustment(deps: AdjustDeps, wish: AdjustmentWish, by: By): Promise<Adjustment> {
  const reference = checkLine('reference', wish.reference)
  const reason = checkLine('reason', wish.reason)
  const amount = checkAmount(wish.amount, 'either')
  return deps.db.tx(async (tx) => {
    const { tenantId } = await lockTenantWallet(tx, wish.tenantId)
    const standing = await findStanding(tx, tenantId, reference)
    if (standing) {
      if (standing.amount === amount) return standing
      throw referenceUsed(reference, standing.amount)
    }
    const adjustmentId = deps.ids.uuid()
    const [row] = await tx.query<Adjustment>(sql`
      insert into wallet_adjustments (tenant_id, adjustment_id, amount, reference, reason, proposed_by,
                                      created_at, expires_at)
      values (${tenantId}, ${adjustmentId}, ${amount}, ${reference}, ${reason}, ${by.actor},
              clock_timestamp(), clock_timestamp() + interval '7 days')
      returning ${ADJUSTMENT_COLUMNS}`)
    const after = { amount, reference, reason }
    audit(tx, deps.ids, { tenantId, subject: adjustmentId, action: 'wallet.propose_adjustment', after, ...by })
    return row!
  })
}

/**
 * Approves a proposal and posts its transfer. Adjustments always post, whatever the limits. Approved before by the same
 * person: the same answer again.
 * @throws Refusal for the proposer, for a proposal that no longer stands, or for one that is not there
 */
export async function approveAdjustment(
  deps: AdjustDeps,
  tenantId: string,
  adjustmentId: string,
  by: By,
): Promise<Adjustment> {
  return deps.db.tx(async (tx) => {
    const wallet = await lockTenantWallet(tx, tenantId)
    const proposal = await find(tx, tenantId, adjustmentId)
    if (proposal.status === 'APPROVED' && proposal.decidedBy === by.actor) return proposal
    requireStanding(proposal)
    if (proposal.proposedBy === by.actor) {
      throw new Refusal(
        409,
        'SECOND_PERSON_NEEDED',
        'Whoever proposed an adjustment cannot approve it. Ask somebody else.',
      )
    }
    const { amount, reference, reason } = proposal
    checkFits(wallet, amount)
    const [posted] = await post(tx, wallet, [{ kind: 'ADJUSTMENT', amount, reference, reason, actor: by.actor }])
    const balance = posted!.balanceAfter
    const step = lowBalanceStep(balance, wallet.lowBalanceThreshold)
    alertLowBalance(tx, deps.ids, { ...wallet, balance, step, stepBefore: wallet.lowBalanceStep })
    const [row] = await tx.query<Adjustment>(sql`
      update wallet_adjustments
      set adjustment_status = 'APPROVED', decided_by = ${by.actor}, decided_at = ${posted!.createdAt},
          wallet_version = ${posted!.walletVersion}
      where tenant_id = ${tenantId} and adjustment_id = ${adjustmentId}
      returning ${ADJUSTMENT_COLUMNS}`)
    audit(tx, deps.ids, {
      tenantId,
      subject: adjustmentId,
      action: 'wallet.approve_adjustment',
      before: { balance: wallet.balance },
      after: { balance, amount, reference, proposedBy: proposal.proposedBy },
      ...by,
    })
    return row!
  })
}

/**
 * Rejects a proposal; its proposer may, to withdraw it. Rejected before: the same answer again.
 * @throws Refusal for a proposal that no longer stands, or for one that is not there
 */
export async function rejectAdjustment(
  deps: AdjustDeps,
  tenantId: string,
  adjustmentId: string,
  by: By,
): Promise<Adjustment> {
  return deps.db.tx(async (tx) => {
    await lockTenantWallet(tx, tenantId)
    const proposal = await find(tx, tenantId, adjustmentId)
    if (proposal.status === 'REJECTED') return proposal
    requireStanding(proposal)
    const [row] = await tx.query<Adjustment>(sql`
      update wallet_adjustments
      set adjustment_status = 'REJECTED', decided_by = ${by.actor}, decided_at = clock_timestamp()
      where tenant_id = ${tenantId} and adjustment_id = ${adjustmentId}
      returning ${ADJUSTMENT_COLUMNS}`)
    const after = { amount: proposal.amount, reference: proposal.reference }
    audit(tx, deps.ids, { tenantId, subject: adjustmentId, action: 'wallet.reject_adjustment', after, ...by })
    return row!
  })
}

/** What stands under a reference. A proposal that has run out gives its reference back here, where it is asked for. */
async function findStanding(tx: Tx, tenantId: string, reference: string): Promise<Adjustment | undefined> {
  tx.send(sql`
    update wallet_adjustments set adjustment_status = 'EXPIRED'
    where tenant_id = ${tenantId} and reference = ${reference}
      and adjustment_status = 'PROPOSED' and expires_at <= clock_timestamp()`)
  const [row] = await tx.query<Adjustment>(sql`
    select ${ADJUSTMENT_COLUMNS} from wallet_adjustments
    where tenant_id = ${tenantId} and reference = ${reference} and adjustment_status in ('PROPOSED', 'APPROVED')`)
  return row
}

async function find(tx: Tx, tenantId: string, adjustmentId: string): Promise<Adjustment> {
  const [row] = await tx.query<Adjustment>(sql`
    select ${ADJUSTMENT_COLUMNS} from wallet_adjustments
    where tenant_id = ${tenantId} and adjustment_id = ${requireUuid(adjustmentId, 'adjustment')} for update`)
  if (!row) throw notFound('adjustment')
  return row
}

function requireStanding(proposal: Adjustment): void {
  if (proposal.status === 'PROPOSED') return
  const what = { APPROVED: 'was approved', REJECTED: 'was rejected', EXPIRED: 'has expired' }[proposal.status]
  throw new Refusal(
    409,
    'ADJUSTMENT_DECIDED',
    `This adjustment ${what}. Nothing was changed; propose a new one if needed.`,
    {
      status: proposal.status,
    },
  )
}

function referenceUsed(reference: string, amount: bigint): Refusal {
  return new Refusal(
    409,
    'REFERENCE_USED',
    `The reference ${reference} belongs to an adjustment of another amount. Nothing was changed; take a new reference.`,
    { amount },
  )
}
