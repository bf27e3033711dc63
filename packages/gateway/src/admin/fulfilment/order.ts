import { createReadStream } from 'node:fs'
import { formatMoney, ORDER_ESIMS_MAX, type QueryAnswer } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { createCatalogue } from '../../catalogue/catalogue.ts'
import { cancelOrder } from '../../fulfilment/cancelling/cancel-order.ts'
import { resolveOrder } from '../../fulfilment/review/resolve-order.ts'
import { getOperatorOrder, listOrdersUnderReview } from '../../fulfilment/review/show-order.ts'
import { getOrder } from '../../orders/reading/find.ts'
import { listUnfinished, UNFINISHED_STATUSES, type UnfinishedOrder } from '../../orders/reading/list-unfinished.ts'
import { CsvRefused, parseEsims } from '../../suppliers/stock/csv.ts'
import type { AdminContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { fields, table, timeText } from '../table.ts'
import { namesOf, requireFile, spanOf, whole } from '../typed.ts'
import { withSuppliers } from './suppliers.ts'

export function orderCommands(order: Command, context: AdminContext): void {
  order
    .command('show <order-no>')
    .description('Show an order: its lines, eSIMs, and what suppliers were asked. Activation codes are left out.')
    .action((orderNo: string) =>
      context.withDeps(async (deps) => {
        const shown = await getOperatorOrder(deps, await getOrder(deps.db, orderNo))
        context.print(orderText(shown), shown)
      }),
    )
  listCommand(order, context)
  order
    .command('review')
    .description('List the orders that wait for a supplier’s word: ask it about the keys.')
    .action(() =>
      context.withDeps(async (deps) => {
        const rows = await listOrdersUnderReview(deps.db)
        const human = table(
          rows,
          [
            { title: 'ORDER', value: (row) => row.orderNo },
            { title: 'TENANT', value: (row) => row.tenantId },
            { title: 'KEY AT THE SUPPLIER', value: (row) => row.keys.join(' ') },
            { title: 'SUPPLIER', value: (row) => row.suppliers.join(', ') },
            { title: 'WHY', value: (row) => row.reason ?? '' },
          ],
          'No order is under review.',
        )
        context.print(human, { orderList: rows })
      }),
    )
  order
    .command('cancel <order-no>')
    .description('Cancel and refund an order that no supplier was asked for yet.')
    .requiredOption('--reason <text>', 'shown to the dealer')
    .action(async (orderNo: string, options: { reason: string }) =>
      context.withDeps(async (deps) => {
        const found = await getOrder(deps.db, orderNo)
        await cancelOrder(deps, { ...found, reason: options.reason }, context.by)
        context.print(`${orderNo} is cancelled and refunded.`, { orderNo, orderStatus: 'CANCELLED' })
      }),
    )
  settleCommand(order, context)
}

interface ListOptions {
  status: string
  olderThan: string
  after?: string
  limit: string
}

function listCommand(order: Command, context: AdminContext): void {
  order
    .command('list')
    .description('List the orders that are not finished, the oldest first.')
    .option('--status <states>', `of ${UNFINISHED_STATUSES.join(', ')}, separated by commas`, 'PAID,ALLOCATING')
    .option('--older-than <time>', 'only those that were placed longer ago, such as 15m, 2h or 3d', '0')
    .option('--limit <n>', 'how many', '50')
    .option('--after <order-no>', 'go on behind this order')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- order list --older-than 15m')
    .action(async (options: ListOptions) => {
      const most = whole(options.limit, '--limit')
      const olderThanMs = spanOf(options.olderThan)
      const statuses = namesOf(options.status, UNFINISHED_STATUSES, '--status')
      await context.withDeps(async (deps) => {
        const after = options.after === undefined ? undefined : (await getOrder(deps.db, options.after)).orderId
        // A moment ahead: ids are made by other machines' clocks.
        const before = new Date(deps.databaseClock.now() - (olderThanMs || -AHEAD_MS))
        const rows = await listUnfinished(deps.db, { statuses, before, after }, most + 1)
        context.print(unfinishedText(rows, most), { orderList: rows.slice(0, most) })
      })
    })
}

const AHEAD_MS = 60_000

function unfinishedText(rows: UnfinishedOrder[], most: number): string {
  const shown = rows.slice(0, most)
  const text = table(
    shown,
    [
      { title: 'ORDER', value: (row) => row.orderNo },
      { title: 'STATUS', value: (row) => row.orderStatus },
      { title: 'PLACED (UTC)', value: (row) => timeText(row.createdAt) },
      { title: 'ESIMS', value: (row) => String(row.esims), right: true },
      { title: 'TENANT', value: (row) => row.tenantId },
      { title: 'NAME', value: (row) => row.clientName },
    ],
    'There is no such order.',
  )
  return rows.length > most ? `${text}\nThere are more: --after ${shown.at(-1)!.orderNo}` : text
}

interface SettleOptions {
  delivered?: string
  refused?: boolean
  retry?: boolean
  evidence: string
  items?: string
}

function settleCommand(order: Command, context: AdminContext): void {
  order
    .command('settle <order-no>')
    .description('Record what the supplier said of eSIMs under review.')
    .option(
      '--delivered <file>',
      'it delivered them: CSV like stock import, one row an item (a column itemNo may say which)',
    )
    .option('--refused', 'it sold none: they are refunded')
    .option('--retry', 'it sold none, and is asked again')
    .option('--items <numbers>', 'only these, like 1,3 (default: all under review)')
    .requiredOption('--evidence <text>', 'what the supplier said, when, and who: audited')
    .action(async (orderNo: string, options: SettleOptions) => {
      if ([options.delivered, options.refused, options.retry].filter(Boolean).length !== 1) {
        throw new UsageError('Say one of --delivered FILE, --refused and --retry.')
      }
      const itemNos = options.items?.split(',').map((text) => whole(text.trim(), '--items', { max: ORDER_ESIMS_MAX }))
      await context.withDeps(async (deps) => {
        const found = await getOrder(deps.db, orderNo)
        const verdict = await verdictOf(options)
        const settlement = { ...found, verdict, evidence: options.evidence, ...(itemNos ? { itemNos } : {}) }
        const settled = await withSuppliers(deps, (suppliers) =>
          resolveOrder({ ...deps, suppliers, catalogue: createCatalogue(deps) }, settlement, context.by),
        )
        context.print(`Settled items ${settled.join(', ')} of ${orderNo}.`, { orderNo, items: settled })
      })
    })
}

async function verdictOf(options: SettleOptions) {
  if (options.delivered === undefined) return { kind: options.refused ? ('refused' as const) : ('retry' as const) }
  requireFile(options.delivered)
  const esims = []
  for await (const row of parseEsims(createReadStream(options.delivered), true)) {
    if ('reason' in row) throw new CsvRefused([row])
    esims.push(row)
  }
  return { kind: 'delivered' as const, esims }
}

type Shown = Awaited<ReturnType<typeof getOperatorOrder>>

function orderText(shown: Shown): string {
  const money = (amount: number) => `${formatMoney(amount)} ${shown.currencyCode}`
  const lines = shown.packageInfoList.map(
    (line: QueryAnswer['packageInfoList'][number]) =>
      `${line.packageCode} × ${line.count} at ${formatMoney(line.price)}: ${line.deliveredCount} delivered, ${line.failedCount} refunded`,
  )
  const head = fields([
    ['Order', shown.orderNo],
    ['Tenant', shown.tenantId],
    ['transactionId', shown.transactionId],
    ['Status', shown.orderStatus],
    ['Amount', money(shown.amount)],
    ['Refunded', money(shown.refundedAmount)],
    ['Lines', lines.join('\n')],
    ['History', shown.statusHistory.map((entry) => `${entry.time}  ${entry.orderStatus}`).join('\n')],
  ])
  const items = table(
    shown.itemList,
    [
      { title: 'ITEM', value: (item) => String(item.itemNo), right: true },
      { title: 'STATUS', value: (item) => item.itemStatus },
      { title: 'SUPPLIER', value: (item) => item.supplier ?? '' },
      { title: 'KEY', value: (item) => item.key },
      { title: 'PRODUCT', value: (item) => item.productCode ?? '' },
      { title: 'ICCID', value: (item) => item.iccid ?? '' },
      { title: 'ESIM', value: (item) => [item.esimStatus, item.smdpStatus].filter(Boolean).join(' ') },
      { title: 'REASON', value: (item) => item.failureReason ?? '' },
    ],
    '',
  )
  const attempts = table(
    shown.attemptList,
    [
      { title: 'STARTED', value: (attempt) => attempt.startedAt },
      { title: 'ITEM', value: (attempt) => String(attempt.itemNo), right: true },
      { title: 'ASKED', value: (attempt) => `${attempt.operation} ${attempt.supplier}` },
      { title: 'OUTCOME', value: (attempt) => attempt.outcome ?? 'open' },
      { title: 'DETAIL', value: (attempt) => attempt.detail ?? '' },
    ],
    'No supplier was asked yet.',
  )
  return `${head}\n\n${items}\n\n${attempts}`
}
