import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { money, pairs, time } from '../output.ts'

/** `health` and `balance`. */
export function accountCommands(program: Command, context: () => Context): void {
  program
    .command('health')
    .description('check the connection, the clock and the credentials')
    .action(async () => {
      const { client, credentials, print } = context()
      const health = await client().health()
      const rows = pairs([
        ['Gateway', credentials().baseUrl],
        ['Status', health.status],
        ['Account', health.clientName],
        ['Tenant', health.tenantId],
      ])
      print(rows, health)
    })

  program
    .command('balance')
    .description('show the balance')
    .action(async () => {
      const { client, print } = context()
      const account = await client().balance()
      const { currencyCode } = account
      const rows = pairs([
        ['Available', money(account.availableBalance, currencyCode)],
        ['Balance', money(account.balance, currencyCode)],
        ['Credit limit', money(account.creditLimit, currencyCode)],
        ['Alert below', account.lowBalanceThreshold === null ? null : money(account.lowBalanceThreshold, currencyCode)],
        ['Last change', time(account.lastUpdateTime)],
      ])
      print(rows, account)
    })
}
