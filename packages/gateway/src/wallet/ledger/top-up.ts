import sql from 'sql-template-tag'
import { audit, type By } from '../../audit/audit.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Db, Tx } from '../../lib/postgres/db.ts'
import { Refusal } from '../../lib/refusal.ts'
import { checkAmount, checkFits, checkLine } from './checks.ts'
import { type LockedWallet, lockTenantWallet } from './lock.ts'
import { type Posted, post } from './post.ts'

export interface TopUp {
  tenantId: string
  amount: bigint
  /** Of the payment: unique among the wallet's top-ups, for ever. */
  reference: string
  reason?: string
}

export interface TopUpAnswer extends Posted {
  tenantId: string
  amount: bigint
  currencyCode: string
  reference: string
  /** The reference was posted before: this is the first answer again, and nothing was posted now. */
  replayed: boolean
}

/**
 * Credits a payment, once per reference: the same reference with the same amount repeats the first answer, so a caller
 * that lost it asks again. Top-ups always post, whatever the limits.
 * @throws Refusal for a reference used with another amount, for what is malformed, or for a tenant that is not there
 */
export async function topUp(deps: { db: Db; ids: Ids }, topUp: TopUp, by: By): Promise<TopUpAnswer> {
  const reference = checkLine('reference', topUp.reference)
  const reason = topUp.reason === undefined ? undefined : checkLine('reason', topUp.reason)
  const amount = checkAmount(topUp.amount, 'positive')
  return deps.db.tx(async (tx) => {
    const wallet = await lockTenantWallet(tx, topUp.tenantId)
    const answer = { tenantId: wallet.tenantId, amount, currencyCode: wallet.currencyCode, reference }
    const earlier = await postedBefore(tx, wallet, reference, amount)
    if (earlier) return { ...answer, ...earlier, replayed: true }
    checkFits(wallet, amount)
    const posting = { kind: 'TOP_UP' as const, amount, reference, actor: by.actor, ...(reason ? { reason } : {}) }
    const [posted] = await post(tx, wallet, [posting])
    audit(tx, deps.ids, {
      tenantId: wallet.tenantId,
      subject: reference,
      action: 'wallet.top_up',
      before: { balance: wallet.balance },
      after: { balance: posted!.balanceAfter, amount, reference, reason },
      ...by,
    })
    return { ...answer, ...posted!, replayed: false }
  })
}

/** Read after the wallet's lock was taken, so that of calls at the same time one posts and the others find it. */
async function postedBefore(
  tx: Tx,
  wallet: LockedWallet,
  reference: string,
  amount: bigint,
): Promise<Posted | undefined> {
  const [row] = await tx.query<{ amount: bigint; walletVersion: bigint; balanceAfter: bigint; createdAt: Date }>(sql`
    select amount, wallet_version, balance_after, created_at from transfers
    where tenant_id = ${wallet.tenantId} and kind = 'TOP_UP' and reference = ${reference}`)
  if (!row) return undefined
  if (row.amount !== amount) {
    throw new Refusal(
      409,
      'REFERENCE_USED',
      `The reference ${reference} was used for a top-up of another amount. Nothing was posted; take the reference of this payment.`,
      { amount: row.amount },
    )
  }
  return { walletVersion: row.walletVersion, balanceAfter: row.balanceAfter, createdAt: row.createdAt }
}
