import {
  type OrderDryRunAnswer,
  type OrderLineRequest,
  PERIOD_NUM_MAX,
  type TopupDryRunAnswer,
} from '@dealer-esim/contract'
import type { Command } from 'commander'
import type { Order, Topup } from '#client.ts'
import { amount, integer, orderLine } from '../arguments.ts'
import type { Context } from '../context.ts'
import { CommandFailed, EXIT } from '../exit-codes.ts'
import { money, type Paint, pairs, table } from '../output.ts'

interface QuoteOptions {
  transactionId?: string
  periodNum?: number
  amount?: number
  esimTranNo?: string
  iccid?: string
}

/** `quote`: what an order or a top-up would cost, and whether it would be accepted. */
export function quoteCommand(program: Command, context: () => Context): void {
  program
    .command('quote')
    .description('check an order or a top-up and show what it would debit, without buying')
    .argument('<package[:count]...>', 'what to check: a package code, or a code and a count', orderLine)
    .option('--esim-tran-no <id>', 'check a top-up of this eSIM, instead of an order')
    .option('--iccid <iccid>', 'check a top-up of the newest eSIM with this ICCID')
    .option('--transaction-id <id>', 'also check whether this transactionId is free; it is not taken')
    .option('--period-num <days>', 'of day passes: how many days', integer(1, PERIOD_NUM_MAX))
    .option('--amount <amount>', 'fail unless the total is exactly this, such as 9.00', amount)
    .addHelpText('after', HELP)
    .action(async (lines: OrderLineRequest[], options: QuoteOptions) => {
      const { client, print, paint } = context()
      const answer = await (isTopUp(options)
        ? client().quoteTopup(topUpOf(lines, options))
        : client().quote(orderOf(lines, options)))
      print(describe(answer, paint), answer)
    })
}

function isTopUp({ esimTranNo, iccid }: QuoteOptions): boolean {
  return esimTranNo !== undefined || iccid !== undefined
}

function topUpOf([line, ...others]: OrderLineRequest[], options: QuoteOptions) {
  if (line === undefined || others.length > 0 || line.count !== 1) {
    throw new CommandFailed('A top-up adds one package once. Name one package without a count.', EXIT.USAGE)
  }
  return { ...options, packageCode: line.packageCode }
}

function orderOf(lines: OrderLineRequest[], { periodNum, ...options }: QuoteOptions) {
  return {
    ...options,
    packageInfoList: periodNum === undefined ? lines : lines.map((line) => ({ ...line, periodNum })),
  }
}

function describe(answer: OrderDryRunAnswer | TopupDryRunAnswer | Order | Topup, paint: Paint): string {
  if (!('validateOnly' in answer)) {
    const { orderNo, orderStatus } = answer
    return `This transactionId was used before, with the same content: order ${orderNo}, ${orderStatus}.\n`
  }
  const lines = answer.packageInfoList.map((line) => [
    line.packageCode,
    line.packageName,
    `${line.count}`,
    line.periodNum === null ? '' : `${line.periodNum}`,
    money(line.price, answer.currencyCode),
    line.available === null ? '' : `${line.available}`,
  ])
  const rows = pairs([
    ['Amount', money(answer.amount, answer.currencyCode)],
    ['Balance afterwards', money(answer.balanceAfter, answer.currencyCode)],
  ])
  const headings = ['PACKAGE', 'NAME', '>COUNT', '>DAYS', '>PRICE', '>AVAILABLE']
  return `${table(headings, lines, paint)}\n${rows}Nothing was bought, and nothing is reserved.\n`
}

const HELP = `
A refused quote fails with the code of the refused order, such as 200007 when the balance is too low.

Examples:
  $ dealer-esim quote JP_1_7:2 EUROPE_5_30
  $ dealer-esim quote JP_1_7_TOPUP --iccid 8985200012345678904`
