import type { Ids } from '@dealer-esim/lib/ids.ts'
import { isAhead, type TimesAhead } from '@dealer-esim/lib/leases.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import type { Suppliers } from '../supplier-registry.ts'

/** How often a balance is read. */
export const READ_EVERY_MS = 15 * 60_000

/** Readings due later than their interval allows. Only a fast clock can have written such a time. */
export const BALANCES_AHEAD: TimesAhead = {
  table: 'supplier_balances',
  key: ['supplier'],
  isAhead: isAhead('due_at', String(READ_EVERY_MS)),
  repair: 'due_at = now()',
}

/** The operator's balance at a supplier, as last read. */
export interface SupplierBalance {
  supplier: string
  /** In 1/10 000; null if it was never read, as are its currency and time. */
  amount: bigint | null
  currencyCode: string | null
  readAt: Date | null
  /** The reason why the latest reading failed; null: it did not. */
  message: string | null
  /** Operators are alerted to a balance below this, in its currency; null: never. */
  alertBelow: bigint | null
  /** When the supplier began to refuse purchases for lack of money; null: it does not. */
  noMoneySince: Date | null
}

const STATE =
  'select supplier, amount, currency_code, read_at, message, alert_below, no_money_since from supplier_balances'

export function listBalances(db: Pick<Db, 'query'>): Promise<SupplierBalance[]> {
  return db.query<SupplierBalance>({ text: `${STATE} order by supplier` })
}

/** @returns undefined for a supplier whose balance the gateway never had to read */
export async function findBalance(db: Pick<Db, 'query'>, supplier: string): Promise<SupplierBalance | undefined> {
  const [row] = await db.query<SupplierBalance>({ text: `${STATE} where supplier = $1`, values: [supplier] })
  return row
}

/** @throws Refusal if the supplier does not exist, cannot be used, or does not state the balance */
export function requireBalance(suppliers: Pick<Suppliers, 'get'>, supplier: string): void {
  const known = suppliers.get(supplier)
  if (known === undefined) throw notFound('usable supplier', supplier)
  if (known.supplier.balance === undefined) {
    const message = `${supplier} has no balance to read: suppliers of type ${known.supplier.type} do not report one.`
    throw new Refusal(422, 'NO_BALANCE', message)
  }
}

/** The highest possible level: numbers in PostgreSQL and JSON are exact up to this value. */
export const ALERT_BELOW_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/** Sets the level below which operators are alerted; null: never. @throws Refusal */
export async function setAlertBelow(
  deps: { db: Db; ids: Ids; suppliers: Pick<Suppliers, 'get'> },
  supplier: string,
  alertBelow: bigint | null,
  by: By,
): Promise<void> {
  requireBalance(deps.suppliers, supplier)
  if (alertBelow !== null && (alertBelow <= 0n || alertBelow > ALERT_BELOW_MAX)) {
    throw new Refusal(422, 'INVALID', 'The level must be above zero. To turn the alert off, remove the level.')
  }
  await deps.db.tx(async (tx) => {
    await ensureBalance(tx, supplier)
    const [before] = await tx.query<Pick<SupplierBalance, 'alertBelow'>>(sql`
      select alert_below from supplier_balances where supplier = ${supplier} for no key update`)
    if (before!.alertBelow === alertBelow) return
    // Due now, so that a balance already below the level is reported immediately.
    tx.send(sql`
      update supplier_balances set alert_below = ${alertBelow}, is_low = false, due_at = least(due_at, now())
      where supplier = ${supplier}`)
    const asNumber = (level: bigint | null) => ({ alertBelow: level === null ? null : Number(level) })
    const sides = { before: asNumber(before!.alertBelow), after: asNumber(alertBelow) }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'supplier.alert_below', subject: supplier, ...sides })
  })
}

/** Adds the job that reads the balance at a supplier, due immediately. Does nothing if the job exists. */
export async function ensureBalance(tx: Pick<Tx, 'query'>, supplier: string): Promise<void> {
  await tx.query({
    text: `insert into supplier_balances (supplier, due_at)
           select $1, now() where exists (select from suppliers where supplier = $1) on conflict do nothing`,
    values: [supplier],
  })
}
