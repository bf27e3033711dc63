import {
  formatTime,
  orderNoOf,
  PAGE_SIZE_DEFAULT,
  parseTime,
  type StatementAnswer,
  type StatementKind,
  type StatementRequest,
} from '@dealer-esim/contract'
import { type CursorScope, createCursor, readCursor } from '@dealer-esim/lib/cursor.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import type { TransferKind } from '../ledger/post.ts'
import { getStatementPage, type StatementEntry } from './statement-entries.ts'
import { firstVersionAt } from './statement-month.ts'

/** Lists one page of `account/statement`, newest first. Entries never change, so pages are contiguous. */
export async function listStatement(
  deps: { db: Pick<Db, 'query'>; linkKey: Buffer },
  tenantId: string,
  request: StatementRequest,
): Promise<StatementAnswer> {
  const { cursor, pageSize, ...filters } = request
  const scope: CursorScope = { list: 'account/statement', tenantId, filters }
  const before = cursor == null ? undefined : BigInt(readCursor(deps.linkKey, scope, cursor)[0]!)
  const wallet = await getWallet(deps.db, tenantId)
  const [from, to] = await Promise.all([
    firstVersionAtTime(deps.db, tenantId, wallet.version, request.startTime, 1n),
    firstVersionAtTime(deps.db, tenantId, wallet.version, request.endTime, wallet.version + 1n),
  ])
  const { entries, next } = await getStatementPage(deps.db, tenantId, {
    limit: pageSize ?? PAGE_SIZE_DEFAULT,
    within: { from, to },
    ...(before !== undefined && { after: before }),
    ...(request.kind != null && { kind: TRANSFER_KIND_OF[request.kind] }),
  })
  const esims = await findRefundedEsims(deps.db, tenantId, entries)
  return {
    entryList: entries.map((entry) => ({
      entryNo: String(entry.walletVersion),
      kind: STATEMENT_KIND_OF[entry.kind],
      amount: Number(entry.amount),
      balanceAfter: Number(entry.balanceAfter),
      currencyCode: wallet.currencyCode,
      orderNo: entry.orderNo,
      transactionId: entry.transactionId,
      esimTranNo: entry.toppedUpProfileId ?? esims.get(entry.walletVersion)?.profileId ?? null,
      actionNo: actionNoOf(esims.get(entry.walletVersion)),
      reference: entry.reference,
      keyLabel: entry.keyLabel,
      createTime: formatTime(entry.createdAt),
    })),
    nextCursor: next === null ? null : createCursor(deps.linkKey, scope, [String(next)]),
  }
}

async function getWallet(db: Pick<Db, 'query'>, tenantId: string): Promise<{ version: bigint; currencyCode: string }> {
  const [wallet] = await db.query<{ version: bigint; currencyCode: string }>(sql`
    select version, currency_code from wallets where tenant_id = ${tenantId}`)
  if (!wallet) throw new Error(`tenant ${tenantId} has no wallet`)
  return wallet
}

function firstVersionAtTime(
  db: Pick<Db, 'query'>,
  tenantId: string,
  last: bigint,
  time: string | undefined,
  otherwise: bigint,
): bigint | Promise<bigint> {
  return time == null ? otherwise : firstVersionAt(db, tenantId, last, parseTime(time))
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
  entries: readonly StatementEntry[],
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
const TRANSFER_KIND_OF: Record<StatementKind, TransferKind> = {
  ORDER: 'ORDER',
  TOPUP: 'ESIM_TOPUP',
  REFUND: 'REFUND',
  WALLET_TOPUP: 'TOP_UP',
  ADJUSTMENT: 'ADJUSTMENT',
}
