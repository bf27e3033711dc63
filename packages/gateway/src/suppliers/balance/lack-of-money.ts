import { createAlert } from '../../alerts/alerts.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Db } from '../../lib/postgres/db.ts'
import type { Wakeups } from '../../lib/postgres/wakeups.ts'
import { shortList } from '../../lib/short-list.ts'
import type { ConfiguredSupplier } from '../registry.ts'
import type { Outcome } from '../supplier.ts'
import { ensureBalance } from './balance-state.ts'
import { followMoney, listUnsellable } from './packages-without-money.ts'
import { makeOrdersDue } from './waiting-orders.ts'

/*
 * A supplier that refuses a purchase for lack of money is skipped: its orders go to the next supplier of their package, or
 * wait if there is no other, and a package without another one is off sale. It sells again after its balance was read to
 * have risen or to be enough, or a trial purchase has succeeded.
 */

interface MoneyDeps {
  db: Db
  ids: Ids
  wake: Pick<Wakeups<'settings' | 'fulfilment'>, 'wake'>
}

/** A supplier that alternates between having money for some purchases and not for others is reported once a day. */
const ALERT_INTERVAL = '1 day'

export function lacksMoney(outcomes: readonly Outcome[]): string | undefined {
  for (const outcome of outcomes) if (outcome.kind === 'retry' && outcome.noMoney) return outcome.message
  return undefined
}

/** Records what purchases have shown about the account, for all nodes. Writes only where that has changed. */
export async function recordMoney(
  deps: MoneyDeps,
  { supplier, gate }: Pick<ConfiguredSupplier, 'supplier' | 'gate'>,
  outcomes: readonly Outcome[],
): Promise<void> {
  const message = lacksMoney(outcomes)
  if (message !== undefined) return recordLack(deps, supplier.name, message)
  if (!gate.lacksMoney || !outcomes.some(isBought)) return
  await deps.db.tx(async (tx) => {
    tx.send({
      text: 'update supplier_balances set no_money_since = null where supplier = $1 and no_money_since is not null',
      values: [supplier.name],
    })
    makeOrdersDue(tx, supplier.name)
  })
  gate.lacksMoney = false
  await followMoney(deps.db)
  deps.wake.wake('settings')
  deps.wake.wake('fulfilment')
}

function isBought({ kind }: Outcome): boolean {
  return kind === 'delivered' || kind === 'toppedUp' || kind === 'ordered'
}

/** Makes a reading due at once: the account may have been topped up already. */
async function recordLack(deps: MoneyDeps, supplier: string, message: string): Promise<void> {
  const isNew = await deps.db.tx(async (tx) => {
    await ensureBalance(tx, supplier)
    const [row] = await tx.query<{ isReported: boolean }>({
      text: `with before as (
               select supplier, no_money_alerted_at > now() - $2::interval as is_reported from supplier_balances
               where supplier = $1 and no_money_since is null for no key update)
             update supplier_balances b set no_money_since = now(), due_at = least(due_at, now()),
               no_money_alerted_at = case when before.is_reported then no_money_alerted_at else now() end
             from before where b.supplier = before.supplier
             returning coalesce(before.is_reported, false) as is_reported`,
      values: [supplier, ALERT_INTERVAL],
    })
    if (row === undefined) return false
    if (row.isReported) return true
    const offSale = await listUnsellable(tx, supplier)
    const refusal = `${supplier} refuses purchases for lack of money: ${message.replace(/\.+$/, '')}.`
    createAlert(tx, deps.ids, {
      tenantId: null,
      kind: 'SUPPLIER_NO_MONEY',
      audience: 'OPERATOR',
      message: `${refusal} New orders go to the next supplier of their package. ${offSaleText(offSale)} Top up your account at ${supplier}: it is used again, and its packages come back, by themselves as soon as it has money.`,
      data: { supplier, packagesOffSale: offSale.length },
    })
    return true
  })
  if (!isNew) return
  await followMoney(deps.db)
  deps.wake.wake('settings')
}

const NAMED_MAX = 5

function offSaleText(packageCodes: readonly string[]): string {
  if (packageCodes.length === 0) return 'No package is without another supplier.'
  return `Off sale, because no other supplier has money for them: ${shortList(packageCodes, NAMED_MAX)}. Orders of these that are paid already wait.`
}
