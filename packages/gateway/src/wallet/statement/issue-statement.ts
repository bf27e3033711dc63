import { orderNoOf } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { lockTenantWallet, touchWallet } from '../ledger/lock-wallets.ts'
import { getOperatorDetails } from './operator-details.ts'
import { type DealerDetails, statementDocument } from './statement-document.ts'
import { type MonthStatement, monthBounds, readMonth } from './statement-month.ts'

export interface IssuedStatement {
  statementNo: string
  month: string
  issuedAt: Date
  /** A complete HTML page. */
  document: string
}

/**
 * The printable statement of a month that is over. The first call issues it, usually that of the loop: it gets its number,
 * and its document is stored. Later calls return the stored document, byte for byte, whatever has changed since.
 *
 * The wallet's time is moved past the end of the month, under its lock, so that every later movement belongs to a later month
 * even if the database's clock is set back.
 * @throws Refusal if the month is malformed, not over, or before the dealer's account
 */
export async function getIssuedStatement(
  deps: { db: Db; ids: Ids },
  tenantId: string,
  month: string,
  by: By,
): Promise<IssuedStatement & { isNew: boolean }> {
  const { to } = monthBounds(month)
  const issued = await findIssuedStatement(deps.db, tenantId, month)
  if (issued) return { ...issued, isNew: false }
  const statement = await deps.db.tx(async (tx) => {
    const wallet = await lockTenantWallet(tx, tenantId)
    const earlier = await findIssuedStatement(tx, wallet.tenantId, month)
    if (earlier) return { ...earlier, isNew: false }
    const dealer = await getDealer(tx, wallet.tenantId)
    if (dealer.createdAt >= to) throw notIssued(`The account did not exist in ${month}. Choose a later month.`)
    const operator = await getOperatorDetails(tx)
    if (operator.legalName === null)
      throw notIssued(
        'The operator has not entered its legal name yet, which every statement shows. An operator’s administrator can, under Payments and statements.',
      )
    touchWallet(tx, wallet)
    const issuedAt = await getWalletTime(tx, wallet.tenantId)
    if (issuedAt < to) throw notIssued(`${month} is not over. Its statement can be issued once it is, in UTC.`)
    const statement = await readMonth(tx, wallet.tenantId, month)
    const statementNo = `${dealerCodeOf(wallet.tenantId)}-${month}`
    const document = statementDocument({ statementNo, issuedAt, operator, dealer, statement })
    tx.send(sql`
      insert into issued_statements (tenant_id, month, statement_no, document, issued_at)
      values (${wallet.tenantId}, ${month}, ${statementNo}, ${document}, ${issuedAt})`)
    const after = { month, closing: statement.closing }
    audit(tx, deps.ids, { tenantId: wallet.tenantId, subject: statementNo, action: 'statement.issue', after, ...by })
    await failpoint('statement.written')
    return { statementNo, month, issuedAt, document, isNew: true }
  })
  await failpoint('statement.committed')
  return statement
}

/** Checks that a month's statement was issued, or can be now. */
export async function isStatementAvailable(
  db: Pick<Db, 'query'>,
  { tenantId, month, complete }: Pick<MonthStatement, 'tenantId' | 'month' | 'complete'>,
): Promise<boolean> {
  if (!complete) return false
  if (await findIssuedStatement(db, tenantId, month)) return true
  const { to } = monthBounds(month)
  const existed = await db.query(sql`select from tenants where tenant_id = ${tenantId} and created_at < ${to}`)
  return existed.length > 0 && (await getOperatorDetails(db)).legalName !== null
}

/** The dealer's part of statement numbers: the random end of its id, in the letters of order numbers. */
export function dealerCodeOf(tenantId: string): string {
  return orderNoOf(tenantId).slice(-DEALER_CODE_LENGTH)
}

/** 50 bits: among 100 000 dealers two codes are equal with a probability of 1 in 200 000. */
const DEALER_CODE_LENGTH = 10

export async function findIssuedStatement(
  db: Pick<Db | Tx, 'query'>,
  tenantId: string,
  month: string,
): Promise<IssuedStatement | undefined> {
  const [row] = await db.query<IssuedStatement>(sql`
    select statement_no, month, issued_at, document from issued_statements
    where tenant_id = ${tenantId} and month = ${month}`)
  return row
}

/** The time of the wallet's latest movement. Later movements are never older. */
async function getWalletTime(tx: Tx, tenantId: string): Promise<Date> {
  const [row] = await tx.query<{ updatedAt: Date }>(sql`select updated_at from wallets where tenant_id = ${tenantId}`)
  return row!.updatedAt
}

async function getDealer(tx: Tx, tenantId: string): Promise<DealerDetails & { createdAt: Date }> {
  const [row] = await tx.query<DealerDetails & { createdAt: Date }>(sql`
    select tenant_name as client_name, legal_name, tax_id, billing_address as address, created_at
    from tenants where tenant_id = ${tenantId}`)
  return row!
}

function notIssued(message: string): Refusal {
  return new Refusal(409, 'STATEMENT_NOT_ISSUED', message)
}
