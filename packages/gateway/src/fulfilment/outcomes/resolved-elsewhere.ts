import { stripIccidPadding } from '@dealer-esim/contract'
import { orderNoOf } from '../../lib/ids.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { awaitResolving, fingerprint } from '../../suppliers/stock/taken-codes.ts'
import type { Outcome } from '../../suppliers/supplier.ts'
import type { ItemResult } from './attempts.ts'

/**
 * Turns a delivered outcome into an unknown one where an operator has recorded the same eSIM for another item. One of the
 * two is wrong: the eSIM is neither delivered twice nor taken back while a traveller may hold it. The item goes to review
 * with a message that names the order that has its eSIM.
 *
 * Two more statements, sent with those that lock the orders: two index probes for each eSIM.
 * Locks: the resolution lock, shared, until the commit. The wallet and the orders are locked after it.
 */
export async function doubtEsimsResolvedElsewhere(
  tx: Tx,
  linkKey: Buffer,
  results: readonly ItemResult[],
): Promise<readonly ItemResult[]> {
  const delivered = results.flatMap((result) =>
    result.outcome.kind === 'delivered' ? [{ result, esim: result.outcome.esim }] : [],
  )
  if (delivered.length === 0) return results
  awaitResolving(tx)
  const rows = await tx.query<{ place: bigint; orderId: string }>({
    name: 'fulfilment-resolved-elsewhere',
    text: RECORDED,
    values: [
      delivered.map(({ esim }) => stripIccidPadding(esim.iccid)),
      delivered.map(({ esim }) => `\\x${fingerprint(linkKey, esim.smdpAddress, esim.matchingId)}`),
      delivered.map(({ result }) => result.orderId),
      delivered.map(({ result }) => result.itemNo),
    ],
  })
  if (rows.length === 0) return results
  const doubts = new Map<ItemResult, Outcome>()
  for (const { place, orderId } of rows) {
    const { result, esim } = delivered[Number(place) - 1]!
    const message = `the supplier delivered eSIM ${esim.iccid}, which an operator recorded for an item of order ${orderNoOf(orderId)}`
    doubts.set(result, { kind: 'unknown', message })
  }
  return results.map((result) => ({ ...result, outcome: doubts.get(result) ?? result.outcome }))
}

const RECORDED = `
  with given as (
    select * from unnest($1::text[], $2::bytea[], $3::uuid[], $4::smallint[]) with ordinality
      as g(iccid, fingerprint, order_id, item_no, place)
  )
  select g.place, p.order_id
  from given g join resolved_codes s on s.fingerprint = g.fingerprint
  join profiles p on p.tenant_id = s.tenant_id and p.order_id = s.order_id and p.iccid = s.iccid
  where p.esim_status <> 'CANCEL' and (p.order_id, p.item_no) <> (g.order_id, g.item_no)
  union all
  select g.place, p.order_id
  from given g join profiles p on p.iccid = g.iccid
  where p.esim_status in ('GOT_RESOURCE', 'IN_USE') and (p.order_id, p.item_no) <> (g.order_id, g.item_no)
    and exists (select from resolved_codes s
                where s.tenant_id = p.tenant_id and s.order_id = p.order_id and s.iccid = p.iccid)`
