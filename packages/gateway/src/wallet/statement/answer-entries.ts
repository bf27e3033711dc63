import {
  formatTime,
  orderNoOf,
  type StatementEntry as StatementAnswerEntry,
  type StatementKind,
} from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import type { TransferKind } from '../ledger/post.ts'
import type { HashedEntry, StatementEntry } from './statement-entries.ts'

/** Movements of a wallet as `account/statement` answers them. The ledger's tree hashes the same members. */
export async function answerEntries(
  db: Pick<Db, 'query'>,
  tenantId: string,
  currencyCode: string,
  entries: readonly (HashedEntry & Partial<Pick<StatementEntry, 'keyLabel'>>)[],
): Promise<StatementAnswerEntry[]> {
  const esims = await findRefundedEsims(db, tenantId, entries)
  return entries.map((entry) => ({
    entryNo: String(entry.walletVersion),
    kind: STATEMENT_KIND_OF[entry.kind],
    amount: Number(entry.amount),
    balanceAfter: Number(entry.balanceAfter),
    currencyCode,
    orderNo: entry.orderNo,
    transactionId: entry.transactionId,
    esimTranNo: entry.toppedUpProfileId ?? esims.get(entry.walletVersion)?.profileId ?? null,
    actionNo: actionNoOf(esims.get(entry.walletVersion)),
    reference: entry.reference,
    keyLabel: entry.keyLabel ?? null,
    createTime: formatTime(entry.createdAt),
  }))
}

interface RefundedEsim {
  profileId: string
  /** null: it was not cancelled by an action. */
  actionId: string | null
}

function actionNoOf(esim: RefundedEsim | undefined): string | null {
  return esim?.actionId == null ? null : orderNoOf(esim.actionId)
}

/**
 * The eSIMs of refunds, with the actions that cancelled them, by entry. Refunds of undelivered items and of top-ups have
 * none.
 */
async function findRefundedEsims(
  db: Pick<Db, 'query'>,
  tenantId: string,
  entries: readonly HashedEntry[],
): Promise<Map<bigint, RefundedEsim>> {
  const refunds = entries.filter((entry) => entry.itemNo !== null && entry.toppedUpProfileId === null)
  const versions = refunds.map((entry) => entry.walletVersion)
  if (versions.length === 0) return new Map()
  const rows = await db.query<RefundedEsim & { walletVersion: bigint }>(sql`
    select t.wallet_version, p.profile_id, (
      select a.action_id from esim_actions a
      where a.tenant_id = ${tenantId} and a.profile_id = p.profile_id and a.action = 'CANCEL' and a.action_status = 'DONE'
      limit 1) as action_id
    from transfers t join profiles p using (tenant_id, order_id, item_no)
    where t.tenant_id = ${tenantId} and t.wallet_version = any (${versions.map(String)}::bigint[])`)
  return new Map(rows.map((row) => [row.walletVersion, row]))
}

const STATEMENT_KIND_OF: Record<TransferKind, StatementKind> = {
  ORDER: 'ORDER',
  ESIM_TOPUP: 'TOPUP',
  REFUND: 'REFUND',
  TOP_UP: 'WALLET_TOPUP',
  ADJUSTMENT: 'ADJUSTMENT',
}
