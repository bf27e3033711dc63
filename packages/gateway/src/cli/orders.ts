import { formatMoney, ORDER_ESIMS_MAX, type QueryAnswer } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { createCatalogue } from '#catalogue/catalogue.ts'
import { cancelOrder } from '#fulfilment/review/cancel-order.ts'
import { listOrdersUnderReview } from '#fulfilment/review/list-under-review.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { getOperatorOrder } from '#fulfilment/review/show-order.ts'
import { UNFINISHED_STATUSES } from '#orders/order-item.ts'
import { getOrder } from '#orders/reading/find-order.ts'
import { listUnfinished, type UnfinishedOrder } from '#orders/reading/list-unfinished.ts'
import { CsvRefused, parseEsims } from '#stock/stock-csv.ts'
import { UsageError } from './kernel/cli-failure.ts'
import { openFile } from './kernel/cli-files.ts'
import { withSuppliers } from './kernel/cli-outbound.ts'
import type { AdminContext } from './kernel/context.ts'
import { parseDuration, parseNames, parseWholeNumber } from './kernel/parse-options.ts'
import { type TableOptions, tableAnswers, withTableOptions } from './kernel/table-options.ts'
import { fields, table, timeText } from './kernel/text-table.ts'

export function orderCommands(order: Command, context: AdminContext): void {
  order
    .command('show <order-no>')
    .description('Show an order: its lines, eSIMs and supplier calls. Activation codes are not shown.')
    .action((orderNo: string) =>
      context.withDeps(async (deps) => {
        const shown = await getOperatorOrder(deps, await getOrder(deps.db, orderNo))
        context.print(orderText(shown), shown)
      }),
    )
  listCommand(order, context)
  order
    .command('review')
    .description('List the orders under review. Ask the supplier about their keys, then use `order settle`.')
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
    .description('Refund what an order still waits for: all of it, or what no supplier has sold yet.')
    .requiredOption('--reason <text>', 'shown to the dealer')
    .action(async (orderNo: string, options: { reason: string }) =>
      context.withDeps(async (deps) => {
        const found = await getOrder(deps.db, orderNo)
        const orderStatus = await cancelOrder(deps, { ...found, reason: options.reason }, context.by)
        context.print(`The waiting items of ${orderNo} were refunded. The order is ${orderStatus}.`, {
          orderNo,
          orderStatus,
        })
      }),
    )
  resolveCommand(order, context)
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
    .description('List the unfinished orders, oldest first.')
    .option(
      '--status <states>',
      `one or more of ${UNFINISHED_STATUSES.join(', ')}, separated by commas`,
      'PAID,ALLOCATING',
    )
    .option('--older-than <time>', 'only orders placed longer ago, such as 15m, 2h or 3d', '0')
    .option('--limit <n>', 'how many at most', '50')
    .option('--after <order-no>', 'continue after this order')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- order list --older-than 15m')
    .action(async (options: ListOptions) => {
      const limit = parseWholeNumber(options.limit, '--limit')
      const olderThanMs = parseDuration(options.olderThan)
      const statuses = parseNames(options.status, UNFINISHED_STATUSES, '--status')
      await context.withDeps(async (deps) => {
        const after = options.after === undefined ? undefined : (await getOrder(deps.db, options.after)).orderId
        // Orders of nodes whose clocks are ahead are listed too.
        const before = new Date(deps.databaseClock.now() - (olderThanMs || -AHEAD_MS))
        const rows = await listUnfinished(deps.db, { statuses, before, after }, limit + 1)
        context.print(unfinishedText(rows, limit), { orderList: rows.slice(0, limit) })
      })
    })
}

const AHEAD_MS = 60_000

function unfinishedText(rows: UnfinishedOrder[], limit: number): string {
  const shown = rows.slice(0, limit)
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
    'No unfinished order was found.',
  )
  return rows.length > limit ? `${text}\nThere are more: --after ${shown.at(-1)!.orderNo}` : text
}

interface ResolveOptions extends TableOptions {
  delivered?: string
  toppedUp?: boolean
  refused?: boolean
  retry?: boolean
  evidence: string
  items?: string
}

function resolveCommand(order: Command, context: AdminContext): void {
  withTableOptions(order.command('settle <order-no>'))
    .description('Resolve eSIMs under review with the supplier’s statement.')
    .option(
      '--delivered <file>',
      'the supplier delivered them: CSV as for stock import, one row per item (optional column: itemNo)',
    )
    .option('--topped-up', 'for a top-up: the supplier added the package to the eSIM')
    .option('--refused', 'the supplier did not sell them: refund them')
    .option('--retry', 'the supplier did not sell them: buy them again')
    .option('--items <numbers>', 'only these items, such as 1,3 (default: all under review)')
    .requiredOption('--evidence <text>', 'the supplier’s statement, its author and time: audited')
    .action(async (orderNo: string, options: ResolveOptions) => {
      if ([options.delivered, options.toppedUp, options.refused, options.retry].filter(Boolean).length !== 1) {
        throw new UsageError('Use one of --delivered FILE, --topped-up, --refused and --retry.')
      }
      const itemNos = options.items
        ?.split(',')
        .map((text) => parseWholeNumber(text.trim(), '--items', { max: ORDER_ESIMS_MAX }))
      await context.withDeps(async (deps) => {
        const found = await getOrder(deps.db, orderNo)
        const verdict = await resolutionOf(options)
        const resolution = { ...found, verdict, evidence: options.evidence, ...(itemNos ? { itemNos } : {}) }
        const resolved = await withSuppliers(deps, (suppliers) =>
          resolveOrder({ ...deps, suppliers, catalogue: createCatalogue(deps) }, resolution, context.by),
        )
        context.print(`Resolved items ${resolved.join(', ')} of ${orderNo}.`, { orderNo, items: resolved })
      })
    })
}

async function resolutionOf(options: ResolveOptions) {
  const answers = tableAnswers(options)
  if (options.toppedUp) return { kind: 'toppedUp' as const }
  if (options.delivered === undefined) return { kind: options.refused ? ('refused' as const) : ('retry' as const) }
  const esims = []
  for await (const row of parseEsims(openFile(options.delivered), { withItemNo: true, answers })) {
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
      { title: 'CALL', value: (attempt) => `${attempt.operation} ${attempt.supplier}` },
      { title: 'OUTCOME', value: (attempt) => attempt.outcome ?? 'open' },
      { title: 'MESSAGE', value: (attempt) => attempt.detail ?? '' },
    ],
    'No supplier was called yet.',
  )
  return `${head}\n\n${items}\n\n${attempts}`
}
