import { formatMoney } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { getTenantId } from '#tenants/tenant-views.ts'
import { TRANSFER_KINDS, type TransferKind } from '#wallet/ledger/post.ts'
import { entriesCsv } from '#wallet/statement/entries-csv.ts'
import { getStatementPage, type StatementEntry, streamEntries } from '#wallet/statement/statement-entries.ts'
import { getMonthStatement, type MonthStatement } from '#wallet/statement/statement-month.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { writeOutput } from '../kernel/cli-files.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseWholeNumber } from '../kernel/parse-options.ts'
import { fields, table, timeText } from '../kernel/text-table.ts'

interface StatementOptions {
  month?: string
  entries?: boolean
  csv?: boolean
  kind?: string
  limit: string
  before?: string
}

export function statementCommand(wallet: Command, context: AdminContext): void {
  wallet
    .command('statement <tenant-id>')
    .description(
      'Show the latest movements, newest first; with --month, the statement of a UTC month: opening balance, totals by kind, closing balance.',
    )
    .option('--month <month>', 'such as 2026-11')
    .option('--entries', 'with --month: also its movements, oldest first')
    .option('--csv', 'with --month: its movements as CSV')
    .option('--kind <kind>', `one of ${TRANSFER_KINDS.join(', ')}`)
    .option('--limit <n>', 'without --month: how many movements at most', '50')
    .option('--before <version>', 'without --month: only movements before this version')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- wallet statement ID --month 2026-11 --csv > 2026-11.csv')
    .action(async (tenantId: string, options: StatementOptions) => {
      if (options.month === undefined && (options.csv || options.entries)) {
        throw new UsageError('Add --month, such as --month 2026-11: --csv and --entries need a month.')
      }
      if (options.csv && context.json) throw new UsageError('Use either --csv or --json, not both.')
      const kind = kindOf(options.kind)
      if (kind && options.month !== undefined && !options.csv && !options.entries) {
        throw new UsageError('The totals of a month always list every kind. Use --kind with --entries or --csv.')
      }
      const page = { limit: parseWholeNumber(options.limit, '--limit'), before: options.before, kind }
      await context.withDeps(async (deps) => {
        if (options.month !== undefined) await month(deps, tenantId, options.month, { ...options, kind }, context)
        else await latest(deps, tenantId, page, context)
      })
    })
}

async function latest(
  deps: AdminDeps,
  tenantId: string,
  { limit, before, kind }: { limit: number; before: string | undefined; kind: TransferKind | undefined },
  context: AdminContext,
): Promise<void> {
  const page = await getStatementPage(deps.db, await getTenantId(deps.db, tenantId), {
    limit,
    kind,
    ...(before === undefined ? {} : { after: BigInt(parseWholeNumber(before, '--before')) }),
  })
  const more = page.next === null ? '' : `\nMore: --before ${page.next}`
  context.print(entryTable(page.entries) + more, page)
}

async function month(
  deps: AdminDeps,
  tenantId: string,
  month: string,
  { csv, entries: withEntries, kind }: Omit<StatementOptions, 'kind'> & { kind: TransferKind | undefined },
  context: AdminContext,
): Promise<void> {
  const statement = await getMonthStatement(deps.db, tenantId, month)
  const pages = streamEntries(deps.db, statement.tenantId, statement.versions, kind)
  if (csv) {
    return writeOutput('-', async (write) => {
      for await (const text of entriesCsv(pages, statement.currencyCode)) await write(text)
    })
  }
  if (!withEntries) return context.print(monthText(statement), statement)
  const entries: StatementEntry[] = []
  for await (const page of pages) entries.push(...page)
  context.print(`${monthText(statement)}\n\n${entryTable(entries)}`, { ...statement, entries })
}

function monthText(statement: MonthStatement): string {
  const { currencyCode } = statement
  const rows = [
    { name: 'Opening', count: '', amount: statement.opening },
    ...statement.totals.map(({ kind, count, amount }) => ({ name: kind, count: String(count), amount })),
    { name: statement.complete ? 'Closing' : 'Closing so far', count: '', amount: statement.closing },
  ]
  const figures = table(
    rows,
    [
      { title: '', value: (row) => row.name },
      { title: 'COUNT', value: (row) => row.count, right: true },
      { title: currencyCode, value: (row) => formatMoney(row.amount), right: true },
    ],
    '',
  )
  const head = fields([
    ['Tenant', `${statement.clientName} (${statement.tenantId})`],
    ['Month', `${statement.month} (UTC)`],
  ])
  return `${head}\n\n${figures}`
}

function entryTable(entries: StatementEntry[]): string {
  return table(
    entries,
    [
      { title: 'VERSION', value: (entry) => String(entry.walletVersion), right: true },
      { title: 'TIME (UTC)', value: (entry) => timeText(entry.createdAt) },
      { title: 'KIND', value: (entry) => entry.kind },
      { title: 'AMOUNT', value: (entry) => formatMoney(entry.amount), right: true },
      { title: 'BALANCE', value: (entry) => formatMoney(entry.balanceAfter), right: true },
      { title: 'FOR', value: subject },
      { title: 'REASON', value: (entry) => entry.reason ?? '' },
      { title: 'BY', value: (entry) => entry.actor ?? '' },
    ],
    'There are no movements.',
  )
}

function subject(entry: StatementEntry): string {
  if (entry.orderNo === null) return entry.reference ?? ''
  return entry.itemNo === null ? entry.orderNo : `${entry.orderNo} item ${entry.itemNo}`
}

function kindOf(text: string | undefined): TransferKind | undefined {
  const kind = TRANSFER_KINDS.find((known) => known === text?.toUpperCase().replaceAll('-', '_'))
  if (text !== undefined && !kind)
    throw new UsageError(`--kind must be one of ${TRANSFER_KINDS.join(', ')}, not “${text}”.`)
  return kind
}
