import type {
  EsimUsage,
  LocationListRequest,
  OrderListRequest,
  OrderSummary,
  StatementEntry,
  StatementRequest,
} from '@dealer-esim/contract'
import type { Command } from 'commander'
import { integer } from '../arguments.ts'
import type { Context } from '../context.ts'
import { money, more, type Paint, partOf, printable, table, time, volume } from '../output.ts'

type Paged<T> = T & { all?: boolean }

/** `orders`, `statement`, `usage` and `locations`: the gateway's records. */
export function listCommands(program: Command, context: () => Context): void {
  program
    .command('orders')
    .description('list your orders, newest first')
    .option('--order-status <status>', 'such as DELIVERED or UNDER_REVIEW')
    .option('--order-type <type>', 'NEW or TOPUP')
    .option('--start-time <time>', 'placed at this time or later')
    .option('--end-time <time>', 'placed before this time')
    .option('--page-size <count>', 'rows per page', integer(1, 500))
    .option('--cursor <cursor>', 'the next page: nextCursor of the previous page')
    .option('--all', 'get all pages')
    .addHelpText('after', '\nExamples:\n  $ dealer-esim orders --order-status UNDER_REVIEW')
    .action(async ({ all, ...request }: Paged<OrderListRequest>) => {
      const { client, print, paint } = context()
      if (all) {
        const orderList = await listOf(client().eachOrder({ pageSize: 500, ...request }))
        return print(orderRows(orderList, paint), { orderList, nextCursor: null })
      }
      const page = await client().orders(request)
      print(orderRows(page.orderList, paint) + more(page.nextCursor, paint), page)
    })

  program
    .command('statement')
    .description('list the movements of your balance, newest first')
    .option('--kind <kind>', 'ORDER, TOPUP, REFUND, WALLET_TOPUP or ADJUSTMENT')
    .option('--start-time <time>', 'at this time or later')
    .option('--end-time <time>', 'before this time')
    .option('--page-size <count>', 'rows per page', integer(1, 500))
    .option('--cursor <cursor>', 'the next page: nextCursor of the previous page')
    .option('--all', 'get all pages')
    .addHelpText('after', '\nExamples:\n  $ dealer-esim statement --start-time 2026-11-01T00:00:00Z --all --json')
    .action(async ({ all, ...request }: Paged<StatementRequest>) => {
      const { client, print, paint } = context()
      if (all) {
        const entryList = await listOf(client().eachEntry({ pageSize: 500, ...request }))
        return print(entryRows(entryList, paint), { entryList, nextCursor: null })
      }
      const page = await client().statement(request)
      print(entryRows(page.entryList, paint) + more(page.nextCursor, paint), page)
    })

  program
    .command('usage')
    .description('show data usage and expiry of eSIMs')
    .argument('<esimTranNo...>', 'up to 100 eSIMs')
    .action(async (esimTranNoList: string[]) => {
      const { client, print, paint } = context()
      const answer = await client().usage({ esimTranNoList })
      const missing = answer.notFound.map((each) => `There is no eSIM ${printable(each)}.\n`).join('')
      print(usageRows(answer.esimUsageList, paint) + missing, answer)
    })

  program
    .command('locations')
    .description('list countries and the regional and global coverage on sale')
    .option('--language <tag>', 'language of the names, such as de or zh-Hans')
    .action(async (request: LocationListRequest) => {
      const { client, print, paint } = context()
      const answer = await client().locations(request)
      const cells = answer.locationList.map((each) => [each.locationCode, each.name, each.subLocationCodes.join(' ')])
      print(table(['CODE', 'NAME', 'COUNTRIES'], cells, paint), answer)
    })
}

async function listOf<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const row of rows) list.push(row)
  return list
}

function orderRows(orders: readonly OrderSummary[], paint: Paint): string {
  const cells = orders.map((each) => [
    each.orderNo,
    each.transactionId,
    each.orderType,
    each.orderStatus,
    each.packageInfoList.map((line) => `${line.count} × ${line.packageCode}`).join(', '),
    money(each.amount, each.currencyCode),
    time(each.createTime),
  ])
  return table(['ORDER', 'TRANSACTION', 'TYPE', 'STATUS', 'PACKAGES', '>AMOUNT', 'PLACED'], cells, paint)
}

function entryRows(entries: readonly StatementEntry[], paint: Paint): string {
  const cells = entries.map((each) => [
    each.entryNo,
    time(each.createTime),
    each.kind,
    money(each.amount, each.currencyCode),
    money(each.balanceAfter, each.currencyCode),
    each.orderNo ?? each.reference ?? '',
  ])
  return table(['>NO', 'TIME', 'KIND', '>AMOUNT', '>BALANCE', 'ORDER OR REFERENCE'], cells, paint)
}

function usageRows(usages: readonly EsimUsage[], paint: Paint): string {
  const cells = usages.map((each) => [
    each.esimTranNo,
    each.iccid,
    each.suspended ? `${each.esimStatus}, suspended` : each.esimStatus,
    partOf(each.totalVolume, each.orderUsage),
    volume(each.totalVolume),
    partOf(each.totalVolume, each.remaining),
    time(each.expiredTime),
  ])
  return table(['ESIM', 'ICCID', 'STATUS', '>USED', '>TOTAL', '>LEFT', 'EXPIRES'], cells, paint)
}
