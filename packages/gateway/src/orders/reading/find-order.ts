import { orderIdOf } from '@dealer-esim/contract'
import { firstUuidAt, isUuid, timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql, { empty } from 'sql-template-tag'
import { storedTransactionId } from '../transaction-id.ts'

/** An order's id and the id of its ORDER_PAID event are created within this time of each other. */
const PAID_WITHIN_MS = 600_000
/** The latest time that a UUID can contain. */
const LATEST_MS = 2 ** 48 - 1

/**
 * Finds an order and its tenant by the order number alone, for operators. The events of that time identify the tenant, so
 * one index probe is enough; for an order older than all events, it takes one index probe per tenant.
 */
export async function findOrder(
  db: Pick<Db, 'query'>,
  orderNo: string,
): Promise<{ tenantId: string; orderId: string } | undefined> {
  const orderId = isUuid(orderNo) ? orderNo : orderIdOf(orderNo.toUpperCase())
  if (orderId === undefined) return undefined
  const placedAtMs = timeOfUuid(orderId)
  const [row] = await db.query<{ tenantId: string }>({
    text: FIND,
    values: [
      orderId,
      firstUuidAt(placedAtMs - PAID_WITHIN_MS),
      firstUuidAt(Math.min(placedAtMs + PAID_WITHIN_MS, LATEST_MS)),
    ],
  })
  return row && { tenantId: row.tenantId, orderId }
}

const FIND = `
  select tenant_id from (
    select coalesce(
      (select tenant_id from events where order_id = $1 and notify_id >= $2 and notify_id < $3 limit 1),
      (select t.tenant_id from tenants t
       where exists (select from orders o where o.tenant_id = t.tenant_id and o.order_id = $1) limit 1)) as tenant_id
  ) found where tenant_id is not null`

/**
 * Finds the orders with this transactionId, of one tenant or of all. There are few, because a dealer uses each
 * transactionId only once.
 */
export async function findOrdersOfTransaction(
  db: Pick<Db, 'query'>,
  tenantId: string | undefined,
  transactionId: string,
): Promise<{ tenantId: string; orderId: string }[]> {
  return db.query<{ tenantId: string; orderId: string }>(sql`
    select t.tenant_id, o.order_id from tenants t join orders o on o.tenant_id = t.tenant_id
    where o.transaction_id = ${storedTransactionId(transactionId)}
      ${tenantId === undefined ? empty : sql`and t.tenant_id = ${tenantId}`}
    limit ${SAME_TRANSACTION_MAX}`)
}

/** The most orders listed if many dealers use the same transactionId. */
const SAME_TRANSACTION_MAX = 100

/** The number of an order's debit as people write it: 1042 for `#1042` or `1042`. */
export function parseEntryNo(text: string): bigint | undefined {
  return ENTRY_NO.test(text) ? BigInt(text.replace('#', '')) : undefined
}
/** Fits a bigint column. A wallet never has that many entries. */
const ENTRY_NO = /^#?[1-9]\d{0,14}$/

/** @throws Refusal if the text is not an order number */
export function parseOrderNo(orderNo: string): string {
  const orderId = orderIdOf(orderNo)
  if (orderId === undefined) throw notFound('order')
  return orderId
}

/** @throws Refusal if there is no such order */
export async function getOrder(db: Pick<Db, 'query'>, orderNo: string): Promise<{ tenantId: string; orderId: string }> {
  const found = await findOrder(db, orderNo)
  if (found === undefined) throw notFound('order', orderNo)
  return found
}
