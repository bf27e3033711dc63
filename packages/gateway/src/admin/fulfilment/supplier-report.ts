import { writeFileSync } from 'node:fs'
import { formatMoney } from '@dealer-esim/contract'
import type { Command } from 'commander'
import {
  type Discrepancy,
  listDiscrepancies,
  listSupplierMonths,
  type SupplierMonth,
} from '../../fulfilment/reconciliation/supplier-report.ts'
import { csvText } from '../../lib/csv.ts'
import { listPriceDifferences, type PriceDifference } from '../../suppliers/prices.ts'
import type { AdminContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { table, timeText } from '../table.ts'

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
          const rows = await listPriceDifferences(deps.db)
          if (options.csv) return writeCsv(options.csv, rows.map(priceCells))
          return context.print(priceTable(rows), { priceList: rows })
        }
        const period = periodOf(months, new Date(deps.databaseClock.now()))
        if (options.discrepancies) {
          const rows = await listDiscrepancies(deps.db, period)
          if (options.csv) return writeCsv(options.csv, rows.map(discrepancyCells))
          return context.print(discrepancyTable(rows), { discrepancyList: rows })
        }
        const rows = await listSupplierMonths(deps.db, period)
        if (options.csv) return writeCsv(options.csv, rows.map(monthCells))
        context.print(monthTable(rows), { monthList: rows })
      })
    })
}

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/

/** The first moment of a UTC month. @throws UsageError */
function monthOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const [, year, month] = MONTH.exec(text) ?? []
  if (year === undefined) throw new UsageError(`“${text}” is not a month. Write it like 2026-11.`)
  return new Date(Date.UTC(Number(year), Number(month) - 1))
}

/** Whole UTC months, including the last one. */
function periodOf(months: Record<'from' | 'to', Date | undefined>, now: Date): { from: Date; to: Date } {
  const { from = monthsAfter(now, -1), to: last = monthsAfter(now, 0) } = months
  return { from, to: monthsAfter(last, 1) }
}

function monthsAfter(time: Date, months: number): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months))
}

function writeCsv(file: string, rows: readonly Record<string, string | number>[]): void {
  const headers = Object.keys(rows[0] ?? {})
  const text = rows.length === 0 ? '' : csvText([headers, ...rows.map((row) => Object.values(row))])
  if (file === '-') process.stdout.write(text)
  else writeFileSync(file, text)
}

function monthCells(row: SupplierMonth) {
  return {
    month: row.month,
    supplier: row.supplier,
    currencyCode: row.currencyCode,
    delivered: row.delivered,
    cancelled: row.cancelled,
    refused: row.refused,
    underReview: row.underReview,
    orphans: row.orphans,
    sales: formatMoney(row.sales),
    refunds: formatMoney(row.refunds),
    cost: row.cost === null ? '' : formatMoney(row.cost),
    costCurrency: row.costCurrency ?? '',
    charged: row.charged,
    chargedCost: formatMoney(row.chargedCost),
  }
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
    rows.map((row) => ({ ...monthCells(row), cost: costText(row) })),
    columns.map((name) => ({
      title: name.toUpperCase(),
      value: (row: ReturnType<typeof monthCells>) => String(row[name]),
      right: name !== 'month' && name !== 'supplier',
    })),
    'There were no orders in these months.',
  )
}

/** Includes the currency, which may differ from the currency of the sales. */
function costText({ delivered, cost, costCurrency }: SupplierMonth): string {
  if (cost === null) return delivered > 0 ? 'unknown' : ''
  return `${formatMoney(cost)} ${costCurrency}`
}

function priceCells(row: PriceDifference) {
  return {
    supplier: row.supplier,
    packageCode: row.packageCode,
    productCode: row.productCode,
    price: formatMoney(row.price),
    cost: formatMoney(row.cost),
    currencyCode: row.currencyCode,
    since: row.seenAt.toISOString(),
  }
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

function discrepancyCells(row: Discrepancy) {
  return {
    kind: row.kind,
    supplier: row.supplier,
    tenantId: row.tenantId ?? '',
    orderNo: row.orderNo ?? '',
    itemNo: row.itemNo ?? '',
    iccid: row.iccid ?? '',
    since: row.since.toISOString(),
    detail: row.detail ?? '',
  }
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
