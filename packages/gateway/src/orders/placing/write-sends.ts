import type { FailureCode } from '@dealer-esim/contract'
import type { ErrorParts } from '@dealer-esim/lib/api-error.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { bytesArray, plainArray, textArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { tenantNow } from '#platform/test-time.ts'
import {
  countSentTo,
  RECIPIENT_REASON,
  recipientKey,
  SENDS_PER_RECIPIENT_MAX,
  type SentTo,
  tooManySends,
} from '../recipient-limit.ts'
import type { PlacedOrder } from './decide-order.ts'
import type { OrderInput } from './order-input.ts'

/** How many e-mails the travellers of these orders have got within a day. */
export function readSentTo(tx: Pick<Tx, 'query'>, inputs: readonly OrderInput[], nowMs: number): Promise<SentTo> {
  return countSentTo(tx, inputs.flatMap(recipientsOf), nowMs)
}

/** Decides 200018, then 200019, then 101007. */
export function refuseHandOver(
  input: OrderInput,
  sentTo: SentTo,
): { code: FailureCode; parts?: ErrorParts } | undefined {
  if (input.handOver === undefined) return undefined
  const { unknownBrand: brand, isMailPossible } = input.handOver
  if (brand !== undefined) return { code: '200018', parts: { data: { brand } } }
  if (recipientsOf(input).length === 0) return undefined
  if (!isMailPossible) return { code: '200019' }
  const after = withRecipients(sentTo, input)
  if (recipientsOf(input).every((one) => after.get(recipientKey(one))! <= SENDS_PER_RECIPIENT_MAX)) return undefined
  const instead = 'order without deliverTo and hand the link over yourself'
  return { code: '101007', parts: tooManySends(RECIPIENT_REASON, instead) }
}

/** The counts once an order is placed. */
export function withRecipients(sentTo: SentTo, input: OrderInput): SentTo {
  if (input.handOver === undefined) return sentTo
  const after = new Map(sentTo)
  for (const key of recipientsOf(input).map(recipientKey)) after.set(key, (after.get(key) ?? 0) + 1)
  return after
}

function recipientsOf({ tenant: { tenantId }, handOver }: OrderInput) {
  const lines = handOver?.lines ?? []
  return lines.flatMap(({ recipient }) => (recipient ? [{ tenantId, recipientHash: recipient.recipientHash }] : []))
}

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
