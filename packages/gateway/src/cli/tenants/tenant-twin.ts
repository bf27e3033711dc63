import { formatMoney } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { getTwin, type TwinView } from '#operations/twins/find-twin.ts'
import { createTwin, deleteTwin, resetTwin } from '#operations/twins/manage-twins.ts'
import { withTwins } from '../kernel/cli-deps.ts'
import type { AdminContext } from '../kernel/context.ts'
import { fields, timeText } from '../kernel/text-table.ts'

/** A dealer's test twin: an account on this gateway with which the dealer tries everything without money. */
export function twinCommands(tenant: Command, context: AdminContext): void {
  const twin = tenant
    .command('twin')
    .description('A dealer’s test twin: its own credentials, wallet and orders, without money and without suppliers.')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- tenant twin create ID')
  twin
    .command('create <tenant-id>')
    .description(
      'Create the test twin, with 1 000 units of the dealer’s currency to spend. Its AppSecret is shown only now.',
    )
    .action((tenantId: string) =>
      context.withDeps(async (live) => {
        const credentials = await withTwins(live, { create: true }, (twins) =>
          createTwin(live, async () => twins!, tenantId, context.by),
        )
        const human = fields([
          ['Test twin', credentials.tenantId],
          ['AppKey', credentials.appKey],
          ['AppSecret', credentials.appSecret],
        ])
        context.print(`${human}\nStore the AppSecret: this command does not show it again.`, credentials)
      }),
    )
  twin
    .command('show <tenant-id>')
    .description('Show the test twin. Secrets are not shown.')
    .action((tenantId: string) =>
      context.withDeps(async (live) => {
        const view = await withTwins(live, { create: false }, (twins) => getTwin(twins, tenantId))
        context.print(twinText(view), view)
      }),
    )
  twin
    .command('reset <tenant-id>')
    .description(
      'Delete the orders, eSIMs, events, callback URL and entries of the test twin, and give it a new wallet. Its credentials, keys and settings stay.',
    )
    .action((tenantId: string) =>
      context.withDeps(async (live) => {
        const view = await withTwins(live, { create: false }, (twins) => resetTwin(live, twins, tenantId, context.by))
        context.print(`${twinText(view)}\nReset.`, view)
      }),
    )
  twin
    .command('delete <tenant-id>')
    .description('Delete the test twin with everything that it holds. Its AppKey is never given again.')
    .action((tenantId: string) =>
      context.withDeps(async (live) => {
        const view = await withTwins(live, { create: false }, (twins) => deleteTwin(live, twins, tenantId, context.by))
        context.print(`Deleted. Requests with ${view.appKey} are refused from now on.`, view)
      }),
    )
}

function twinText(twin: TwinView): string {
  return fields([
    ['Test twin', twin.tenantId],
    ['Of dealer', `${twin.clientName} (${twin.liveTenantId})`],
    ['AppKey', twin.appKey],
    ['Balance', `${formatMoney(twin.balance)} ${twin.currencyCode}`],
    ['Resets', String(twin.resets)],
    ['Created', timeText(twin.createdAt)],
  ])
}
