import type { Tx } from '@dealer-esim/lib/postgres/db.ts'

/*
 * The parts of a supplier's answer that are stored with its attempt: the message, and the supplier's own name for the
 * purchase.
 */

/** The longest stored message. Longer ones are truncated. It is stored with the eSIM, its attempt and its refund. */
const MESSAGE_LENGTH_MAX = 300

/**
 * Makes the message and the reference of an answer storable. PostgreSQL rejects control characters and lone surrogates, and the
 * whole transaction, possibly with a refund, would fail.
 */
export function withStorableMessage<Answer extends object>(answer: Answer): Answer {
  const kept = { ...answer } as { message?: unknown; reference?: unknown }
  if (kept.message !== undefined) kept.message = storableText(String(kept.message))
  if (kept.reference !== undefined) kept.reference = storableText(String(kept.reference))
  return kept as Answer
}

/** A text that PostgreSQL can store, truncated to the maximum length. */
export function storableText(message: string): string {
  const kept = message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX)}…` : message
  return kept.replace(/[\p{Cc}\p{Cs}]/gu, ' ')
}

/** An item at a supplier, as SQL expressions. */
interface ItemInSql {
  tenantId: string
  orderId: string
  itemNo: string
  supplier: string
}

/**
 * SQL: the supplier's own name for an item's latest purchase, or null. It aggregates, because with `order by … limit 1`
 * PostgreSQL may read the primary key backwards instead of the few attempts of the order.
 */
export function latestReference({ tenantId, orderId, itemNo, supplier }: ItemInSql): string {
  return `(select (array_agg(r.reference order by r.attempt_id desc))[1] from supplier_attempts r
    where r.tenant_id = ${tenantId} and r.order_id = ${orderId} and r.item_no = ${itemNo} and r.supplier = ${supplier}
      and r.reference is not null)`
}

const IN_DOUBT: readonly string[] = ['ASKED', 'UNKNOWN', 'REVIEW']

interface OrderWithItems {
  orderId: string
  items: readonly { itemNo: number; itemStatus: string; supplier: string | null }[]
}

/**
 * Reads the references of the items that may be queried. Takes no lock, and does not send a statement if there are no such
 * items.
 */
export async function readReferences(
  tx: Pick<Tx, 'query'>,
  tenantId: string,
  orders: readonly OrderWithItems[],
): Promise<(item: { orderId: string; itemNo: number }) => string | undefined> {
  const items = orders.flatMap((order) =>
    order.items.flatMap(({ itemNo, itemStatus, supplier }) =>
      IN_DOUBT.includes(itemStatus) && supplier !== null ? [{ orderId: order.orderId, itemNo, supplier }] : [],
    ),
  )
  if (items.length === 0) return () => undefined
  const rows = await tx.query<{ orderId: string; itemNo: number; reference: string | null }>({
    name: 'supplier-references',
    text: `select i.order_id, i.item_no, ${latestReference({ tenantId: '$1', orderId: 'i.order_id', itemNo: 'i.item_no', supplier: 'i.supplier' })} as reference
           from unnest($2::uuid[], $3::smallint[], $4::text[]) as i(order_id, item_no, supplier)`,
    values: [
      tenantId,
      items.map(({ orderId }) => orderId),
      items.map(({ itemNo }) => itemNo),
      items.map(({ supplier }) => supplier),
    ],
  })
  const references = new Map(rows.map(({ orderId, itemNo, reference }) => [`${orderId} ${itemNo}`, reference]))
  return ({ orderId, itemNo }) => references.get(`${orderId} ${itemNo}`) ?? undefined
}
