import {
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
import { answerEntries } from './answer-entries.ts'
import { getStatementPage } from './statement-entries.ts'
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
  return {
    entryList: await answerEntries(deps.db, tenantId, wallet.currencyCode, entries),
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

const TRANSFER_KIND_OF: Record<StatementKind, TransferKind> = {
  ORDER: 'ORDER',
  TOPUP: 'ESIM_TOPUP',
  REFUND: 'REFUND',
  WALLET_TOPUP: 'TOP_UP',
  ADJUSTMENT: 'ADJUSTMENT',
}
