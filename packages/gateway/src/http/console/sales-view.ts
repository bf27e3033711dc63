import type { Sums } from '#sales/list-sales.ts'

export interface SalesView {
  items: number
  sales: bigint
  refunds: bigint
  /** Sales less refunds. */
  revenue: bigint
  cost: bigint
  /** Revenue less cost of the items whose cost is known; null if no item's cost is known. */
  margin: bigint | null
  /** Revenue of the items whose cost is known. */
  marginRevenue: bigint
  unknownItems: number
  unknownRevenue: bigint
}

export const NO_SALES: Sums = { items: 0, sales: 0n, refunds: 0n, cost: 0n, unknownItems: 0, unknownRevenue: 0n }

/** Never assumes a margin: items without a cost in the currency of their sale are left out, and counted as unknown. */
export function viewOf({ items, sales, refunds, cost, unknownItems, unknownRevenue }: Sums): SalesView {
  const revenue = sales - refunds
  const marginRevenue = revenue - unknownRevenue
  const isKnown = unknownItems === 0 || marginRevenue !== 0n || cost !== 0n
  const margin = isKnown ? marginRevenue - cost : null
  return { items, sales, refunds, revenue, cost, margin, marginRevenue, unknownItems, unknownRevenue }
}

export function addSums(left: Sums, right: Sums): Sums {
  return {
    items: left.items + right.items,
    sales: left.sales + right.sales,
    refunds: left.refunds + right.refunds,
    cost: left.cost + right.cost,
    unknownItems: left.unknownItems + right.unknownItems,
    unknownRevenue: left.unknownRevenue + right.unknownRevenue,
  }
}

const DAY_MS = 86_400_000

export function daysAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}

export function daysBetween(from: string, to: string): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS + 1
}
