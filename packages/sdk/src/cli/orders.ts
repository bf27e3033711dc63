import { FINAL_ORDER_STATUSES, type OrderLineRequest, type OrderStatus, type QueryAnswer } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { type DealerEsim, newTransactionId } from '../client.ts'
import { pause } from '../retry.ts'
import { amount, duration_ms, orderLine } from './arguments.ts'
import type { Context } from './context.ts'
import { CommandFailed, EXIT } from './exit-codes.ts'
import { money, type Paint, pairs, printable, table, time } from './output.ts'

interface OrderOptions {
  transactionId?: string
  amount?: number
  remark?: string
  wait?: number | true
}

interface QueryOptions {
  transactionId?: string
  wait?: number | true
}

const WAIT_DEFAULT_MS = 60_000

/** `order` buys, `query` tells what became of it. */
export function orderCommands(program: Command, context: () => Context): void {
  program
    .command('order')
    .description('buy eSIMs from the balance')
    .argument('<package[:count]...>', 'what to buy: a package code, or a code and a count', orderLine)
    .option('--transaction-id <id>', 'your own key of the order; made and shown when you give none')
    .option('--amount <amount>', 'buy only if the total is exactly this, such as 9.00', amount)
    .option('--remark <text>', 'a note of your own')
    .option('--wait [time]', 'wait until the order is complete, 60s by default', duration_ms)
    .addHelpText('after', ORDER_HELP)
    .action(async (packageInfoList: OrderLineRequest[], { wait, ...options }: OrderOptions) => {
      const { client, print, io, paint } = context()
      const esim = client()
      const transactionId = options.transactionId ?? newTransactionId()
      if (options.transactionId === undefined) io.err(`transactionId ${transactionId}\n`)
      const order = await esim.order({ ...options, transactionId, packageInfoList })
      if (wait !== undefined) {
        const answer = await waitForEnd(esim, { orderNo: order.orderNo }, wait, io.interrupted)
        return print(describe(answer, paint), answer)
      }
      const { replayed, ...answer } = order
      const rows = pairs([
        ['Order', answer.orderNo],
        ['transactionId', answer.transactionId],
        ['Status', answer.orderStatus],
        ['Amount', money(answer.amount, answer.currencyCode)],
        ['Balance', money(answer.balanceAfter, answer.currencyCode)],
      ])
      const note = replayed ? 'Ordered before with this transactionId: nothing was debited again.\n' : ''
      print(`${rows}${note}${paint.dim(`Next: dealer-esim query ${printable(answer.orderNo)}`)}\n`, order)
    })

  program
    .command('query')
    .description('tell what became of an order')
    .argument('[orderNo]', 'the order, unless you give its transactionId')
    .option('--transaction-id <id>', 'the order, by your own key')
    .option('--wait [time]', 'wait until the order is complete, 60s by default', duration_ms)
    .addHelpText('after', '\nExamples:\n  $ dealer-esim query --transaction-id T-1 --wait')
    .action(async (orderNo: string | undefined, { transactionId, wait }: QueryOptions) => {
      if (orderNo === undefined && transactionId === undefined) {
        throw new CommandFailed('Which order? Give its number or --transaction-id.', EXIT.USAGE)
      }
      const { client, print, io, paint } = context()
      const which = { ...(orderNo === undefined ? {} : { orderNo }), ...(transactionId ? { transactionId } : {}) }
      const answer = await (wait === undefined
        ? client().query(which)
        : waitForEnd(client(), which, wait, io.interrupted))
      print(describe(answer, paint), answer)
    })
}

/** The order once nothing more happens to it by itself, or as it is when the time is over. */
export async function waitForEnd(
  esim: DealerEsim,
  which: { orderNo?: string; transactionId?: string },
  wait: number | true,
  signal: AbortSignal,
): Promise<QueryAnswer> {
  const end = performance.now() + (wait === true ? WAIT_DEFAULT_MS : wait)
  for (let pause_ms = 100; ; pause_ms = Math.min(pause_ms * 1.5, 2_000)) {
    const answer = await esim.query(which, { signal })
    if (isFinal(answer.orderStatus) || performance.now() + pause_ms > end) return answer
    await pause(pause_ms, signal)
  }
}

function isFinal(status: OrderStatus): boolean {
  return (FINAL_ORDER_STATUSES as readonly string[]).includes(status)
}

function describe(order: QueryAnswer, paint: Paint): string {
  const head = pairs([
    ['Order', order.orderNo],
    ['transactionId', order.transactionId],
    ['Status', order.orderStatus],
    ['Amount', money(order.amount, order.currencyCode)],
    ['Refunded', order.refundedAmount === 0 ? null : money(order.refundedAmount, order.currencyCode)],
    ['Remark', order.remark],
    ['History', order.statusHistory.map((each) => `${each.orderStatus} ${time(each.time)}`).join(', ')],
  ])
  const lines = order.packageInfoList.map((line) => [
    line.packageCode,
    `${line.count}`,
    `${line.deliveredCount}`,
    `${line.failedCount}`,
    money(line.price, order.currencyCode),
    line.failureReason ?? '',
  ])
  const esims = order.profileList.map((each) => [each.esimTranNo, each.iccid, each.packageCode, each.ac])
  return [
    head,
    table(['PACKAGE', '>ORDERED', '>DELIVERED', '>FAILED', '>PRICE', 'REASON'], lines, paint),
    table(['ESIM', 'ICCID', 'PACKAGE', 'ACTIVATION CODE'], esims, paint),
  ].join('\n')
}

const ORDER_HELP = `
Repeating an order with the same transactionId never debits twice: after a failure repeat the same command with the
transactionId that it showed.

Examples:
  $ dealer-esim order JP_1_7
  $ dealer-esim order JP_1_7:2 EU_5_30 --transaction-id T-1 --amount 21.50 --wait`
