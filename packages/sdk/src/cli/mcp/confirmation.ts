import { createHmac, timingSafeEqual } from 'node:crypto'
import { newTransactionId } from '#client.ts'

/** What a confirmation is for. Its JSON is signed, so each member is always in the same place. */
export type Purchase =
  | { tool: 'buy'; packages: { packageCode: string; count: number; periodNum: number | null }[]; amount: string }
  | { tool: 'top_up'; esimTranNo: string; packageCode: string; periodNum: number | null; amount: string }
  | { tool: 'cancel'; esimTranNo: string }

/** For how long a confirmation may buy. A person may be asked in between; a price may change. */
export const CONFIRMATION_VALID_MS = 15 * 60_000

/**
 * Confirms a purchase: `c1.<transactionId>.<valid until>.<signature>`. The transactionId is chosen here, so whatever is bought
 * with one confirmation is bought once, also by another process and after a crash: nothing is kept in memory.
 */
export function confirm(key: ConfirmationKey, purchase: Purchase, nowMs: number): string {
  const id = `c1.${newTransactionId()}.${(nowMs + CONFIRMATION_VALID_MS).toString(36)}`
  return `${id}.${sign(key, id, purchase)}`
}

/** Returns undefined unless this key has confirmed exactly this purchase. */
export function checkConfirmation(
  key: ConfirmationKey,
  text: string,
  purchase: Purchase,
  nowMs: number,
): { transactionId: string; isExpired: boolean } | undefined {
  const match = /^(c1\.([0-9a-f-]{36})\.([0-9a-z]{8,9}))\.([\w-]{16})$/.exec(text.trim())
  const [, id = '', transactionId = '', until = '', signature = ''] = match ?? []
  if (!match || !areEqual(signature, sign(key, id, purchase))) return undefined
  return { transactionId, isExpired: nowMs > Number.parseInt(until, 36) }
}

/** The restricted key; what one key has confirmed, another cannot buy. */
export interface ConfirmationKey {
  appKey: string
  appSecret: string
}

/** 96 bits, of a key that is derived from the AppSecret: no signature of a request is a signature of a confirmation. */
function sign({ appKey, appSecret }: ConfirmationKey, id: string, purchase: Purchase): string {
  const derived = createHmac('sha256', appSecret).update('dealer-esim mcp confirmation').digest()
  const signed = createHmac('sha256', derived).update(JSON.stringify([appKey, id, purchase]))
  return signed.digest().subarray(0, 12).toString('base64url')
}

function areEqual(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}
