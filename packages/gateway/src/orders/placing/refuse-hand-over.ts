import type { FailureCode } from '@dealer-esim/contract'
import type { ErrorParts } from '@dealer-esim/lib/api-error.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import {
  countSentTo,
  RECIPIENT_REASON,
  recipientKey,
  SENDS_PER_RECIPIENT_MAX,
  type SentTo,
  tooManySends,
} from '../recipient-limit.ts'
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
