import type { Package, PackageListRequest } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { eachRow } from '#each-row.ts'
import { integer, list, sizeInBytes } from '../arguments.ts'
import type { Context } from '../context.ts'
import { money, more, table, time, volume } from '../output.ts'

interface Options extends Omit<PackageListRequest, 'locationCode' | 'type'> {
  location?: string
  topup?: boolean
  all?: boolean
}

/** `packages`: lists the packages on sale. */
export function packageCommands(program: Command, context: () => Context): void {
  program
    .command('packages')
    .description('list the packages that you may buy')
    .option('--location <code>', 'a country such as JP, !RG for regional packages, !GL for global ones')
    .option('--covers-all <codes>', 'packages that cover every one of these countries, such as JP,KR', list)
    .option('--volume-min <size>', 'at least this much data, such as 1GB, per day for day passes', sizeInBytes)
    .option('--duration-min <days>', 'valid for at least this many days', integer(1, 3_650))
    .option('--keyword <text>', 'part of a name, a code or a location')
    .option('--package-code <code>', 'only this package')
    .option('--slug <slug>', 'only the package with this slug')
    .option('--topup', 'packages that add to an eSIM, instead of those that deliver one')
    .option('--esim-tran-no <id>', 'with --topup: only those that fit this eSIM')
    .option('--iccid <iccid>', 'with --topup: only those that fit the newest eSIM with this ICCID')
    .option('--updated-since <time>', 'only packages that changed since then, including those taken off sale')
    .option('--page-size <count>', 'rows per page', integer(1, 500))
    .option('--cursor <cursor>', 'the next page: nextCursor of the previous page')
    .option('--all', 'get all pages')
    .addHelpText('after', HELP)
    .action(async ({ all, location, topup, ...filters }: Options) => {
      const request: PackageListRequest = {
        ...filters,
        ...(location !== undefined && { locationCode: location }),
        ...(topup && { type: 'TOPUP' }),
      }
      const { client, print, paint } = context()
      if (all) {
        const packageList: Package[] = []
        const esim = client()
        let asOf: string | undefined
        const pages = eachRow('packageList', async (cursor) => {
          const page = await esim.packages({ pageSize: 500, ...request, ...cursor })
          // Use the value of the first page, so that the next poll includes changes made while the pages are read.
          asOf ??= page.asOf
          return page
        })
        for await (const each of pages) packageList.push(each)
        return print(packageRows(packageList, paint), { packageList, nextCursor: null, asOf })
      }
      const page = await client().packages(request)
      print(packageRows(page.packageList, paint) + more(page.nextCursor, paint), page)
    })
}

const HELP = `
Examples:
  $ dealer-esim packages --location JP
  $ dealer-esim packages --covers-all JP,KR --volume-min 5GB --duration-min 10
  $ dealer-esim packages --topup --iccid 8985200012345678904
  $ dealer-esim packages --all --json`

function packageRows(packages: readonly Package[], paint: Context['paint']): string {
  const cells = packages.map((each) =>
    each.status === 'OFF_SALE'
      ? [each.packageCode, 'off sale', time(each.lastUpdateTime)]
      : [
          each.packageCode,
          each.name,
          `${volume(each.volume)}${each.dataType === 'DAILY' ? '/day' : ''}`,
          `${each.duration}`,
          money(each.price, each.currencyCode),
        ],
  )
  return table(['PACKAGE', 'NAME', '>DATA', '>DAYS', '>PRICE'], cells, paint)
}
