import { formatMoney, parseMoney } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import { differenceText, listUnexplainedDays } from '#suppliers/balance/balance-days.ts'
import {
  ensureBalance,
  findBalance,
  listBalances,
  requireBalance,
  type SupplierBalance,
  setAlertBelow,
} from '#suppliers/balance/balance-state.ts'
import { claimBalance, readBalance } from '#suppliers/balance/read-balance.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { withSuppliers } from '../kernel/cli-outbound.ts'
import type { AdminContext } from '../kernel/context.ts'
import { table, timeText } from '../kernel/text-table.ts'

/** The operator's balances at suppliers. */
export function supplierBalanceCommand(supplier: Command, context: AdminContext): void {
  supplier
    .command('balance [name]')
    .description('Read your balance at a supplier now. Without a name: your balances as they were read last.')
    .option('--alert-below <amount>', 'alert when the balance is below this from now on; “none”: never')
    .action((name: string | undefined, { alertBelow }: { alertBelow?: string }) =>
      context.withDeps(async (deps) => {
        if (name !== undefined && alertBelow !== undefined) return setLevel(deps, context, name, alertBelow)
        if (name !== undefined) return read(deps, context, name)
        if (alertBelow !== undefined)
          throw new UsageError('Specify the supplier: supplier balance NAME --alert-below 100.')
        printBalances(context, await listBalances(deps.db))
      }),
    )
}

async function setLevel(deps: AdminDeps, context: AdminContext, name: string, text: string): Promise<void> {
  const level = text === 'none' ? null : parseMoney(text)
  await withSuppliers(deps, (suppliers) => setAlertBelow({ ...deps, suppliers }, name, level, context.by))
  const human =
    level === null
      ? `The alert about the balance at ${name} is off.`
      : `You will be alerted when your balance at ${name} is below ${formatMoney(level)}.`
  context.print(human, { name, alertBelow: level })
}

async function read(deps: AdminDeps, context: AdminContext, name: string): Promise<void> {
  await withSuppliers(deps, async (suppliers) => {
    requireBalance(suppliers, name)
    await ensureBalance(deps.db, name)
    const claim = await claimBalance(deps.db, [name], true)
    if (claim === undefined) return // a worker is reading it right now
    const outcome = await readBalance(deps, claim, suppliers.get(name)!.supplier)
    if (outcome.kind === 'silent') throw new Refusal(422, 'BALANCE_UNREADABLE', `${outcome.message}.`)
  })
  const balance = await findBalance(deps.db, name)
  const unexplainedDays = await listUnexplainedDays(deps.db, name)
  const days = unexplainedDays.map((day) => `\n${day.day}: ${differenceText(day)} by the purchases of this gateway`)
  if (unexplainedDays.length > 0) context.exitCode = 1
  context.print((balance ? amountText(balance) : 'unknown') + days.join(''), { ...balance, unexplainedDays })
}

function printBalances(context: AdminContext, balances: readonly SupplierBalance[]): void {
  const columns = [
    { title: 'SUPPLIER', value: (row: SupplierBalance) => row.supplier },
    { title: 'BALANCE', value: amountText, right: true },
    { title: 'READ', value: (row: SupplierBalance) => timeText(row.readAt) },
    {
      title: 'ALERT BELOW',
      value: (row: SupplierBalance) => (row.alertBelow === null ? '' : formatMoney(row.alertBelow)),
      right: true,
    },
    { title: 'MESSAGE', value: messageText },
  ]
  const empty = 'No balance has been read yet. Workers read the balances at suppliers that report one.'
  context.print(table(balances, columns, empty), { balanceList: balances })
}

function messageText({ noMoneySince, message }: SupplierBalance): string {
  if (noMoneySince !== null) return `has refused purchases for lack of money since ${timeText(noMoneySince)}`
  return message ?? ''
}

function amountText({ amount, currencyCode }: SupplierBalance): string {
  return amount === null ? 'unknown' : `${formatMoney(amount)} ${currencyCode}`
}
