import type { ErrorParts } from '@dealer-esim/lib/api-error.ts'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import { bytesArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'

/** Allows repeats for a traveller who cannot find the first e-mail. */
export const SENDS_PER_RECIPIENT_MAX = 5
export const DAY_MS = 86_400_000

interface Recipient {
  tenantId: string
  recipientHash: Buffer
}

/** How many e-mails of a dealer each of its travellers has got, or will get, within a day. */
export type SentTo = ReadonlyMap<string, number>

/**
 * Counts the e-mails to these travellers, those of orders included: an eSIM costs nothing if it is refunded. An order whose eSIM never
 * came has sent none. Under the wallet's lock, so that simultaneous sends count each other.
 */
export async function countSentTo(
  tx: Pick<Tx, 'query'>,
  recipients: readonly Recipient[],
  nowMs: number,
): Promise<SentTo> {
  if (recipients.length === 0) return NONE
  const rows = await tx.query<Recipient & { sent: number }>({
    name: 'sends-to-recipients',
    text: `select s.tenant_id, s.recipient_hash, count(*)::int as sent
           from (select distinct * from unnest($1::uuid[], $2::bytea[]) as given(tenant_id, recipient_hash)) wanted
           join esim_sends s on s.tenant_id = wanted.tenant_id and s.recipient_hash = wanted.recipient_hash
           where s.send_id >= $3 and not (s.send_status = 'FAILED' and s.profile_id is null)
           group by s.tenant_id, s.recipient_hash`,
    values: [
      uuidArray(recipients.map(({ tenantId }) => tenantId)),
      bytesArray(recipients.map(({ recipientHash }) => recipientHash)),
      firstUuidAt(nowMs - DAY_MS),
    ],
  })
  return new Map(rows.map((row) => [recipientKey(row), row.sent]))
}

const NONE: SentTo = new Map()

export function recipientKey({ tenantId, recipientHash }: Recipient): string {
  return `${tenantId} ${recipientHash.toString('hex')}`
}

/** Too many e-mails; `instead` says what to do now, such as `copy the link and send it yourself`. */
export function tooManySends(reason: string, instead: string): ErrorParts {
  return { message: `${reason} Try again tomorrow, or ${instead}.`, headers: { 'Retry-After': '3600' } }
}

/** Why a traveller gets no further e-mail. */
export const RECIPIENT_REASON = `${SENDS_PER_RECIPIENT_MAX} links have already been sent to this address within a day.`
