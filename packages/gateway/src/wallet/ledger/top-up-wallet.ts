import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { checkAmount, checkFits, checkLine, checkWhole } from './ledger-checks.ts'
import { type LockedWallet, lockTenantWallet } from './lock-wallets.ts'
import { type Posted, post } from './post.ts'

export interface TopUp {
  tenantId: string
  amount: bigint
  /** The payment's reference. Unique among all of the wallet's top-ups. */
  reference: string
  reason?: string
}

export interface TopUpAnswer extends Posted {
  tenantId: string
  amount: bigint
  currencyCode: string
  reference: string
  /** The reference had already been posted: this is the first answer, and nothing new was posted. */
  replayed: boolean
}

/**
 * Credits a payment once per reference, regardless of the wallet's limits. The same reference with the same amount gets the
 * first answer, so a caller that lost it can repeat the call.
 * @throws Refusal if the reference was used with a different amount, the input is malformed, or the tenant does not exist
 */
export async function topUp(deps: { db: Db; ids: Ids }, topUp: TopUp, by: By): Promise<TopUpAnswer> {
  const reference = checkLine('reference', topUp.reference)
  const reason = topUp.reason === undefined ? undefined : checkLine('reason', topUp.reason)
  const amount = checkAmount(topUp.amount, 'positive')
  return deps.db.tx(async (tx) => {
    const wallet = await lockTenantWallet(tx, topUp.tenantId)
    const posted = await postTopUp(tx, deps.ids, wallet, { amount, reference, ...(reason && { reason }) }, by)
    return { tenantId: wallet.tenantId, amount, currencyCode: wallet.currencyCode, reference, ...posted }
  })
}

/** Posts a top-up in a transaction that has locked the wallet. The input is already checked. */
export async function postTopUp(
  tx: Tx,
  ids: Ids,
  wallet: LockedWallet,
  { amount, reference, reason }: Omit<TopUp, 'tenantId'>,
  by: By,
): Promise<Posted & { replayed: boolean }> {
  const earlier = await findTopUp(tx, wallet, { amount, reference })
  if (earlier) return { ...earlier, replayed: true }
  checkWhole(amount, wallet.currencyCode)
  await checkFits(tx, wallet, amount)
  const posting = { kind: 'TOP_UP' as const, amount, reference, actor: by.actor, ...(reason ? { reason } : {}) }
  const [posted] = await post(tx, wallet, [posting])
  audit(tx, ids, {
    tenantId: wallet.tenantId,
    subject: reference,
    action: 'wallet.top_up',
    before: { balance: wallet.balance },
    after: { balance: posted!.balanceAfter, amount, reference, reason },
    ...by,
  })
  return { ...posted!, replayed: false }
}

/**
 * Finds the posted top-up for a reference. Reads after the wallet was locked, so one of several concurrent calls posts and
 * the others find its transfer.
 * @throws Refusal if it has a different amount
 */
export async function findTopUp(
  tx: Tx,
  wallet: LockedWallet,
  { amount, reference }: Pick<TopUp, 'amount' | 'reference'>,
): Promise<Posted | undefined> {
  const [row] = await tx.query<Posted & { amount: bigint }>(sql`
    select amount, wallet_version, balance_after, created_at from transfers
    where tenant_id = ${wallet.tenantId} and kind = 'TOP_UP' and reference = ${reference}`)
  if (!row) return undefined
  if (row.amount !== amount) {
    throw new Refusal(
      409,
      'REFERENCE_USED',
      `The reference ${reference} was used for a top-up with a different amount. Nothing was posted; use the reference of this payment.`,
      { amount: row.amount },
    )
  }
  const { amount: _, ...posted } = row
  return posted
}
