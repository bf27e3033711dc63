import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { empty, type Sql } from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { checkAmount, checkLine, checkWhole } from '../ledger/ledger-checks.ts'
import { parseReceipt, type SentReceipt } from './receipt.ts'
import { REQUEST_COLUMNS, requestText, type TopUpRequest } from './top-up-request.ts'

export interface TopUpRequestInput {
  tenantId: string
  amount: bigint
  /** The payment's reference: unique among the tenant's requests, except declined ones. */
  reference: string
  receipt?: SentReceipt
}

/** Limits how much a dealer can store and how many e-mails the operator gets. Operators decide requests within days. */
export const OPEN_REQUESTS_MAX = 10

/**
 * Records that a dealer has paid or is about to, and alerts the operator. If the reference already has a request for the
 * same amount that was not declined, that one is returned, so a repeated call creates only one request.
 * @throws Refusal if the reference was used with a different amount, the input is malformed, too many requests are open, or
 * the tenant does not exist
 */
export async function requestTopUp(
  deps: { db: Db; ids: Ids },
  input: TopUpRequestInput,
  by: By,
): Promise<TopUpRequest> {
  const reference = checkLine('reference', input.reference)
  const amount = checkAmount(input.amount, 'positive')
  const receipt = input.receipt && parseReceipt(input.receipt)
  return deps.db.tx(async (tx) => {
    const tenant = await lockTenantRow(tx, input.tenantId)
    const { tenantId } = tenant
    const earlier = await findActive(tx, tenantId, reference)
    if (earlier?.amount === amount) return earlier
    if (earlier) throw referenceUsed(reference, earlier.amount)
    checkWhole(amount, tenant.currencyCode)
    await refuseTooMany(tx, tenantId)
    const requestId = deps.ids.uuid()
    tx.send(sql`
      insert into top_up_requests (tenant_id, request_id, amount, reference, requested_by, created_at)
      values (${tenantId}, ${requestId}, ${amount}, ${reference}, ${by.actor}, clock_timestamp())`)
    if (receipt)
      tx.send(sql`
        insert into top_up_receipts (tenant_id, request_id, file_name, media_type, content)
        values (${tenantId}, ${requestId}, ${receipt.fileName}, ${receipt.mediaType}, ${receipt.content})`)
    const after = { amount, reference, receipt: receipt?.fileName }
    audit(tx, deps.ids, { tenantId, subject: requestId, action: 'wallet.request_top_up', after, ...by })
    createAlert(tx, deps.ids, {
      tenantId,
      kind: 'TOP_UP_REQUESTED',
      message: `${tenant.tenantName} has reported a payment: ${requestText({ amount, reference }, tenant.currencyCode)}. Confirm it when the money has arrived, or decline it.`,
      data: { requestId },
    })
    return (await findActive(tx, tenantId, reference))!
  })
}

/** Checks everything that does not depend on the receipt, before one is uploaded. @throws Refusal as requestTopUp */
export async function checkTopUpRequest(
  db: Pick<Db, 'query'>,
  { tenantId, amount: typed, reference: line }: Omit<TopUpRequestInput, 'receipt'>,
): Promise<void> {
  const reference = checkLine('reference', line)
  const amount = checkAmount(typed, 'positive')
  const tenant = await readTenantRow(db, tenantId, empty)
  const earlier = await findActive(db, tenant.tenantId, reference)
  if (earlier?.amount === amount) return
  if (earlier) throw referenceUsed(reference, earlier.amount)
  checkWhole(amount, tenant.currencyCode)
  await refuseTooMany(db, tenant.tenantId)
}

/** Serializes the requests of one tenant. It does not lock the wallet, because orders must not wait for an upload. */
function lockTenantRow(tx: Tx, typedId: string) {
  return readTenantRow(tx, typedId, sql`for no key update`)
}

async function readTenantRow(db: Pick<Db | Tx, 'query'>, typedId: string, locking: Sql) {
  const [row] = await db.query<{ tenantId: string; tenantName: string; currencyCode: string }>(sql`
    select tenant_id, tenant_name, currency_code from tenants
    where tenant_id = ${requireUuid(typedId, 'tenant')} ${locking}`)
  if (!row) throw notFound('tenant')
  return row
}

async function findActive(
  db: Pick<Db | Tx, 'query'>,
  tenantId: string,
  reference: string,
): Promise<TopUpRequest | undefined> {
  const [row] = await db.query<TopUpRequest>(sql`
    select ${REQUEST_COLUMNS} from top_up_requests r
    where r.tenant_id = ${tenantId} and r.reference = ${reference} and r.request_status in ('REQUESTED', 'PAID')`)
  return row
}

async function refuseTooMany(db: Pick<Db | Tx, 'query'>, tenantId: string): Promise<void> {
  const open = await db.query(sql`
    select from top_up_requests
    where tenant_id = ${tenantId} and request_status = 'REQUESTED' limit ${OPEN_REQUESTS_MAX}`)
  if (open.length < OPEN_REQUESTS_MAX) return
  throw new Refusal(
    409,
    'TOO_MANY_REQUESTS_OPEN',
    `${OPEN_REQUESTS_MAX} of your top-up requests are already waiting for the operator. Wait until one is decided.`,
  )
}

function referenceUsed(reference: string, amount: bigint): Refusal {
  return new Refusal(
    409,
    'REFERENCE_USED',
    `The reference ${reference} belongs to a top-up request with a different amount. Nothing was changed; use the reference of this payment.`,
    { amount },
  )
}
