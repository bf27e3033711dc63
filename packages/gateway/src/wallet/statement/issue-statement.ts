import { orderNoOf } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { notFound, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { findCheckpoint } from '../books/checkpoints.ts'
import { lockTenantWallet, touchWallet } from '../ledger/lock-wallets.ts'
import { getOperatorDetails } from './operator-details.ts'
import { type DealerDetails, statementDocument } from './statement-document.ts'
import { monthBounds, readMonth } from './statement-month.ts'

export interface IssuedStatement {
  statementNo: string
  month: string
  issuedAt: Date
  /** A complete HTML page. */
  document: string
}

/**
 * Issues the printable statement of a month that has ended, for the loop: assigns its number and stores its document. Later
 * calls return the stored document, byte for byte, whatever has changed since.
 * The wallet's time is moved past the end of the month, under its lock, so that every later movement belongs to a later
 * month even if the database's clock is set back.
 * @throws Refusal if the month is malformed, has not ended, or is before the dealer's account
 */
export async function issueStatement(
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
    const operator = await getOperatorDetails(tx)
    checkIssuable({ month, to, createdAt: dealer.createdAt, legalName: operator.legalName })
    touchWallet(tx, wallet)
    const issuedAt = await getWalletTime(tx, wallet.tenantId)
    if (issuedAt < to) throw notOver(month)
    const statement = await readMonth(tx, wallet.tenantId, month)
    const statementNo = `${dealerCodeOf(wallet.tenantId)}-${month}`
    const checkpoint = await findCheckpoint(tx, wallet.tenantId, Number(statement.versions.to - 1n))
    const document = statementDocument({ statementNo, issuedAt, operator, dealer, statement, note: checkpoint?.note })
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

/**
 * Reads an issued statement. Only the loop issues statements: opening a page must not write one.
 * @throws Refusal that says why the month has no statement yet, or if the month is malformed or the tenant does not exist
 */
export async function getIssuedStatement(
  db: Pick<Db, 'query'>,
  tenantId: string,
  month: string,
): Promise<IssuedStatement> {
  const { to } = monthBounds(month)
  const id = requireUuid(tenantId, 'tenant')
  const issued = await findIssuedStatement(db, id, month)
  if (issued) return issued
  const [dealer] = await db.query<{ createdAt: Date; now: Date }>(sql`
    select created_at, clock_timestamp() as now from tenants where tenant_id = ${id}`)
  if (!dealer) throw notFound('tenant')
  if (dealer.now < to) throw notOver(month)
  const { legalName } = await getOperatorDetails(db)
  checkIssuable({ month, to, createdAt: dealer.createdAt, legalName })
  throw notIssued(`The statement of ${month} is being issued. Open it again in a minute.`)
}

function checkIssuable(input: { month: string; to: Date; createdAt: Date; legalName: string | null }): void {
  const { month, to, createdAt, legalName } = input
  if (createdAt >= to) throw notIssued(`The account did not exist in ${month}. Choose a later month.`)
  if (legalName === null)
    throw notIssued(
      'The operator has not yet entered its legal name, which every statement shows. An operator’s administrator can enter it under Payments and statements.',
    )
}

function notOver(month: string): Refusal {
  return notIssued(`${month} is not over yet. Its statement will be issued once it is over (UTC).`)
}

/** The dealer's part of statement numbers: the random end of its id, in the alphabet of order numbers. */
export function dealerCodeOf(tenantId: string): string {
  return orderNoOf(tenantId).slice(-DEALER_CODE_LENGTH)
}

/** 50 bits: among 100 000 dealers, two have the same code with a probability of 1 in 200 000. */
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
