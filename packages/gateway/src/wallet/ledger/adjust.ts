import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { ADJUSTMENT_COLUMNS, type Adjustment } from './adjustment.ts'
import { lowBalancePercent, reportLowBalance } from './balance.ts'
import {
  checkAmount,
  checkFits,
  checkLine,
  checkWhole,
  FIRST_PERSON_DAYS,
  requireSecondPerson,
} from './ledger-checks.ts'
import { lockTenantWallet } from './lock-wallets.ts'
import { post } from './post.ts'

interface AdjustDeps {
  db: Db
  ids: Ids
}

export interface AdjustmentInput {
  tenantId: string
  /** Negative: debited from the wallet. */
  amount: bigint
  /** Unique among the wallet's adjustments. It can be used again after its proposal was rejected or has expired. */
  reference: string
  reason: string
}

/**
 * Proposes an adjustment. If the reference already has an active adjustment of the same amount, that one is returned.
 * @throws Refusal if the reference was used with a different amount, the input is malformed, or the tenant does not exist
 */
export async function proposeAdjustment(deps: AdjustDeps, input: AdjustmentInput, by: By): Promise<Adjustment> {
  const reference = checkLine('reference', input.reference)
  const reason = checkLine('reason', input.reason)
  const amount = checkAmount(input.amount, 'either')
  return deps.db.tx(async (tx) => {
    const { tenantId, currencyCode } = await lockTenantWallet(tx, input.tenantId)
    const active = await findActive(tx, tenantId, reference)
    if (active) {
      if (active.amount === amount) return active
      throw referenceUsed(reference, active.amount)
    }
    checkWhole(amount, currencyCode)
    const adjustmentId = deps.ids.uuid()
    const [row] = await tx.query<Adjustment>(sql`
      insert into wallet_adjustments (tenant_id, adjustment_id, amount, reference, reason, proposed_by,
                                      created_at, expires_at)
      values (${tenantId}, ${adjustmentId}, ${amount}, ${reference}, ${reason}, ${by.actor},
              clock_timestamp(), clock_timestamp() + ${FIRST_PERSON_DAYS} * interval '1 day')
      returning ${ADJUSTMENT_COLUMNS}`)
    const after = { amount, reference, reason }
    audit(tx, deps.ids, { tenantId, subject: adjustmentId, action: 'wallet.propose_adjustment', after, ...by })
    return row!
  })
}

/**
 * Approves a proposal and posts its transfer, regardless of the wallet's limits. If the same person has already approved
 * it, the adjustment is returned unchanged.
 * @throws Refusal if the person is its proposer, or if the proposal was rejected, has expired or does not exist
 */
export async function approveAdjustment(
  deps: AdjustDeps,
  tenantId: string,
  adjustmentId: string,
  by: By,
): Promise<Adjustment> {
  return deps.db.tx(async (tx) => {
    const wallet = await lockTenantWallet(tx, tenantId)
    const proposal = await getAdjustment(tx, tenantId, adjustmentId)
    if (proposal.status === 'APPROVED' && proposal.decidedBy === by.actor) return proposal
    requireProposed(proposal)
    requireSecondPerson(proposal.proposedBy, by, 'You cannot approve an adjustment that you proposed.')
    const { amount, reference, reason } = proposal
    await checkFits(tx, wallet, amount)
    const [posted] = await post(tx, wallet, [{ kind: 'ADJUSTMENT', amount, reference, reason, actor: by.actor }])
    const balance = posted!.balanceAfter
    const percent = lowBalancePercent(balance, wallet.lowBalanceThreshold)
    const updatedAt = posted!.createdAt
    const percentBefore = wallet.lowBalanceAlertedPercent
    reportLowBalance(tx, deps.ids, { ...wallet, balance, updatedAt, percent, percentBefore })
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
 * Rejects a proposal; the proposer rejects it to withdraw it. If it was already rejected, it is returned unchanged.
 * @throws Refusal if the proposal was approved, has expired or does not exist
 */
export async function rejectAdjustment(
  deps: AdjustDeps,
  tenantId: string,
  adjustmentId: string,
  by: By,
): Promise<Adjustment> {
  return deps.db.tx(async (tx) => {
    await lockTenantWallet(tx, tenantId)
    const proposal = await getAdjustment(tx, tenantId, adjustmentId)
    if (proposal.status === 'REJECTED') return proposal
    requireProposed(proposal)
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

/** Finds the proposed or approved adjustment with a reference. The reference of an expired proposal is released here. */
async function findActive(tx: Tx, tenantId: string, reference: string): Promise<Adjustment | undefined> {
  tx.send(sql`
    update wallet_adjustments set adjustment_status = 'EXPIRED'
    where tenant_id = ${tenantId} and reference = ${reference}
      and adjustment_status = 'PROPOSED' and expires_at <= clock_timestamp()`)
  const [row] = await tx.query<Adjustment>(sql`
    select ${ADJUSTMENT_COLUMNS} from wallet_adjustments
    where tenant_id = ${tenantId} and reference = ${reference} and adjustment_status in ('PROPOSED', 'APPROVED')`)
  return row
}

async function getAdjustment(tx: Tx, tenantId: string, adjustmentId: string): Promise<Adjustment> {
  const [row] = await tx.query<Adjustment>(sql`
    select ${ADJUSTMENT_COLUMNS} from wallet_adjustments
    where tenant_id = ${tenantId} and adjustment_id = ${requireUuid(adjustmentId, 'adjustment')} for update`)
  if (!row) throw notFound('adjustment')
  return row
}

function requireProposed(proposal: Adjustment): void {
  if (proposal.status === 'PROPOSED') return
  const happened = {
    APPROVED: 'has already been approved',
    REJECTED: 'has already been rejected',
    EXPIRED: 'has expired',
  }[proposal.status]
  throw new Refusal(
    409,
    'ADJUSTMENT_DECIDED',
    `This adjustment ${happened}. Nothing was changed; propose a new one if needed.`,
    {
      status: proposal.status,
    },
  )
}

function referenceUsed(reference: string, amount: bigint): Refusal {
  return new Refusal(
    409,
    'REFERENCE_USED',
    `The reference ${reference} belongs to an adjustment with a different amount. Nothing was changed; use a new reference.`,
    { amount },
  )
}
