import {
  EVENT_TIMEOUT_MS,
  type Notification as Event,
  type EventFormat,
  type EventType,
  formatTime,
  makeIccid,
  type TestFailure,
  type WebhookTestAnswer,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { findTenant } from '#tenants/tenant.ts'
import { bodyOf } from '../notification-body.ts'
import { attemptDelivery, isAcknowledged } from '../sending/delivery-attempt.ts'
import { type CheckDeps, inTurn } from './check-callback-url.ts'
import { findEndpoint } from './endpoint.ts'

/**
 * `webhook/test`: sends one signed event with sample content to the tenant's endpoint. It is sent once and stored nowhere, and
 * no answer of the receiver changes the setting.
 * @throws ApiError 400101 without an enabled URL; 000108 for a type that the endpoint's format lacks; 101007
 */
export async function testWebhook(
  deps: CheckDeps,
  tenantId: string,
  notifyType: EventType,
): Promise<WebhookTestAnswer> {
  const endpoint = await findEndpoint(deps.db, deps.cipher, tenantId)
  if (endpoint == null || endpoint.callbackUrl === null || !endpoint.enabled) throw noEndpoint(endpoint?.callbackUrl)
  const tenant = await findTenant(deps.db, deps.cipher, { tenantId })
  if (!tenant) throw new Error(`no tenant ${tenantId}`)
  const { callbackUrl: url, eventFormat } = endpoint
  const event = sampleEvent(deps.ids, notifyType, tenant.currencyCode, new Date(deps.databaseClock.now()))
  const text = bodyOf(eventFormat, event, deps.config.mode)
  if (text === undefined) throw notInFormat(eventFormat, notifyType)
  return inTurn(deps, tenantId, async () => {
    const attempt = await attemptDelivery(deps, { url, eventFormat }, tenant, event, asTest(text), EVENT_TIMEOUT_MS)
    const { outcome, durationMs } = attempt
    const failure = failureOf(outcome)
    const httpStatus = outcome.kind === 'answer' ? outcome.status : null
    return { acknowledged: failure === null, httpStatus, durationMs, failure }
  })
}

function noEndpoint(callbackUrl: string | null | undefined): ApiError {
  const reason =
    callbackUrl == null
      ? 'No callback URL is set: set one with webhook/set.'
      : 'The endpoint is disabled: enable it with webhook/set.'
  return new ApiError('400101', { details: [{ field: 'callbackUrl', reason }] })
}

function notInFormat(format: EventFormat, notifyType: EventType): ApiError {
  const reason = `The ${format} format has no event for ${notifyType}: test another type.`
  return new ApiError('000108', { details: [{ field: 'notifyType', reason }] })
}

/** Marks an event, which is an object with members, as a test. */
function asTest(text: string): string {
  return `{"test":true,${text.slice(1)}`
}

/** The reason why the event counts as not acknowledged; null: it was acknowledged. */
function failureOf(outcome: OutboundOutcome): TestFailure | null {
  if (isAcknowledged(outcome)) return null
  if (outcome.kind === 'answer') return 'STATUS'
  switch (outcome.phase) {
    case 'url':
    case 'forbidden':
    case 'dns':
      return 'ADDRESS'
    case 'connect':
    case 'sent':
      return 'REFUSED'
    case 'tls':
      return 'TLS'
    case 'time-out':
      return 'TIMEOUT'
    default:
      return outcome.phase satisfies never
  }
}

type Sample = { [T in EventType]: Extract<Event, { notifyType: T }>['content'] }

/** Its identifiers refer to nothing of any tenant, and its amounts are 0. */
function sampleEvent(ids: Ids, notifyType: EventType, currencyCode: string, now: Date) {
  const time = formatTime(now)
  const iccid = makeIccid('89999', 0)
  const order = { orderNo: 'TEST-ORDER', transactionId: 'TEST-TRANSACTION' }
  const orderOfEsims = { ...order, orderType: 'NEW' as const, esimTranNo: null, sequence: 1 }
  const esim = { ...order, esimTranNo: ids.uuid(), iccid, sequence: 1 }
  const samples: Sample = {
    ORDER_PAID: {
      ...orderOfEsims,
      ...{ orderStatus: 'PAID', amount: 0, currencyCode, balanceAfter: 0 },
      packageInfoList: [{ packageCode: 'TEST', packageName: 'Test', count: 1, price: 0, periodNum: null }],
    },
    DELIVERY_UPDATED: {
      ...orderOfEsims,
      ...{ orderStatus: 'DELIVERED', sequence: 2, refundedAmount: 0 },
      profiles: [{ esimTranNo: esim.esimTranNo, iccid, esimStatus: 'GOT_RESOURCE', smdpStatus: 'RELEASED' }],
    },
    ESIM_USAGE: {
      ...{ ...esim, totalVolume: 1_000_000_000, orderUsage: 500_000_000, remaining: 500_000_000 },
      ...{ threshold: 50, usageUpdateTime: time },
    },
    ESIM_EXPIRING: { ...esim, expiredTime: formatTime(new Date(now.getTime() + 24 * HOUR_MS)), hours: 24 },
    ESIM_ACTION_UPDATED: {
      ...{ actionNo: 'TEST-ACTION', transactionId: order.transactionId, startedBy: 'DEALER', action: 'CANCEL' },
      ...{ esimTranNo: esim.esimTranNo, iccid, orderNo: order.orderNo, actionStatus: 'DONE' },
      ...{
        refundAmount: 0,
        feeAmount: 0,
        currencyCode,
        failureReason: null,
        keyLabel: null,
        createTime: time,
        lastUpdateTime: time,
      },
    },
    BALANCE_LOW: {
      ...{ balance: 0, availableBalance: 0, lowBalanceThreshold: 0, percent: 100, currencyCode },
      lastUpdateTime: time,
    },
  }
  return {
    notifyId: ids.uuid(),
    notifyType,
    createdAt: now,
    content: JSON.stringify(samples[notifyType]),
    details: null,
  }
}

const HOUR_MS = 3_600_000
