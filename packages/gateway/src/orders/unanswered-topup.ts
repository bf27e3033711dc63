import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { stripIccidPadding, type TopupRequest } from '@dealer-esim/contract'
import { isUuid } from '@dealer-esim/lib/ids.ts'
import type { Db, Statement } from '@dealer-esim/lib/postgres/db.ts'
import { isConnectionLoss } from '@dealer-esim/lib/postgres/errors.ts'
import { tenantNow } from '#platform/test-time.ts'
import { isUnfinished } from './order-item.ts'

/** A program that repeats a call does so within minutes. A call after this time is a new top-up. */
const REPEATED_WITHIN = '1 hour'

/**
 * Finds the key of a top-up that is requested without a transactionId. If the call repeats an earlier top-up, the key is
 * that of the earlier one: same package, eSIM and days as sent, also requested without a transactionId, and its end not yet
 * reported. Otherwise the key is derived from the call and from the eSIM's latest top-up, so that simultaneous calls get
 * the same key and are one top-up. Calls with different AppKeys are never the same call: each has its own limits.
 * @param caller keyId: of the restricted key; null for the tenant's own key
 * @param sentName a packageCode or slug: what it referred to in the earlier call counts, not what it refers to in today's
 * catalogue
 * @returns undefined if the tenant has no such eSIM
 */
export async function findUnnamedKey(
  db: Pick<Db, 'query'>,
  { tenantId, keyId }: { tenantId: string; keyId: string | null },
  { esimTranNo, iccid, packageCode, periodNum }: TopupRequest,
  sentName: string,
): Promise<string | undefined> {
  if (esimTranNo !== undefined && !isUuid(esimTranNo)) return undefined
  const [name, esim] =
    esimTranNo === undefined
      ? ['orders-unanswered-by-iccid', '$2::uuid is null and p.iccid = $3']
      : ['orders-unanswered-by-id', 'p.profile_id = $2::uuid and p.iccid = coalesce($3::text, p.iccid)']
  const [found] = await db.query<{ profileId: string; unanswered: string | null; latest: string | null }>({
    name,
    text: `with esim as materialized (
             select profile_id from profiles p where p.tenant_id = $1 and ${esim} order by p.profile_id desc limit 1)
           select esim.profile_id, (
             select o.transaction_id from orders o
             where o.tenant_id = $1 and o.sent ->> 'isUnanswered' is not null
               and o.topped_up_profile_id = esim.profile_id and o.sent -> 'key' ->> 'keyId' is not distinct from $7::text
               and (o.package_lines -> 0 ->> 'packageCode' = $4 or o.package_lines -> 0 -> 'sentAs' ? $6::text)
               and case when o.package_lines -> 0 ? 'periodNumDefaulted' then null
                     else (o.package_lines -> 0 ->> 'periodNum')::int end is not distinct from $5::int
               and (${isUnfinished('o')}
                 or o.updated_at > ${tenantNow('$1', 'clock_timestamp()')} - interval '${REPEATED_WITHIN}')
             order by o.wallet_version limit 1) as unanswered, (
             select o.order_id from orders o where o.tenant_id = $1 and o.topped_up_profile_id = esim.profile_id
             order by o.wallet_version desc limit 1) as latest
           from esim`,
    values: [
      tenantId,
      esimTranNo ?? null,
      iccid === undefined ? null : stripIccidPadding(iccid),
      packageCode,
      periodNum ?? null,
      sentName,
      keyId,
    ],
  })
  if (found === undefined) return undefined
  const { profileId, unanswered, latest } = found
  if (unanswered !== null) return unanswered
  const keyAfter = (previous: string | null) => {
    // Without a restricted key as in earlier releases, which may run beside this one.
    const parts = [profileId, packageCode, periodNum ?? null, previous, ...(keyId === null ? [] : [keyId])]
    return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
  }
  let key = keyAfter(latest)
  while (await wasSoldBeforeRestore(db, tenantId, key)) key = keyAfter(key)
  return key
}

/**
 * True if an operator has decided that this top-up was sold before a restore (operations/recovery), so long ago that the call is
 * another top-up: the database does not know the first one, and would derive its key from then on.
 */
async function wasSoldBeforeRestore(db: Pick<Db, 'query'>, tenantId: string, key: string): Promise<boolean> {
  const sold = await db.query({
    name: 'orders-unnamed-restored',
    text: `select from restored_transactions where tenant_id = $1 and transaction_id = $2 and state = 'SOLD'
             and greatest(seen_at, decided_at) < clock_timestamp() - interval '${REPEATED_WITHIN}'`,
    values: [tenantId, key],
  })
  return sold.length > 0
}

/** A call that is about to report that a top-up has ended. */
interface ReportingCall {
  tenantId: string
  orderId: string
  /** Distinguishes the call from others that report the same outcome. */
  callId: string
}

/**
 * Records that a call reports a top-up's end: the next call without a transactionId is a new top-up. Must be the last step
 * before the answer, which is sent even if the database does not confirm the record. If there is no record, the next call
 * is taken for a repeat and not debited. Withholding the answer would make the program repeat the call, and a repeat is
 * debited again if there is a record.
 * @param onLostAnswer receives a function that undoes the record, to be called if the answer is not sent after all. The end
 * then counts as not reported, unless another call has reported it.
 */
export async function recordReport(
  db: Pick<Db, 'query'>,
  call: ReportingCall,
  onLostAnswer: (undo: () => Promise<void>) => void,
): Promise<void> {
  let isLost = false
  const recording = queryRepeatedly(db, recordOf(call), () => !isLost)
  onLostAnswer(async () => {
    isLost = true
    await queryRepeatedly(db, undoOf(call))
    // A program repeats the call immediately, so the first undo does not wait for a record that is still being written.
    await recording.catch(() => {})
    await queryRepeatedly(db, undoOf(call))
  })
  await recording.catch((error) => {
    if (!isConnectionLoss(error)) throw error
  })
}

const recordOf = ({ tenantId, orderId, callId }: ReportingCall): Statement => ({
  name: 'orders-report',
  text: `update orders set sent = (sent - 'isUnanswered')
           || jsonb_build_object('answeredBy', coalesce(sent -> 'answeredBy', '[]') || to_jsonb($3::text))
         where tenant_id = $1 and order_id = $2`,
  values: [tenantId, orderId, callId],
})

const undoOf = ({ tenantId, orderId, callId }: ReportingCall): Statement => ({
  name: 'orders-undo-report',
  text: `update orders
         set sent = case when (sent -> 'answeredBy') - $3::text = '[]' then (sent - 'answeredBy') || '{"isUnanswered": true}'
                         else jsonb_set(sent, '{answeredBy}', (sent -> 'answeredBy') - $3::text) end
         where tenant_id = $1 and order_id = $2 and sent -> 'answeredBy' ? $3::text`,
  values: [tenantId, orderId, callId],
})

const TRIES_MAX = 3
const BETWEEN_TRIES_MS = 200

/** Repeats a statement that was not answered, because it may not have been executed. */
async function queryRepeatedly(db: Pick<Db, 'query'>, statement: Statement, isWanted = () => true): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await db.query(statement)
      return
    } catch (error) {
      if (!isConnectionLoss(error) || tries === TRIES_MAX || !isWanted()) throw error
      await delay(BETWEEN_TRIES_MS)
    }
  }
}
