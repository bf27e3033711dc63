import type { Profile, ProfileListRequest } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { integer } from '../arguments.ts'
import type { Context } from '../context.ts'
import { more, type Paint, table, time, volume } from '../output.ts'

interface Options extends ProfileListRequest {
  all?: boolean
  codes?: boolean
}

/** `profiles`: lists the eSIMs bought. */
export function profileCommands(program: Command, context: () => Context): void {
  program
    .command('profiles')
    .description('list your eSIMs, newest first')
    .option('--order-no <orderNo>', 'eSIMs of this order')
    .option('--transaction-id <id>', 'eSIMs of the order with this transactionId')
    .option('--esim-tran-no <esimTranNo>', 'only this eSIM')
    .option('--iccid <iccid>', 'eSIMs with this ICCID')
    .option('--esim-status <status>', 'such as GOT_RESOURCE or IN_USE')
    .option('--smdp-status <status>', 'such as RELEASED or ENABLED')
    .option('--start-time <time>', 'created at this time or later')
    .option('--end-time <time>', 'created before this time')
    .option('--page-size <count>', 'rows per page', integer(1, 500))
    .option('--cursor <cursor>', 'the next page: nextCursor of the previous page')
    .option('--all', 'get all pages')
    .option('--codes', 'show activation codes and QR links, with which anybody can install the eSIM')
    .addHelpText('after', '\nExamples:\n  $ dealer-esim profiles --transaction-id T-1 --codes')
    .action(async ({ all, codes, ...request }: Options) => {
      const { client, print, paint } = context()
      const show = codes ? codeRows : profileRows
      if (all) {
        const profileList: Profile[] = []
        for await (const each of client().eachProfile({ pageSize: 500, ...request })) profileList.push(each)
        return print(show(profileList, paint), { profileList, nextCursor: null })
      }
      const page = await client().profiles(request)
      print(show(page.profileList, paint) + more(page.nextCursor, paint), page)
    })
}

/** eSIMs without activation codes and links. */
export function profileRows(profiles: readonly Profile[], paint: Paint): string {
  const cells = profiles.map((each) => [
    each.esimTranNo,
    each.iccid,
    each.packageCode,
    each.esimStatus,
    each.smdpStatus ?? '',
    each.orderUsage === null ? '' : `${volume(each.orderUsage)} of ${volume(each.totalVolume)}`,
    time(each.createTime),
  ])
  return table(['ESIM', 'ICCID', 'PACKAGE', 'STATUS', 'SM-DP+', 'USED', 'CREATED'], cells, paint)
}

export function codeRows(profiles: readonly Profile[], paint: Paint): string {
  const cells = profiles.map((each) => [each.iccid, each.ac, each.confirmationCode ?? '', each.qrCodeUrl])
  return table(['ICCID', 'ACTIVATION CODE', 'CONFIRMATION', 'INSTALL PAGE'], cells, paint)
}
