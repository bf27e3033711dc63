import { type OrderLineRequest, PERIOD_NUM_MAX, type QueryAnswer } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { newTransactionId, type Order } from '#client.ts'
import { DealerEsimError } from '#error.ts'
import { amount, durationMs, integer, orderLine } from '../arguments.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, CommandFailed, EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { money, type Paint, pairs, printable, table, time } from '../output.ts'
import { codeRows, profileRows } from './profiles.ts'

interface OrderOptions {
  transactionId?: string
  amount?: number
  remark?: string
  periodNum?: number
  wait?: number | true
  codes?: boolean
}

interface TopupOptions extends Omit<OrderOptions, 'codes'> {
  iccid?: string
}

interface QueryOptions {
  transactionId?: string
  wait?: number | true
  codes?: boolean
}

const CODES = 'show activation codes and QR links, with which anybody can install the eSIM'

/** `order` buys eSIMs; `query` shows an order. */
export function orderCommands(program: Command, context: () => Context): void {
  program
    .command('order')
    .description('buy eSIMs from the balance')
    .argument('<package[:count]...>', 'what to buy: a package code, or a code and a count', orderLine)
    .option('--transaction-id <id>', 'your own key of the order; generated and shown if omitted')
    .option('--period-num <days>', 'of day passes: how many days', integer(1, PERIOD_NUM_MAX))
    .option('--amount <amount>', 'buy only if the total is exactly this, such as 9.00', amount)
    .option('--remark <text>', 'your own note')
    .option('--wait [time]', 'wait until the order is complete, 60s by default', durationMs)
    .option('--codes', `with --wait: ${CODES}`)
    .addHelpText('after', ORDER_HELP)
    .action(async (lines: OrderLineRequest[], { wait, codes, periodNum, ...options }: OrderOptions) => {
      const current = context()
      const esim = current.client()
      const transactionId = transactionIdOf(current, options)
      const packageInfoList = periodNum === undefined ? lines : lines.map((line) => ({ ...line, periodNum }))
      await finish(current, await esim.order({ ...options, transactionId, packageInfoList }), { wait, codes })
    })

  program
    .command('topup')
    .description('add a package of type TOPUP to an eSIM, from the balance')
    .argument('<package>', 'a package that fits the eSIM')
    .argument('[esimTranNo]', 'the eSIM, unless you give --iccid')
    .option('--iccid <iccid>', 'the newest eSIM with this ICCID')
    .option('--transaction-id <id>', 'your own key of the top-up; generated and shown if omitted')
    .option('--period-num <days>', 'of a day pass: how many days', integer(1, PERIOD_NUM_MAX))
    .option('--amount <amount>', 'buy only if the total is exactly this, such as 9.00', amount)
    .option('--remark <text>', 'your own note')
    .option('--wait [time]', 'wait until the top-up is complete, 60s by default', durationMs)
    .addHelpText('after', TOPUP_HELP)
    .action(async (packageCode: string, esimTranNo: string | undefined, { wait, ...options }: TopupOptions) => {
      if (esimTranNo === undefined && options.iccid === undefined) {
        throw new CommandFailed('No eSIM given. Add its esimTranNo or --iccid.', EXIT.USAGE)
      }
      const current = context()
      const esim = current.client()
      const transactionId = transactionIdOf(current, options)
      const named = esimTranNo === undefined ? {} : { esimTranNo }
      await finish(current, await esim.topup({ ...options, ...named, transactionId, packageCode }), { wait })
    })

  program
    .command('query')
    .description('show an order and its status')
    .argument('[orderNo]', 'the order number, unless you give --transaction-id')
    .option('--transaction-id <id>', 'the order with this transactionId')
    .option('--wait [time]', 'wait until the order is complete, 60s by default', durationMs)
    .option('--codes', CODES)
    .addHelpText('after', '\nExamples:\n  $ dealer-esim query --transaction-id T-1 --wait')
    .action(async (orderNo: string | undefined, { transactionId, wait, codes }: QueryOptions) => {
      if (orderNo === undefined && transactionId === undefined) {
        throw new CommandFailed('No order given. Add its number or --transaction-id.', EXIT.USAGE)
      }
      const { client, print, io, paint } = context()
      const which = { ...(orderNo === undefined ? {} : { orderNo }), ...(transactionId ? { transactionId } : {}) }
      const answer = await (wait === undefined
        ? client().query(which)
        : client().waitForOrder(which, waitOptions(wait, io)))
      print(describe(answer, paint, codes), answer)
    })
}

