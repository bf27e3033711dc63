import { type EsimStatus, stripIccidPadding } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { isUuid } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import { asQuestion } from '@dealer-esim/wholesalers/account-rate.ts'
import { latestReference } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { ActionOutcome } from '@dealer-esim/wholesalers/supplier.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { type SuppliedEsimRow, toSuppliedEsim } from './profile-secrets.ts'

/** `busy`: nothing was sent, and a repeat may succeed. `impossible`: this eSIM cannot receive SMS. */
export type SmsOutcome = ActionOutcome['kind'] | 'busy' | 'impossible'

interface SmsDeps {
  db: Pick<Db, 'query'>
  cipher: Pick<Cipher, 'decrypt'>
  suppliers: Pick<Suppliers, 'get'>
}

/**
 * Sends an SMS to an eSIM of the tenant: the newest with the ICCID, or the one with this number. It is sent while no
 * purchase is waiting for a request, and never repeated, because no supplier accepts an idempotency key for SMS.
 * @throws ApiError 310403; DecryptionFailed
 */
export async function sendSms(
  { db, cipher, suppliers }: SmsDeps,
  tenantId: string,
  named: { esimTranNo: string | undefined; iccid: string | undefined },
  message: string,
): Promise<SmsOutcome> {
  const row = await find(db, tenantId, named)
  if (row === undefined) throw new ApiError('310403')
  const supplied = suppliers.get(row.supplier)
  if (supplied?.supplier.sendSms === undefined || ENDED.includes(row.esimStatus)) return 'impossible'
  if (supplied.paused || supplied.gate.state !== 'closed') return 'busy'
  const { supplier } = supplied
  const esim = toSuppliedEsim(cipher, tenantId, row, true)
  const sending = asQuestion(() => supplier.sendSms!(esim, message), TURN_WAIT_MS).then(
    ({ result, isPostponed }): SmsOutcome => (isPostponed ? 'busy' : result.kind),
    (): SmsOutcome => 'unknown',
  )
  return (await settlesWithin(sending, ANSWER_WAIT_MS)) ? sending : 'unknown'
}

/** Their lines no longer exist. */
const ENDED: readonly EsimStatus[] = ['CANCEL', 'REVOKED', 'UNUSED_EXPIRED']
const TURN_WAIT_MS = 3_000
/** Programs of the RT family wait about ten seconds. */
const ANSWER_WAIT_MS = 9_000

type Row = SuppliedEsimRow & { supplier: string; esimStatus: EsimStatus }

async function find(
  db: SmsDeps['db'],
  tenantId: string,
  { esimTranNo = null, iccid = null }: { esimTranNo?: string | null | undefined; iccid?: string | null | undefined },
): Promise<Row | undefined> {
  if (esimTranNo !== null && !isUuid(esimTranNo)) return undefined
  const reference = latestReference({
    ...{ tenantId: 'p.tenant_id', orderId: 'p.order_id', itemNo: 'p.item_no', supplier: 'p.supplier' },
  })
  const [row] = await db.query<Row>({
    name: esimTranNo === null ? 'profiles-sms-by-iccid' : 'profiles-sms-by-id',
    text: `select p.order_id, p.item_no, i.product_code, p.iccid, p.secrets, p.supplier, p.esim_status,
             ${reference} as reference
           from profiles p join order_items i using (tenant_id, order_id, item_no)
           where p.tenant_id = $1 and ${
             esimTranNo === null ? 'p.iccid = $2' : '($2::text is null or p.iccid = $2) and p.profile_id = $3'
           }
           order by p.profile_id desc limit 1`,
    values: [tenantId, iccid === null ? null : stripIccidPadding(iccid), ...(esimTranNo === null ? [] : [esimTranNo])],
  })
  return row
}
