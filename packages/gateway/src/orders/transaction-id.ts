import { createHash } from 'node:crypto'
import { DERIVED_ID_PREFIX, TEXT_PATTERNS, TRANSACTION_ID_LENGTH_MAX } from '@dealer-esim/contract'

/**
 * The id under which an order's transactionId is stored: the text itself if it has our form, otherwise an id derived from
 * its exact UTF-8 bytes, with a prefix that requests may not use.
 */
export function storedTransactionId(sent: string): string {
  if (sent.length <= TRANSACTION_ID_LENGTH_MAX && FORM.test(sent)) return sent
  return DERIVED_ID_PREFIX + createHash('sha256').update(sent, 'utf8').digest('base64url')
}

const FORM = new RegExp(TEXT_PATTERNS.transactionId.pattern, 'u')

/** SQL: an `orders` row's transactionId as its dealer sent it, for answers, events and pages. */
export function sentTransactionId(order: string): string {
  return `coalesce(${order}.sent ->> 'transactionId', ${order}.transaction_id)`
}
