import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Db, joinTransaction } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { LINE_LENGTH_MAX } from '#wallet/ledger/ledger-checks.ts'
import { TRANSFER_KINDS, type TransferKind } from '#wallet/ledger/post.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { csvFileName, entriesCsv, statementFileName } from '#wallet/statement/entries-csv.ts'
import { findIssuedStatement, getIssuedStatement } from '#wallet/statement/issue-statement.ts'
import { styleOf } from '#wallet/statement/statement-document.ts'
import {
  countEntries,
  getStatementPage,
  type StatementEntry,
  streamEntries,
} from '#wallet/statement/statement-entries.ts'
import {
  getMonthStatement,
  getMonthVersions,
  getWalletHistory,
  type MonthStatement,
} from '#wallet/statement/statement-month.ts'
import { createActorNaming } from '../kernel/actors.ts'
import { sendCsv } from '../kernel/csv-route.ts'
import { listRoutes } from '../kernel/list-routes.ts'
import { type Context, EVERY_ROLE, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, entryNo, line, money, nullable, tenantParams, time } from '../kernel/route-schemas.ts'

const wallet = Type.Object({
  currencyCode: Type.String(),
  balance: money(),
  creditLimit: money(),
  dailySpendLimit: nullable(money()),
  spentToday: money(),
  lowBalanceThreshold: nullable(money()),
  updatedAt: time(),
})
export type WalletView = Static<typeof wallet>

const kind = () => Type.Enum(TRANSFER_KINDS)
const entry = Type.Object({
  walletVersion: Type.Integer(),
  createdAt: time(),
  kind: kind(),
  amount: money(),
  balanceAfter: money(),
  orderNo: nullable(Type.String()),
  orderEntryNo: nullable(entryNo()),
  transactionId: nullable(Type.String()),
  keyLabel: nullable(Type.String({ description: 'Of the restricted key that placed the order; null: the own key' })),
  toppedUpProfileId: nullable(Type.String({ description: 'Of an order of kind TOPUP: the eSIM that it adds to' })),
  itemNo: nullable(Type.Integer()),
  reference: nullable(Type.String()),
  reason: nullable(Type.String()),
  actor: nullable(Type.String()),
})
export type WalletEntry = Static<typeof entry>

export const month = Type.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])$' })
const entryFilters = { month: Type.Optional(month), kind: Type.Optional(kind()) }
const monthSummary = Type.Object({
  month: Type.String(),
  opening: money(),
  closing: money(),
  complete: Type.Boolean(),
  isPrintable: Type.Boolean({ description: 'Its statement was issued' }),
  totals: Type.Array(Type.Object({ kind: Type.String(), count: Type.Integer(), amount: money() })),
})
export type MonthSummary = Static<typeof monthSummary>

