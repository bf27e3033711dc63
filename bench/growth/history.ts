import { createHash } from 'node:crypto'
import { buildActivationCode, orderNoOf } from '@dealer-esim/contract'

/*
 * A generated order history: delivered orders of one eSIM each, spread evenly over a week. Every second order belongs to the
 * first tenant, the others to the remaining tenants in turn. Rows are in the order in which they would have been written:
 * tenants mixed, ids and times ascending, transactionIds random. The ledger passes verification.
 */

export interface OrderHistory {
  /** The first has half of the orders. */
  tenantIds: string[]
  orders: number
  /** When the first order was placed, ms since 1970. */
  startMs: number
  /** Each wallet's balance before its first order; the top-up has version 1. */
  opening: bigint
  /** Encrypted secrets, one per tenant, in the order of `tenantIds`. */
  secrets: Buffer[]
}

export interface HistoryOrder {
  tenant: number
  tenantId: string
  orderId: string
  transactionId: string
  /** Position among the tenant's orders, from 0. */
  index: number
}

const WEEK_MS = 7 * 24 * 3_600_000
const PRICE = 45_000n
const LINES = JSON.stringify([{ packageCode: 'JP_1_7', packageName: 'Japan 1 GB 7 days', count: 1, price: 45_000 }])
const NULL = '\\N'

/** The tables of an order, each with its columns and its lines per order: one, or two acknowledged events. */
export const TABLES: Record<string, { columns: string; rows(history: OrderHistory, n: number): string[] }> = {
  orders: {
    columns: `tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after, wallet_version,
      package_lines, status_history, event_sequence, created_at, updated_at`,
    rows(history, n) {
      const { tenantId, orderId, transactionId, index } = orderAt(history, n)
      const time = timeAt(history, n)
      const statusHistory = JSON.stringify(
        ['PAID', 'ALLOCATING', 'DELIVERED'].map((orderStatus) => ({ orderStatus, time })),
      )
      const money = [PRICE, 'USD', balanceAfter(history, index), index + 2]
      return [line(tenantId, orderId, transactionId, 'DELIVERED', ...money, LINES, statusHistory, 2, time, time)]
    },
  },
  order_items: {
    columns: `tenant_id, order_id, item_no, line_no, package_code, price, item_status, supplier, product_code, cost,
      cost_currency, attempts, requested_at, updated_at`,
    rows(history, n) {
      const { tenantId, orderId } = orderAt(history, n)
      const time = timeAt(history, n)
      const bought = ['DELIVERED', 'sandbox', 'SANDBOX_OK', 30_000, 'USD', 1]
      return [line(tenantId, orderId, 1, 0, 'JP_1_7', PRICE, ...bought, time, time)]
    },
  },
  transfers: {
    columns: `tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id, created_at`,
    rows(history, n) {
      const { tenantId, orderId, index } = orderAt(history, n)
      const accounts = ['ORDER', 'WALLET', 'SALES', PRICE]
      return [line(tenantId, index + 2, ...accounts, balanceAfter(history, index), orderId, timeAt(history, n))]
    },
  },
  profiles: {
    columns: `tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets, esim_status, smdp_status,
      total_volume, order_usage, total_duration, duration_unit, install_before, activate_time, expired_time,
      created_at, updated_at`,
    rows(history, n) {
      const { tenant, tenantId, orderId } = orderAt(history, n)
      const time = timeAt(history, n)
      const later = new Date(history.startMs + 60 * WEEK_MS).toISOString()
      const iccid = `8943108${String(n).padStart(12, '0')}`
      const secrets = `\\\\x${history.secrets[tenant]!.toString('hex')}`
      const state = STATES[n % STATES.length]!
      const used = state[0] === 'GOT_RESOURCE' ? [0, 7, 'DAY', later, NULL, NULL] : [1, 7, 'DAY', NULL, time, later]
      const esim = ['sandbox', iccid, 'smdp.example', secrets, ...state, 1_073_741_824]
      return [line(tenantId, profileIdAt(history, n), orderId, 1, ...esim, ...used, time, time)]
    },
  },
  events: {
    columns: 'tenant_id, notify_id, notify_type, order_id, content, created_at',
    rows(history, n) {
      const { tenantId, orderId, transactionId, index } = orderAt(history, n)
      const common = { orderNo: orderNoOf(orderId), transactionId }
      const paid = { ...common, orderStatus: 'PAID', sequence: 1, amount: Number(PRICE), currencyCode: 'USD' }
      const delivered = { ...common, orderStatus: 'DELIVERED', sequence: 2, refundedAmount: 0, profiles: [] }
      const balance = { balanceAfter: Number(balanceAfter(history, index)), packageInfoList: JSON.parse(LINES) }
      return [['ORDER_PAID', 2, { ...paid, ...balance }] as const, ['DELIVERY_UPDATED', 3, delivered] as const].map(
        ([type, kind, content]) =>
          line(tenantId, idAt(history, n, kind), type, orderId, JSON.stringify(content), timeAt(history, n)),
      )
    },
  },
}

const STATES = [
  ['GOT_RESOURCE', 'RELEASED'],
  ['IN_USE', 'ENABLED'],
  ['USED_UP', 'DISABLED'],
  ['USED_EXPIRED', 'DELETED'],
] as const

export function* rowsOf(table: string, history: OrderHistory): Generator<string> {
  const { rows } = TABLES[table]!
  for (let n = 0; n < history.orders; n++) yield* rows(history, n)
}

export function orderAt(history: OrderHistory, n: number): HistoryOrder {
  const others = history.tenantIds.length - 1
  const tenant = n % 2 === 0 ? 0 : 1 + ((n >> 1) % others)
  const index = n % 2 === 0 ? n / 2 : Math.floor((n >> 1) / others)
  const transactionId = createHash('md5').update(`order ${n}`).digest('hex')
  return { tenant, tenantId: history.tenantIds[tenant]!, orderId: idAt(history, n, 0), transactionId, index }
}

export function profileIdAt(history: OrderHistory, n: number): string {
  return idAt(history, n, 1)
}

/** How many orders a tenant has, by its number. */
export function ordersOf(history: OrderHistory, tenant: number): number {
  const others = history.tenantIds.length - 1
  if (tenant === 0) return Math.ceil(history.orders / 2)
  return Math.max(0, Math.ceil((Math.floor(history.orders / 2) - (tenant - 1)) / others))
}

export function balanceAfter(history: OrderHistory, index: number): bigint {
  return history.opening - PRICE * BigInt(index + 1)
}

/** The plain text of an eSIM's secrets. All eSIMs share it, because the bench does not read it. */
export function secretsText(): string {
  const matchingId = '04386-AGYFT-A74Y8-3F815'
  const code = { smdpAddress: 'smdp.example', matchingId, confirmationCodeRequired: false }
  return JSON.stringify({ ac: buildActivationCode(code), matchingId })
}

function timeAt(history: OrderHistory, n: number): string {
  return new Date(timeMsAt(history, n)).toISOString()
}

function timeMsAt(history: OrderHistory, n: number): number {
  return history.startMs + Math.floor((n / history.orders) * WEEK_MS)
}

/** A UUIDv7 with the time of the order; `kind` distinguishes the ids of one order. */
function idAt(history: OrderHistory, n: number, kind: number): string {
  const time = timeMsAt(history, n).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-700${kind}-8000-${n.toString(16).padStart(12, '0')}`
}

function line(...values: (string | number | bigint)[]): string {
  return values.join('\t')
}
