import { formatMoney } from '@dealer-esim/contract'
import { csvText } from '@dealer-esim/lib/csv.ts'
import type { Command } from 'commander'
import {
  DISCREPANCY_COLUMNS,
  type Discrepancy,
  listSupplierMonths,
  SUPPLIER_MONTH_COLUMNS,
  type SupplierMonth,
  streamDiscrepancies,
} from '#fulfilment/reconciliation/reconciliation-report.ts'
import { PRICE_DIFFERENCE_COLUMNS, type PriceDifference, streamPriceDifferences } from '#suppliers/supplier-prices.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { writeOutput } from '../kernel/cli-files.ts'
import type { AdminContext } from '../kernel/context.ts'
import { table, timeText } from '../kernel/text-table.ts'

interface ReportOptions {
  from?: string
  to?: string
  csv?: string
  discrepancies?: boolean
  prices?: boolean
}

/** Reports of sales and cost, discrepancies and changed supplier prices. */
export function supplierReportCommand(supplier: Command, context: AdminContext): void {
  supplier
    .command('report')
    .description(
      'Compare sales and cost by month and supplier, or list discrepancies: orders without eSIMs, eSIMs without orders.',
    )
    .option('--from <month>', 'first month, such as 2026-11 (default: last month)')
    .option('--to <month>', 'last month (default: this month)')
    .option('--discrepancies', 'list discrepancies, item by item')
    .option('--prices', 'list packages on sale whose supplier’s current price differs from their cost')
    .option('--csv <file>', 'write CSV; “-”: to standard output')
    .action(async (options: ReportOptions) => {
      const months = { from: monthOf(options.from), to: monthOf(options.to) }
      await context.withDeps(async (deps) => {
        if (options.prices) {
          const rows = await allOf(streamPriceDifferences(deps.db))
          if (options.csv) return writeCsv(options.csv, rows, PRICE_DIFFERENCE_COLUMNS)
          return context.print(priceTable(rows), { priceList: rows })
        }
        const period = periodOf(months, new Date(deps.databaseClock.now()))
        if (options.discrepancies) {
          const rows = await allOf(streamDiscrepancies(deps.db, period))
          if (options.csv) return writeCsv(options.csv, rows, DISCREPANCY_COLUMNS)
          return context.print(discrepancyTable(rows), { discrepancyList: rows })
        }
        const rows = await listSupplierMonths(deps.db, period)
        if (options.csv) return writeCsv(options.csv, rows, SUPPLIER_MONTH_COLUMNS)
        context.print(monthTable(rows), { monthList: rows })
      })
    })
}

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/

/** The first moment of a UTC month. @throws UsageError */
function monthOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const [, year, month] = MONTH.exec(text) ?? []
  if (year === undefined) throw new UsageError(`“${text}” is not a month. Use the form 2026-11.`)
  return new Date(Date.UTC(Number(year), Number(month) - 1))
}

/** Whole UTC months, including the last one. @throws UsageError if --from is after --to */
function periodOf(months: Record<'from' | 'to', Date | undefined>, now: Date): { from: Date; to: Date } {
  const { from = monthsAfter(now, -1), to: last = monthsAfter(now, 0) } = months
  if (from > last) throw new UsageError('--from (default: last month) is after --to. Use an earlier --from.')
  return { from, to: monthsAfter(last, 1) }
}

function monthsAfter(time: Date, months: number): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months))
}

async function allOf<Row>(parts: AsyncIterable<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const part of parts) for (const row of part) rows.push(row)
  return rows
}

async function writeCsv<Row>(
  file: string,
  rows: readonly Row[],
  columns: Record<string, (row: Row) => unknown>,
): Promise<void> {
  const cells = Object.values(columns)
  const text = csvText([Object.keys(columns), ...rows.map((row) => cells.map((cellOf) => cellOf(row)))])
  await writeOutput(file, (write) => write(text))
}

function monthTable(rows: readonly SupplierMonth[]): string {
  const columns = [
    'month',
    'supplier',
    'delivered',
    'refused',
    'underReview',
    'orphans',
    'sales',
    'refunds',
    'cost',
    'charged',
  ] as const
  return table(
    rows,
    columns.map((name) => ({
      title: name.toUpperCase(),
      value: (row: SupplierMonth) => (name === 'cost' ? costText(row) : cellText(SUPPLIER_MONTH_COLUMNS[name](row))),
      right: name !== 'month' && name !== 'supplier',
    })),
    'There were no orders in these months.',
  )
}

function cellText(value: string | number | bigint): string {
  return typeof value === 'bigint' ? formatMoney(value) : String(value)
}

/** Includes the currency, which may differ from the currency of the sales. */
function costText({ delivered, cost, costCurrency }: SupplierMonth): string {
  if (cost === null) return delivered > 0 ? 'unknown' : ''
  return `${formatMoney(cost)} ${costCurrency}`
}

function priceTable(rows: readonly PriceDifference[]): string {
  return table(
    rows,
    [
      { title: 'SUPPLIER', value: (row) => row.supplier },
      { title: 'PACKAGE', value: (row) => row.packageCode },
      { title: 'PRODUCT', value: (row) => row.productCode },
      { title: 'PRICE', value: (row) => `${formatMoney(row.price)} ${row.currencyCode}`, right: true },
      { title: 'COST', value: (row) => formatMoney(row.cost), right: true },
      { title: 'SINCE', value: (row) => timeText(row.seenAt) },
    ],
    'No supplier that reports its prices has a price that differs from the cost in the catalogue.',
  )
}

function discrepancyTable(rows: readonly Discrepancy[]): string {
  return table(
    rows,
    [
      { title: 'KIND', value: (row) => row.kind },
      { title: 'SUPPLIER', value: (row) => row.supplier },
      { title: 'ORDER', value: (row) => (row.orderNo === null ? '' : `${row.orderNo}-${row.itemNo}`) },
      { title: 'ICCID', value: (row) => row.iccid ?? '' },
      { title: 'SINCE', value: (row) => timeText(row.since) },
      { title: 'MESSAGE', value: (row) => row.detail ?? '' },
    ],
    'There are no discrepancies.',
  )
}
