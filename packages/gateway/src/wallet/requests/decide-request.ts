import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { checkLine, requireSecondPerson } from '../ledger/ledger-checks.ts'
import { type LockedWallet, lockTenantWallet } from '../ledger/lock-wallets.ts'
import { findTopUp, postTopUp } from '../ledger/top-up-wallet.ts'
import { findPaymentSettings } from './payment-settings.ts'
import { lockRequest, requestText, type TopUpRequest } from './top-up-request.ts'

interface DecideDeps {
  db: Db
  ids: Ids
}

/**
 * Confirms that the payment of a request has arrived. The same transaction posts one top-up under its reference; if that
 * reference was already posted, nothing is posted. Above the currency's limit for one person, the first confirmation is
 * only recorded, and another person's confirmation posts the top-up. A confirmed request is returned unchanged.
 * @throws Refusal if it was declined or does not exist, for a second confirmation by the first person, or if the reference
 * was used with a different amount
 */
export async function confirmTopUpRequest(
  deps: DecideDeps,
  tenantId: string,
  requestId: string,
  by: By,
): Promise<TopUpRequest> {
  const confirmed = await deps.db.tx(async (tx) => {
    const wallet = await lockTenantWallet(tx, tenantId)
    const request = await lockRequest(tx, wallet.tenantId, requestId)
    if (request.status === 'PAID') return request
    requireOpen(request)
    if (await needsSecondPerson(tx, wallet, request)) {
      if (request.confirmedBy === null) return confirmFirst(tx, deps, wallet, request, by)
      requireSecondPerson(request.confirmedBy, by, 'You have already confirmed this payment.')
    }
    const paid = await pay(tx, deps, wallet, request, by)
    await failpoint('top-up-request.posted')
    return paid
  })
  await failpoint('top-up-request.committed')
  return confirmed
}

/**
 * Declines a request. A declined request is returned unchanged.
 * @throws Refusal if it was confirmed, the reason is malformed, or it does not exist
 */
export async function declineTopUpRequest(
  deps: DecideDeps,
  { tenantId, requestId, reason: typed }: { tenantId: string; requestId: string; reason: string },
  by: By,
): Promise<TopUpRequest> {
  const reason = checkLine('reason', typed)
  return deps.db.tx(async (tx) => {
    const wallet = await lockTenantWallet(tx, tenantId)
    const request = await lockRequest(tx, wallet.tenantId, requestId)
    if (request.status === 'DECLINED') return request
    requireOpen(request)
    tx.send(sql`
      update top_up_requests
      set request_status = 'DECLINED', decided_by = ${by.actor}, decided_at = clock_timestamp(), decline_reason = ${reason}
      where tenant_id = ${wallet.tenantId} and request_id = ${request.requestId}`)
    const { amount, reference } = request
    audit(tx, deps.ids, {
      ...{ tenantId: wallet.tenantId, subject: request.requestId, action: 'wallet.decline_request' },
      after: { amount, reference, reason },
      ...by,
    })
    alertDealer(tx, deps, wallet, {
      kind: 'TOP_UP_DECLINED',
      message: `Your top-up request was declined: ${requestText(request, wallet.currencyCode)}. Reason: ${reason}`,
    })
    return lockRequest(tx, wallet.tenantId, request.requestId)
  })
}

/** A payment that was already credited needs no second person, because nothing is posted. */
async function needsSecondPerson(tx: Tx, wallet: LockedWallet, request: TopUpRequest): Promise<boolean> {
  const limit = (await findPaymentSettings(tx, wallet.currencyCode))?.secondPersonAbove ?? null
  return limit !== null && request.amount > limit && (await findTopUp(tx, wallet, request)) === undefined
}

async function confirmFirst(
  tx: Tx,
  { ids }: DecideDeps,
  { tenantId }: LockedWallet,
  { requestId, amount, reference }: TopUpRequest,
  by: By,
): Promise<TopUpRequest> {
  tx.send(sql`
    update top_up_requests set confirmed_by = ${by.actor}, confirmed_at = clock_timestamp()
    where tenant_id = ${tenantId} and request_id = ${requestId}`)
  const after = { amount, reference }
  audit(tx, ids, { tenantId, subject: requestId, action: 'wallet.confirm_request_first', after, ...by })
  return lockRequest(tx, tenantId, requestId)
}

async function pay(
  tx: Tx,
  deps: DecideDeps,
  wallet: LockedWallet,
  request: TopUpRequest,
  by: By,
): Promise<TopUpRequest> {
  const { tenantId } = wallet
  const { requestId, amount, reference, confirmedBy } = request
  const posted = await postTopUp(tx, deps.ids, wallet, { amount, reference }, by)
  // If one person turns out to be enough, a first confirmation by the same person is not kept as one of two.
  const first = confirmedBy === by.actor ? null : confirmedBy
  tx.send(sql`
    update top_up_requests
    set request_status = 'PAID', decided_by = ${by.actor}, decided_at = clock_timestamp(), confirmed_by = ${first},
        wallet_version = ${posted.walletVersion}
    where tenant_id = ${tenantId} and request_id = ${requestId}`)
  const after = { amount, reference, balance: posted.balanceAfter, confirmedBy: first ?? undefined }
  audit(tx, deps.ids, { tenantId, subject: requestId, action: 'wallet.confirm_request', after, ...by })
  alertDealer(tx, deps, wallet, {
    kind: 'TOP_UP_PAID',
    message: `Your top-up was credited: ${requestText(request, wallet.currencyCode)}.`,
  })
  return lockRequest(tx, tenantId, requestId)
}

function alertDealer(
  tx: Tx,
  { ids }: DecideDeps,
  { tenantId }: LockedWallet,
  alert: { kind: 'TOP_UP_PAID' | 'TOP_UP_DECLINED'; message: string },
): void {
  createAlert(tx, ids, { tenantId, ...alert })
}

function requireOpen(request: TopUpRequest): void {
  if (request.status === 'REQUESTED') return
  const happened = request.status === 'PAID' ? 'has already been confirmed' : 'has already been declined'
  throw new Refusal(409, 'REQUEST_DECIDED', `This top-up request ${happened}. Nothing was changed.`, {
    status: request.status,
  })
}
