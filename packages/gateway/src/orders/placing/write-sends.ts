import type { Ids } from '@dealer-esim/lib/ids.ts'
import { bytesArray, plainArray, textArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { tenantNow } from '#platform/test-time.ts'
import type { PlacedOrder } from './decide-order.ts'

/**
 * Writes what is to be sent once the eSIMs of new orders are there, in the transaction that places them: an order without its
 * send would lose the mail, and a send without its order would send nothing.
 */
export function writeSends(tx: Tx, ids: Pick<Ids, 'uuid'>, placed: readonly PlacedOrder[]): void {
  const rows = placed.flatMap((order) => sendsOf(order))
  if (rows.length === 0) return
  tx.send({
    name: 'sends-of-orders',
    text: `insert into esim_sends (tenant_id, send_id, order_id, item_no, recipient_hash, traveller, brand, language,
             created_at, updated_at)
           select new.*, ${PRESENT}, ${PRESENT}
           from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::bytea[], $6::bytea[], $7::text[], $8::text[])
             as new (tenant_id, send_id, order_id, item_no, recipient_hash, traveller, brand, language)`,
    values: [
      uuidArray(rows.map((row) => row.tenantId)),
      uuidArray(rows.map(() => ids.uuid())),
      uuidArray(rows.map((row) => row.orderId)),
      plainArray(rows.map((row) => row.itemNo)),
      bytesArray(rows.map((row) => row.recipientHash)),
      bytesArray(rows.map((row) => row.traveller)),
      textArray(rows.map((row) => row.brand ?? null)),
      textArray(rows.map((row) => row.language ?? null)),
    ],
  })
}

const PRESENT = tenantNow('new.tenant_id', 'clock_timestamp()')

function sendsOf({ tenantId, orderId, packageLines, handOver }: PlacedOrder) {
  let items = 0
  return packageLines.flatMap(({ count }, lineNo) => {
    const first = items + 1
    items += count
    const { recipient, brand, language } = handOver?.lines[lineNo] ?? {}
    const sent = recipient && { tenantId, orderId, ...recipient, brand, language }
    return sent ? Array.from({ length: count }, (_, index) => ({ ...sent, itemNo: first + index })) : []
  })
}