export const walletRoutes: Route[] = [
  route('GET /tenants/:tenantId/wallet', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'Balance and limits',
    params: tenantParams,
    answer: wallet,
    async handle({ deps }, { params }) {
      return (await getWallet(deps.db, params.tenantId)).view
    },
  }),
  ...listRoutes({
    name: 'entries',
    path: '/tenants/:tenantId/wallet/entries',
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'Transfers with the balance after each, newest first, optionally of one month or kind',
    params: tenantParams,
    filters: entryFilters,
    row: entry,
    more: { month: nullable(monthSummary), wallet },
    sorts: { createdAt: 'INDEX' },
    firstSort: '-createdAt',
    async find(context, { month, kind }, { after, ascending, limit }, { tenantId }) {
      const { db } = context.deps
      const { statement, view, version } = await readBalance(db, tenantId, month)
      const { from, to } = statement?.versions ?? { from: 1n, to: version + 1n }
      const page = await getStatementPage(db, tenantId, {
        ...{ limit, ascending, kind },
        ...(after && { after: BigInt(after[0]!) }),
        within: { from, to: to > version ? version + 1n : to },
      })
      return {
        rows: await withNames(context, page.entries),
        next: page.next === null ? null : [String(page.next)],
        more: { month: statement && (await summaryOf(db, statement)), wallet: view },
      }
    },
    async count({ deps }, { month, kind }, { tenantId }) {
      const versions =
        month === undefined
          ? (await getWalletHistory(deps.db, tenantId)).versions
          : await getMonthVersions(deps.db, tenantId, month)
      return countEntries(deps.db, tenantId, versions, kind)
    },
  }),
  route('GET /tenants/:tenantId/wallet/entries.csv', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'Transfers as CSV, oldest first, optionally of one month or kind',
    params: tenantParams,
    query: Type.Object(entryFilters, CLOSED),
    answer: Type.String(),
    answerType: 'text/csv',
    async handle(context, { params: { tenantId }, query: { month, kind } }) {
      const { deps, reply } = context
      const [{ versions, currencyCode }, fileName] = await fileOf(deps.db, tenantId, month, kind)
      const entries = streamEntries(deps.db, tenantId, versions, kind)
      return sendCsv(reply, fileName, Readable.from(entriesCsv(pagesWithNames(context, entries), currencyCode)))
    },
  }),
  route('GET /tenants/:tenantId/wallet/statement', {
    access: EVERY_ROLE,
    summary: 'The statement that was issued for a month, as a page to print. It never changes',
    params: tenantParams,
    query: Type.Object({ month }, CLOSED),
    answer: Type.String(),
    answerType: 'text/html',
    async handle({ deps, reply }, { params, query }) {
      const { document } = await getIssuedStatement(deps.db, params.tenantId, query.month)
      const style = createHash('sha256').update(styleOf(document)).digest('base64')
      reply
        .type('text/html; charset=utf-8')
        .header(
          'Content-Security-Policy',
          `default-src 'none'; style-src 'sha256-${style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        )
      return document
    },
  }),
  route('POST /tenants/:tenantId/wallet/top-ups', {
    access: OPERATORS_WRITE,
    summary: 'Credit a payment, once per reference',
    params: tenantParams,
    body: Type.Object(
      {
        amount: money(),
        reference: line(LINE_LENGTH_MAX.reference),
        reason: Type.Optional(line(LINE_LENGTH_MAX.reason)),
      },
      CLOSED,
    ),
    answer: Type.Object({ balanceAfter: money(), replayed: Type.Boolean() }),
    async handle({ deps, by }, { params, body }) {
      const { amount, reference, reason } = body
      const input = { tenantId: params.tenantId, amount: BigInt(amount), reference, ...(reason && { reason }) }
      const { balanceAfter, replayed } = await topUp(deps, input, by)
      return { balanceAfter, replayed }
    },
  }),
]

/** The movements of a month, or all of them, and their file name. */
async function fileOf(db: Db, tenantId: string, month: string | undefined, kind: TransferKind | undefined) {
  if (month === undefined) {
    const history = await getWalletHistory(db, tenantId)
    return [history, csvFileName('wallet', history, ...(kind ? [kind.toLowerCase()] : []))] as const
  }
  const statement = await getMonthStatement(db, tenantId, month)
  return [statement, statementFileName(statement, kind)] as const
}

async function summaryOf(db: Db, statement: MonthStatement) {
  const { tenantId, month, opening, closing, complete, totals } = statement
  const isPrintable = (await findIssuedStatement(db, tenantId, month)) !== undefined
  return { month, opening, closing, complete, totals, isPrintable }
}

interface WalletRow {
  currencyCode: string
  balance: bigint
  creditLimit: bigint
  dailySpendLimit: bigint | null
  lowBalanceThreshold: bigint | null
  spentToday: bigint
  updatedAt: Date
}

/**
 * The wallet, and the month's statement if there is one, as of the same moment. Entries never change and have no gaps, so
 * those up to the wallet's version add up to its balance.
 */
async function readBalance(db: Db, tenantId: string, month: string | undefined) {
  if (month === undefined) return { statement: null, ...(await getWallet(db, tenantId)) }
  return db.tx(async (tx) => {
    const on = joinTransaction(db, tx)
    const statement = await getMonthStatement(on, tenantId, month) // locks the wallet
    return { statement, ...(await getWallet(on, tenantId)) }
  })
}

/** A wallet's row, and the version of its newest entry. */
async function getWallet(db: Db, tenantId: string): Promise<{ view: WalletRow; version: bigint }> {
  const [row] = await db.query<WalletRow & { version: bigint }>(sql`
    select currency_code, balance, credit_limit, daily_spend_limit, low_balance_threshold,
           case when spent_on = (now() at time zone 'utc')::date then spent else 0 end as spent_today,
           updated_at, version
    from wallets where tenant_id = ${tenantId}`)
  if (!row) throw notFound('tenant')
  const { version, ...view } = row
  return { view, version }
}

/** Replaces actors with names that the reader may see. */
async function withNames(context: Context, entries: StatementEntry[]): Promise<StatementEntry[]> {
  const nameOf = await createActorNaming(
    context,
    entries.map((row) => row.actor),
  )
  return entries.map((row) => ({ ...row, actor: nameOf(row.actor) }))
}

async function* pagesWithNames(
  context: Context,
  pages: AsyncIterable<StatementEntry[]>,
): AsyncGenerator<StatementEntry[]> {
  for await (const entries of pages) yield withNames(context, entries)
}
