import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { shortList } from '@dealer-esim/lib/refusal.ts'
import type { Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { beginChange } from '#catalogue/catalogue-version.ts'
import type { ConfiguredSupplier } from '../supplier-registry.ts'
import { ensureBalance } from './balance-state.ts'

/*
 * A supplier that refuses a purchase for lack of money is skipped: its orders go to the next supplier of their package, or
 * wait for one, and a package without another supplier goes off sale. The supplier is used again once a reading
 * shows that its balance has risen or is sufficient, or once a trial purchase has succeeded.
 */

interface MoneyDeps {
  db: Db
  ids: Ids
  wake: Pick<Wakeups<'settings' | 'fulfilment'>, 'wake'>
}

/**
 * A supplier that has enough money for some purchases but not for others would alternate all day, so it is reported once a
 * day.
 */
const ALERT_INTERVAL = '1 day'

export function lacksMoney(outcomes: readonly Outcome[]): string | undefined {
  for (const outcome of outcomes) if (outcome.kind === 'retry' && outcome.noMoney) return outcome.message
  return undefined
}

/** Records what purchases have shown about the account, for all nodes. Writes only changes. */
export async function recordMoney(
  deps: MoneyDeps,
  { supplier, gate }: Pick<ConfiguredSupplier, 'supplier' | 'gate'>,
  outcomes: readonly Outcome[],
): Promise<void> {
  const message = lacksMoney(outcomes)
  if (message !== undefined) return recordLack(deps, supplier.name, message)
  if (!gate.lacksMoney || !outcomes.some(isBought)) return
  await deps.db.tx(async (tx) => {
    tx.send(sql`
      update supplier_balances set no_money_since = null
      where supplier = ${supplier.name} and no_money_since is not null`)
    makeOrdersDue(tx, supplier.name)
  })
  gate.lacksMoney = false
  await followMoney(deps.db)
  deps.wake.wake('settings')
  deps.wake.wake('fulfilment')
}

/** True if the supplier has sold something. */
export function isBought({ kind }: Outcome): boolean {
  return kind === 'delivered' || kind === 'toppedUp' || kind === 'ordered'
}

/** Makes a reading due immediately: the account may already have been topped up. */
async function recordLack(deps: MoneyDeps, supplier: string, message: string): Promise<void> {
  const isNew = await deps.db.tx(async (tx) => {
    await ensureBalance(tx, supplier)
    const [row] = await tx.query<{ isReported: boolean }>(sql`
      with before as (
        select supplier, no_money_alerted_at > now() - ${ALERT_INTERVAL}::interval as is_reported from supplier_balances
        where supplier = ${supplier} and no_money_since is null for no key update)
      update supplier_balances b set no_money_since = now(), due_at = least(due_at, now()),
        no_money_alerted_at = case when before.is_reported then no_money_alerted_at else now() end
      from before where b.supplier = before.supplier
      returning coalesce(before.is_reported, false) as is_reported`)
    if (row === undefined) return false
    if (row.isReported) return true
    const offSale = await listUnsellable(tx, supplier)
    const refusal = `${supplier} refuses purchases for lack of money: ${message.replace(/(?<!\.)\.+$/, '')}.`
    createAlert(tx, deps.ids, {
      kind: 'SUPPLIER_NO_MONEY',
      message: `${refusal} New orders go to the next supplier of their package. ${offSaleText(offSale)} Top up your account at ${supplier}. As soon as it has money again, the supplier is used and its packages return to sale automatically.`,
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
  return `Off sale, because your account at each of their suppliers is out of funds: ${shortList(packageCodes, NAMED_MAX)}. Paid orders for them wait.`
}

/*
 * Paid orders that can be bought only from suppliers without money are due at a later time. They are made due by the
 * transaction that records that a supplier has money again, so none is forgotten:
 *
 *   a claim that lets orders wait     locks the orders, then the supplier's balance (shared)
 *   a record that there is money      locks the balance, then the waiting orders, skipping locked ones
 *
 * A skipped order is being claimed: its claim sees the record, and does not let the order wait for long.
 */

/** Takes a shared lock on the balances of these suppliers until the commit. @returns the suppliers that lack money */
export async function lockLackOfMoney(
  tx: Pick<Tx, 'query'>,
  suppliers: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ supplier: string }>({
    name: 'suppliers-without-money',
    text: `select supplier from supplier_balances where supplier = any ($1::text[]) and no_money_since is not null
           order by supplier for share`,
    values: [suppliers],
  })
  return new Set(rows.map(({ supplier }) => supplier))
}

/**
 * Makes due the orders that may be waiting for money at a supplier, with one scan of all pending orders. A claim finds out
 * which of them are waiting for something else. Runs as a separate statement after the record that there is money, so that
 * it sees what earlier claims have committed.
 */
export function makeOrdersDue(tx: Pick<Tx, 'send'>, supplier: string): void {
  tx.send({
    name: 'suppliers-money-due',
    text: `with waiting as (
             select o.tenant_id, o.order_id from orders o
             where o.due_at > now() and exists (
               select from order_items i
               where i.tenant_id = o.tenant_id and i.order_id = o.order_id and i.item_status in ('WAITING', 'REVIEW')
                 and (i.supplier = $1 or i.supplier is null and exists (
                   select from package_suppliers r where r.package_code = i.package_code and r.supplier = $1)))
             for no key update skip locked)
           update orders o set due_at = now() from waiting w
           where o.tenant_id = w.tenant_id and o.order_id = w.order_id`,
    values: [supplier],
  })
}

/**
 * Takes off sale the packages whose suppliers all refuse purchases for lack of money, and puts them back when one of the
 * suppliers sells again. This is independent of the status that operators and rules give a package: a package is on sale
 * only if both allow it.
 * Compares all packages, which repairs changes that a stopped process has missed. Takes the catalogue's lock only if
 * something differs.
 * @returns the packages that changed
 */
export async function followMoney(db: Db): Promise<string[]> {
  if ((await listDiffering(db)).length === 0) return []
  return db.tx(async (tx) => {
    const change = await beginChange(tx)
    const codes = await listDiffering(tx)
    if (codes.length === 0) return []
    tx.send({
      text: `update packages set lacks_money = not lacks_money, touched_at = $2,
               sale_changed_at = case when on_sale then $2 else sale_changed_at end,
               updated_at = case when on_sale then $2 else updated_at end
             where package_code = any ($1)`,
      values: [codes, await change.stamp()],
    })
    change.checkTime()
    return codes
  })
}

/** A nonexistent supplier is skipped when an eSIM is bought, so it does not keep a package on sale. */
const ALL_LACK_MONEY = `
  exists (select from package_suppliers r join supplier_balances b using (supplier)
          where r.package_code = p.package_code and b.no_money_since is not null)
  and not exists (select from package_suppliers r join suppliers s using (supplier)
                  left join supplier_balances b using (supplier)
                  where r.package_code = p.package_code and b.no_money_since is null)`

async function listDiffering(db: Pick<Tx, 'query'>): Promise<string[]> {
  const rows = await db.query<{ packageCode: string }>({
    name: 'packages-follow-money',
    text: `with candidates as (
             select r.package_code from supplier_balances b join package_suppliers r using (supplier)
             where b.no_money_since is not null
             union select package_code from packages where lacks_money)
           select p.package_code from candidates join packages p using (package_code)
           where p.lacks_money <> (${ALL_LACK_MONEY}) order by 1`,
  })
  return rows.map(({ packageCode }) => packageCode)
}

/** The supplier's packages that are on sale even though all of their suppliers lack money. */
async function listUnsellable(tx: Pick<Tx, 'query'>, supplier: string): Promise<string[]> {
  const rows = await tx.query<{ packageCode: string }>({
    text: `select p.package_code from packages p
           where p.on_sale and exists (select from package_suppliers r
                                       where r.package_code = p.package_code and r.supplier = $1)
             and ${ALL_LACK_MONEY} order by 1`,
    values: [supplier],
  })
  return rows.map(({ packageCode }) => packageCode)
}
