import { timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { expect } from 'vitest'

interface ItemRow {
  tenantId: string
  orderId: string
  orderType: string
  currencyCode: string
  packageCode: string
  price: bigint
  itemStatus: string
  supplier: string | null
  cost: bigint | null
  costCurrency: string | null
  supplierCharge: bigint | null
  supplierChargeCurrency: string | null
  days: number | null
  esimStatus: string | null
  refunds: bigint
}

const NO_SUMS = { items: 0, revenue: 0n, refunds: 0n, cost: 0n, unknownItems: 0, unknownRevenue: 0n }
type Sums = typeof NO_SUMS

/**
 * Adds up all items and orders in the database according to the documented rules, one by one, and compares the sums with
 * the tables.
 */
export async function expectSumsToEqualRows(db: Db): Promise<void> {
  await expectCellsToEqualOrders(db)
  const items = await db.query<ItemRow>({
    text: `select o.tenant_id, o.order_id, o.order_type, o.currency_code, i.package_code, i.price, i.item_status, i.supplier,
             i.cost, i.cost_currency, i.supplier_charge, i.supplier_charge_currency,
             (o.package_lines -> i.line_no ->> 'periodNum')::int as days, p.esim_status,
             coalesce((select sum(amount) from transfers t where t.tenant_id = i.tenant_id and t.order_id = i.order_id
               and t.item_no = i.item_no and t.kind = 'REFUND'), 0)::bigint as refunds
           from orders o join order_items i using (tenant_id, order_id)
             left join profiles p using (tenant_id, order_id, item_no)`,
  })
  const names = 'order_type, currency_code, items, revenue, refunds, cost, unknown_items, unknown_revenue'
  for (const [table, members, keyOf] of [
    ['daily_sales', 'tenant_id, package_code, supplier', (row: Keys) => [row.tenantId, row.packageCode, row.supplier]],
    ['daily_sales_tenants', 'tenant_id', (row: Keys) => [row.tenantId]],
    ['daily_sales_tenant_suppliers', 'tenant_id, supplier', (row: Keys) => [row.tenantId, row.supplier]],
    ['monthly_sales_tenants', 'tenant_id', (row: Keys) => [row.tenantId]],
    ['daily_sales_packages', 'package_code, supplier', (row: Keys) => [row.packageCode, row.supplier]],
  ] as const) {
    const isMonthly = table === 'monthly_sales_tenants'
    const expected = new Map<string, Sums>()
    for (const item of items) {
      const keys = keysOf(item)
      const day = isMonthly ? `${keys.day.slice(0, 7)}-01` : keys.day
      const key = [day, item.orderType, item.currencyCode, ...keyOf(keys)].join(' ')
      expected.set(key, add(expected.get(key) ?? NO_SUMS, sumsOf(item)))
    }
    const rows = await db.query<Keys & Sums & { orderType: string; currencyCode: string }>({
      text: `select ${isMonthly ? 'month' : 'day'}::text as day, ${names}, ${members} from ${table}`,
    })
    const found = new Map<string, Sums>()
    for (const row of rows) {
      const { items, revenue, refunds, cost, unknownItems, unknownRevenue } = row
      const key = [row.day, row.orderType, row.currencyCode, ...keyOf(row)].join(' ')
      // daily_sales contains rows for several outcomes.
      found.set(key, add(found.get(key) ?? NO_SUMS, { items, revenue, refunds, cost, unknownItems, unknownRevenue }))
    }
    expect([table, new Map([...found].sort(byKey))]).toEqual([table, new Map([...expected].sort(byKey))])
  }
}

interface Keys {
  tenantId: string
  day: string
  packageCode: string
  supplier: string
}

function keysOf({ tenantId, orderId, packageCode, itemStatus, supplier }: ItemRow): Keys {
  const day = new Date(timeOfUuid(orderId)).toISOString().slice(0, 10)
  return { tenantId, day, packageCode, supplier: itemStatus === 'DELIVERED' ? (supplier ?? '') : '' }
}

function sumsOf(item: ItemRow): Sums {
  const cost = costOf(item)
  const unknown = cost === undefined ? { unknownItems: 1, unknownRevenue: item.price - item.refunds } : {}
  return { ...NO_SUMS, items: 1, revenue: item.price, refunds: item.refunds, cost: cost ?? 0n, ...unknown }
}

function costOf(item: ItemRow): bigint | undefined {
  const { itemStatus, esimStatus, currencyCode } = item
  if (itemStatus === 'REFUSED' || itemStatus === 'CANCELLED' || esimStatus === 'CANCEL') return 0n
  if (itemStatus !== 'DELIVERED') return undefined
  if (item.supplierCharge !== null)
    return item.supplierChargeCurrency === currencyCode ? item.supplierCharge : undefined
  return item.cost !== null && item.costCurrency === currencyCode ? item.cost * BigInt(item.days ?? 1) : undefined
}

function add(left: Sums, right: Sums): Sums {
  return {
    items: left.items + right.items,
    revenue: left.revenue + right.revenue,
    refunds: left.refunds + right.refunds,
    cost: left.cost + right.cost,
    unknownItems: left.unknownItems + right.unknownItems,
    unknownRevenue: left.unknownRevenue + right.unknownRevenue,
  }
}

function byKey([left]: readonly [string, Sums], [right]: readonly [string, Sums]): number {
  return left < right ? -1 : 1
}

interface OrderRow {
  tenantId: string
  orderId: string
  orderStatus: string
  currencyCode: string
  amount: bigint
  refundedAmount: bigint
  statusHistory: { time: string }[]
  createdAt: Date
}

const QUARTER_HOUR_MS = 900_000

async function expectCellsToEqualOrders(db: Db): Promise<void> {
  const orders = await db.query<OrderRow>({
    text: `select tenant_id, order_id, order_status, currency_code, amount, refunded_amount, status_history, created_at from orders`,
  })
  for (const [table, tenant, text] of [
    [
      'daily_orders',
      (row: OrderRow) => row.tenantId,
      `select tenant_id || ' ' || extract(epoch from day::timestamp at time zone 'utc')::bigint * 1000 + cell / 128 * ${QUARTER_HOUR_MS}
         || ' ' || cell % 128 || ' ' || currency_code as key, c.orders, amount
       from daily_orders d, unnest(d.cells, d.orders, d.amounts) as c(cell, orders, amount)`,
    ],
    [
      'order_quarter_hours',
      () => 'all',
      `select 'all ' || (extract(epoch from starts_at) * 1000)::bigint || ' ' || outcome || ' ' || currency_code as key, orders, amount
       from order_quarter_hours`,
    ],
  ] as const) {
    const expected = new Map<string, { orders: number; amount: bigint }>()
    for (const order of orders) {
      const startMs = Math.floor(timeOfUuid(order.orderId) / QUARTER_HOUR_MS) * QUARTER_HOUR_MS
      const key = `${tenant(order)} ${startMs} ${outcomeOf(order)} ${order.currencyCode}`
      const { orders: before, amount } = expected.get(key) ?? { orders: 0, amount: 0n }
      expected.set(key, { orders: before + 1, amount: amount + order.amount - order.refundedAmount })
    }
    const rows = await db.query<{ key: string; orders: number; amount: bigint }>({ text })
    const found = rows.map(({ key, ...sums }) => [key, sums] as const)
    expect([table, new Map(found.toSorted())]).toEqual([table, new Map([...expected].toSorted())])
  }
}

/** 0: open; 1: failed; 2, 3, …: delivered within 1 ms, 1.41 ms, 2 ms, … */
function outcomeOf({ orderStatus, statusHistory, createdAt }: OrderRow): number {
  if (orderStatus === 'FAILED' || orderStatus === 'CANCELLED') return 1
  if (orderStatus !== 'DELIVERED' && orderStatus !== 'PARTIALLY_DELIVERED') return 0
  const tookMs = Date.parse(statusHistory.at(-1)!.time) - createdAt.getTime()
  let outcome = 2
  while (2 ** ((outcome - 2) / 2) < tookMs) outcome++
  return outcome
}
