import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { createAlert } from '#alerts/create-alert.ts'
import type { Snapshot } from '#catalogue/catalogue.ts'
import type { LockedItem, LockedOrder } from '#orders/lock-orders.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { lockBudgets, type SpendBudget } from '#suppliers/verification/spend-limit.ts'
import type { Attempt } from './outcomes/outcome-items.ts'
import type { Step } from './plan-step.ts'

type OrderStep = Extract<Step, { do: 'order' }>
type SupplierNames = ReadonlySet<string>

/** The daily spend limits of suppliers while one claim is decided. */
export interface SpendLimits {
  /**
   * The item's step within the limits. A purchase beyond its supplier's limit is made from a later supplier of the package,
   * or waits as if its supplier were paused. The same applies if its cost is unknown in the currency of the limit.
   * @param next the step if these suppliers are left out
   */
  within(
    of: { order: LockedOrder; item: LockedItem },
    missing: SupplierNames,
    next: (excluded: SupplierNames) => Step,
  ): Step
  /** Sets the amount that each attempt counts for, and alerts operators if a limit was reached. */
  count(attempts: readonly Attempt[]): Promise<void>
}

/** The same wait as for a paused supplier. */
const WAIT_MS = 10_000

/** Reads the limits. If none of the orders' suppliers has a limit, no statement is sent. Locks: see lockBudgets. */
export async function readSpendLimits(
  tx: Tx,
  deps: { ids: Ids; suppliers: Suppliers },
  catalogue: Snapshot,
  { orders, now }: { orders: readonly LockedOrder[]; now: Date },
): Promise<SpendLimits> {
  const limited = deps.suppliers.all().flatMap((one) => (one.hasSpendLimit ? [one.supplier.name] : []))
  const named = limited.length === 0 ? [] : limited.filter((name) => suppliersOf(orders, catalogue).has(name))
  if (named.length === 0) return NO_LIMITS
  const limits = keepWithin(await lockBudgets(tx, named, now), new Date(now.getTime() + WAIT_MS))
  return {
    within: limits.within,
    async count(attempts) {
      for (const attempt of attempts) attempt.spend = limits.spends.get(attempt.key) ?? null
      if (limits.reached.size > 0) await alertOnce(tx, deps.ids, limits.reached, now)
    },
  }
}

const NO_LIMITS: SpendLimits = { within: (_, missing, next) => next(missing), count: async () => {} }

/** Suppliers from which the orders can currently be bought. */
export function suppliersOf(orders: readonly LockedOrder[], catalogue: Snapshot): Set<string> {
  const names = new Set<string>()
  for (const { items } of orders) {
    for (const { itemStatus, supplier, packageCode } of items) {
      if (itemStatus !== 'WAITING' && itemStatus !== 'REVIEW') continue
      if (supplier !== null) names.add(supplier)
      for (const route of catalogue.find(packageCode)?.routes ?? []) names.add(route.supplier)
    }
  }
  return names
}

/** Keeps purchases within the budgets, in the order in which they are requested. No I/O. */
function keepWithin(budgets: ReadonlyMap<string, SpendBudget>, until: Date) {
  const left = new Map([...budgets].map(([supplier, budget]) => [supplier, budget.left]))
  const reached = new Set<string>()
  /** By item key. */
  const spends = new Map<string, bigint>()

  /** @returns whether the purchase may be made; if so, it counts */
  function take({ route }: OrderStep, key: string, days: number): boolean {
    const budget = left.get(route.supplier)
    if (budget === undefined) return true
    const isKnown = route.cost !== null && route.costCurrency === budgets.get(route.supplier)!.currencyCode
    const cost = isKnown ? route.cost! * BigInt(days) : undefined
    if (cost === undefined || cost > budget) return false
    left.set(route.supplier, budget - cost)
    spends.set(key, cost)
    return true
  }

  const within: SpendLimits['within'] = ({ order, item }, missing, next) => {
    const key = itemKeyOf(order.orderId, item.itemNo)
    const days = order.packageLines[item.lineNo]?.periodNum ?? 1
    const excluded = new Set(missing)
    const first = next(missing)
    for (let step = first; step.do === 'order'; step = next(excluded)) {
      if (take(step, key, days)) return step
      const { supplier } = step.route
      reached.add(supplier)
      // The item stays with the supplier from which it was ordered before.
      if (item.supplier !== null) break
      excluded.add(supplier)
    }
    return first.do === 'order' ? { do: 'wait', until } : first
  }
  return { within, reached, spends }
}

/** Alerts operators once per UTC day for each supplier. Locks the rows, which lockBudgets has already locked. */
async function alertOnce(tx: Tx, ids: Ids, reached: SupplierNames, now: Date): Promise<void> {
  const first = await tx.query<{ supplier: string }>({
    name: 'spend-limits-reached',
    text: `update suppliers set spend_alerted_on = ($2::timestamptz at time zone 'UTC')::date
           where supplier = any ($1::text[])
             and spend_alerted_on is distinct from ($2::timestamptz at time zone 'UTC')::date returning supplier`,
    values: [[...reached], now],
  })
  for (const { supplier } of first) {
    const what = `An eSIM could not be bought from ${supplier} within its daily spend limit, or its cost is not in the catalogue in the currency of the limit.`
    const message = `${what} The eSIM will wait, or be bought from the package's next supplier. Raise dailySpendLimit, or verify the supplier and remove the limit.`
    createAlert(tx, ids, {
      kind: 'SUPPLIER_SPEND_LIMIT',
      message,
      data: { supplier },
    })
  }
}
