import { createHash } from 'node:crypto'
import { buildActivationCode, orderNoOf } from '@dealer-esim/contract'

/*
 * A past: delivered orders of one eSIM each, spread evenly over a week, every second one of the first tenant, the others
 * of the rest in turn. Rows lie as they would have come: tenants mixed, ids and times ascending, transactionIds random.
 * The ledger holds: what is generated here passes its check.
 */

export interface Past {
  /** The first has half of the orders. */
  tenantIds: string[]
  orders: number
  /** When the first order was placed, ms since 1970. */
  startMs: number
  /** Of each wallet, before its first order; its transfer has version 1. */
  opening: bigint
  /** Encrypted, of each tenant in turn. */
  secrets: Buffer[]
}

export interface PastOrder {
  tenant: number
  tenantId: string
  orderId: string
  transactionId: string
  /** 0 for the tenant's first. */
  place: number
}

const WEEK_MS = 7 * 24 * 3_600_000
const PRICE = 45_000n
const LINES = JSON.stringify([{ packageCode: 'JP_1_7', packageName: 'Japan 1 GB 7 days', count: 1, price: 45_000 }])
const NULL = '\\N'

/** The tables of an order, each with its columns and a line per order (two of events, which were acknowledged). */
export const TABLES: Record<string, { columns: string; rows(past: Past, n: number): string[] }> = {
  orders: {
    columns: `tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after, wallet_version,
      package_lines, status_history, event_sequence, created_at, updated_at`,
    rows(past, n) {
      const { tenantId, orderId, transactionId, place } = orderAt(past, n)
      const time = timeAt(past, n)
      const history = JSON.stringify(['PAID', 'ALLOCATING', 'DELIVERED'].map((orderStatus) => ({ orderStatus, time })))
      const money = [PRICE, 'USD', balanceAfter(past, place), place + 2]
      return [line(tenantId, orderId, transactionId, 'DELIVERED', ...money, LINES, history, 2, time, time)]
    },
  },
  order_items: {
    columns: `tenant_id, order_id, item_no, line_no, package_code, price, item_status, supplier, product_code, cost,
      cost_currency, attempts, requested_at, updated_at`,
    rows(past, n) {
      const { tenantId, orderId } = orderAt(past, n)
      const time = timeAt(past, n)
      const bought = ['DELIVERED', 'sandbox', 'SANDBOX_OK', 30_000, 'USD', 1]
      return [line(tenantId, orderId, 1, 0, 'JP_1_7', PRICE, ...bought, time, time)]
    },
  },
  transfers: {
    columns: `tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id, created_at`,
    rows(past, n) {
      const { tenantId, orderId, place } = orderAt(past, n)
      const accounts = ['ORDER', 'WALLET', 'SALES', PRICE]
      return [line(tenantId, place + 2, ...accounts, balanceAfter(past, place), orderId, timeAt(past, n))]
    },
  },
  profiles: {
    columns: `tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets, esim_status, smdp_status,
      total_volume, order_usage, total_duration, duration_unit, install_before, activate_time, expired_time,
      created_at, updated_at`,
    rows(past, n) {
      const { tenant, tenantId, orderId } = orderAt(past, n)
      const time = timeAt(past, n)
      const later = new Date(past.startMs + 60 * WEEK_MS).toISOString()
      const iccid = `8943108${String(n).padStart(12, '0')}`
      const secrets = `\\\\x${past.secrets[tenant]!.toString('hex')}`
      const state = STATES[n % STATES.length]!
      const used = state[0] === 'GOT_RESOURCE' ? [0, 7, 'DAY', later, NULL, NULL] : [1, 7, 'DAY', NULL, time, later]
      const esim = ['sandbox', iccid, 'smdp.example', secrets, ...state, 1_073_741_824]
      return [line(tenantId, profileIdAt(past, n), orderId, 1, ...esim, ...used, time, time)]
    },
  },
  events: {
    columns: 'tenant_id, notify_id, notify_type, order_id, content, created_at',
    rows(past, n) {
      const { tenantId, orderId, transactionId, place } = orderAt(past, n)
      const common = { orderNo: orderNoOf(orderId), transactionId }
      const paid = { ...common, orderStatus: 'PAID', sequence: 1, amount: Number(PRICE), currencyCode: 'USD' }
      const delivered = { ...common, orderStatus: 'DELIVERED', sequence: 2, refundedAmount: 0, profiles: [] }
      const balance = { balanceAfter: Number(balanceAfter(past, place)), packageInfoList: JSON.parse(LINES) }
      return [['ORDER_PAID', 2, { ...paid, ...balance }] as const, ['DELIVERY_UPDATED', 3, delivered] as const].map(
        ([type, kind, content]) =>
          line(tenantId, idAt(past, n, kind), type, orderId, JSON.stringify(content), timeAt(past, n)),
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

export function* rowsOf(table: string, past: Past): Generator<string> {
  const { rows } = TABLES[table]!
  for (let n = 0; n < past.orders; n++) yield* rows(past, n)
}

export function orderAt(past: Past, n: number): PastOrder {
  const others = past.tenantIds.length - 1
  const tenant = n % 2 === 0 ? 0 : 1 + ((n >> 1) % others)
  const place = n % 2 === 0 ? n / 2 : Math.floor((n >> 1) / others)
  const transactionId = createHash('md5').update(`order ${n}`).digest('hex')
  return { tenant, tenantId: past.tenantIds[tenant]!, orderId: idAt(past, n, 0), transactionId, place }
}

export function profileIdAt(past: Past, n: number): string {
  return idAt(past, n, 1)
}

/** How many orders a tenant has, by its number. */
export function ordersOf(past: Past, tenant: number): number {
  const others = past.tenantIds.length - 1
  if (tenant === 0) return Math.ceil(past.orders / 2)
  return Math.max(0, Math.ceil((Math.floor(past.orders / 2) - (tenant - 1)) / others))
}

export function balanceAfter(past: Past, place: number): bigint {
  return past.opening - PRICE * BigInt(place + 1)
}

/** As sealed for the tenant: one text for all of its eSIMs, whose content nobody reads here. */
export function secretsText(): string {
  const matchingId = '04386-AGYFT-A74Y8-3F815'
  const code = { smdpAddress: 'smdp.example', matchingId, confirmationCodeRequired: false }
  return JSON.stringify({ ac: buildActivationCode(code), matchingId })
}

function timeAt(past: Past, n: number): string {
  return new Date(momentAt(past, n)).toISOString()
}

function momentAt(past: Past, n: number): number {
  return past.startMs + Math.floor((n / past.orders) * WEEK_MS)
}

/** A UUIDv7 of the order's moment; `kind` tells an order's ids apart. */
function idAt(past: Past, n: number, kind: number): string {
  const time = momentAt(past, n).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-700${kind}-8000-${n.toString(16).padStart(12, '0')}`
}

function line(...values: (string | number | bigint)[]): string {
  return values.join('\t')
}
