import type { Ids } from '@dealer-esim/lib/ids.ts'
import { bytesArray, plainArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
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
    text: `insert into esim_sends (tenant_id, send_id, order_id, item_no, recipient_hash, traveller, created_at, updated_at)
           select new.*, clock_timestamp(), clock_timestamp()
           from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::bytea[], $6::bytea[]) as new`,
    values: [
      uuidArray(rows.map((row) => row.tenantId)),
      uuidArray(rows.map(() => ids.uuid())),
      uuidArray(rows.map((row) => row.orderId)),
      plainArray(rows.map((row) => row.itemNo)),
      bytesArray(rows.map((row) => row.recipientHash)),
      bytesArray(rows.map((row) => row.traveller)),
    ],
  })
}

function sendsOf({ tenantId, orderId, packageLines, handOver }: PlacedOrder) {
  let items = 0
  return packageLines.flatMap(({ count }, lineNo) => {
    const first = items + 1
    items += count
    const sealed = handOver?.recipients[lineNo]
    return sealed
      ? Array.from({ length: count }, (_, index) => ({ tenantId, orderId, itemNo: first + index, ...sealed }))
      : []
  })
}
