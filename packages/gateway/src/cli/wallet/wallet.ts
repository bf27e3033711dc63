import { formatMoney, parseMoney } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { getTenantId } from '#tenants/tenant-views.ts'
import { getBalance } from '#wallet/ledger/balance.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import type { AdminContext } from '../kernel/context.ts'
import { fields, timeText } from '../kernel/text-table.ts'
import { adjustmentCommands } from './wallet-adjust.ts'
import { statementCommand } from './wallet-statement.ts'

export function walletCommands(wallet: Command, context: AdminContext): void {
  wallet
    .command('balance <tenant-id>')
    .description('Show a wallet’s balance, limits and available amount.')
    .action((tenantId: string) =>
      context.withDeps(async (deps) => {
        const balance = await getBalance(deps.db, await getTenantId(deps.db, tenantId))
        const money = (amount: number | null) =>
          amount === null ? 'none' : `${formatMoney(amount)} ${balance.currencyCode}`
        const human = fields([
          ['Balance', money(balance.balance)],
          ['Credit limit', money(balance.creditLimit)],
          ['Available', money(balance.availableBalance)],
          ['Low-balance threshold', money(balance.lowBalanceThreshold)],
          ['Changed', timeText(new Date(balance.lastUpdateTime))],
        ])
        context.print(human, balance)
      }),
    )
  wallet
    .command('top-up <tenant-id> <amount>')
    .description(
      'Credit a payment. A reference is posted once: repeating it with the same amount shows the first posting, another amount is refused.',
    )
    .requiredOption('--reference <text>', 'the payment’s reference, such as the number on the bank statement')
    .option('--reason <text>', 'shown in the statement')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- wallet top-up ID 1250.00 --reference INV-2026-0042')
    .action(async (tenantId: string, amountText: string, options: { reference: string; reason?: string }) => {
      const input = { tenantId, amount: parseMoney(amountText), ...options }
      await context.withDeps(async (deps) => {
        const answer = await topUp(deps, input, context.by)
        const balance = `${formatMoney(answer.balanceAfter)} ${answer.currencyCode}`
        const human = answer.replayed
          ? `This reference was already posted (${timeText(answer.createdAt)}), so nothing was posted now. The balance was then ${balance}.`
          : `Posted ${formatMoney(answer.amount)}. The balance is ${balance}.`
        context.print(human, answer)
      })
    })
  statementCommand(wallet, context)
  adjustmentCommands(wallet, context)
}