function transactionIdOf({ io }: Context, options: { transactionId?: string }): string {
  if (options.transactionId !== undefined) return options.transactionId
  const transactionId = newTransactionId()
  io.err(`transactionId ${transactionId}\n`)
  return transactionId
}

/** Prints a placed order; with --wait when it is complete. */
async function finish(
  current: Context,
  order: Order,
  { wait, codes }: { wait?: number | true | undefined; codes?: boolean | undefined },
): Promise<void> {
  const { client, print, io, paint } = current
  if (wait === undefined) {
    return print(`${placed(order)}${paint.dim(`Next: dealer-esim query ${printable(order.orderNo)}`)}\n`, order)
  }
  try {
    const answer = await client().waitForOrder({ orderNo: order.orderNo }, waitOptions(wait, io))
    print(describe(answer, paint, codes), answer)
  } catch (error) {
    reportWaitFailed(current, order, error as Error)
  }
}

function placed(order: Order): string {
  const rows = pairs([
    ['Order', order.orderNo],
    ['transactionId', order.transactionId],
    ['Status', order.orderStatus],
    ['Amount', money(order.amount, order.currencyCode)],
    ['Balance', money(order.balanceAfter, order.currencyCode)],
  ])
  return rows + (order.replayed ? 'This transactionId was ordered before: nothing was debited again.\n' : '')
}

/** The order is debited even though waiting for it failed, so the output must not look like a refusal. */
function reportWaitFailed({ io, json, paint, print }: Context, order: Order, error: Error): never {
  const { message } = error
  const code = error instanceof DealerEsimError ? error.code : 'COMMAND_FAILED'
  const next = `The order is placed: \`dealer-esim query ${printable(order.orderNo)}\` shows its status.\n`
  print(placed(order) + next, { ...order, waitFailed: { code, message } })
  if (!json) io.err(`${paint.red(printable(code))}  ${printable(message)}\n`)
  throw new AlreadyReported(EXIT.OUTCOME_UNKNOWN)
}

function waitOptions(wait: number | true, { interrupted }: Io) {
  return { signal: interrupted, ...(wait === true ? {} : { waitMs: wait }) }
}

function describe(order: QueryAnswer, paint: Paint, codes = false): string {
  const head = pairs([
    ['Order', order.orderNo],
    ['transactionId', order.transactionId],
    ['eSIM', order.esimTranNo],
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
  const hidden =
    order.profileList.length === 0 || codes ? '' : paint.dim('Add --codes to show activation codes and QR links.\n')
  return [
    head,
    table(['PACKAGE', '>ORDERED', '>DELIVERED', '>FAILED', '>PRICE', 'REASON'], lines, paint),
    order.profileList.length === 0
      ? noEsims(order)
      : (codes ? codeRows : profileRows)(order.profileList, paint) + hidden,
  ].join('\n')
}

/** A top-up does not deliver an eSIM of its own. */
function noEsims({ orderType }: QueryAnswer): string {
  return orderType === 'NEW' ? 'No eSIMs delivered.\n' : ''
}

const TOPUP_HELP = `
Repeating a top-up with the same transactionId never debits twice.

Examples:
  $ dealer-esim topup JP_1_7_TOPUP --iccid 8985200012345678904 --wait`

const ORDER_HELP = `
Repeating an order with the same transactionId never debits twice: after a failure, repeat the same command with the
transactionId that it showed.

Examples:
  $ dealer-esim order JP_1_7
  $ dealer-esim order JP_1_7:2 EUROPE_5_30 --transaction-id T-1 --wait`
