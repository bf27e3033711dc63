import Type, { type TObject } from 'typebox'
import type { RtCode } from './rt-codes.ts'
import {
  rtActionRequest,
  rtOrderAnswer,
  rtOrderRequest,
  rtQueryAnswer,
  rtQueryRequest,
  rtSmsRequest,
  rtTopupAnswer,
  rtTopupRequest,
  rtUsageAnswer,
  rtUsageRequest,
} from './rt-esims.ts'
import {
  rtLocationListAnswer,
  rtLocationListRequest,
  rtPackageListAnswer,
  rtPackageListRequest,
} from './rt-packages.ts'
import { rtMoney, rtTimeText } from './rt-scalars.ts'

/** Operations are posted to `{base_url}` + this + the operation's key. */
export const RT_API_PATH = '/api/v1/open/'

const RT_ALIAS_PREFIX = '/api/v5/esim/'

/** Paths of another version of the family's interface, with the same requests and answers. */
export const RT_ALIASES: ReadonlyMap<string, RtOperationName> = new Map([
  [`${RT_ALIAS_PREFIX}package/list`, 'package/list'],
  [`${RT_ALIAS_PREFIX}order`, 'esim/order'],
  [`${RT_ALIAS_PREFIX}query`, 'esim/query'],
])

/** All paths of the RT API begin with one of these. */
export const RT_PREFIXES = [RT_API_PATH, RT_ALIAS_PREFIX] as const

const NOTHING = Type.Object({})

/**
 * The operations of the RT family that the gateway serves. The server's handlers and the OpenAPI document are derived from
 * it.
 */
export const rtOperations = {
  'balance/query': operation(
    'Get the balance',
    NOTHING,
    Type.Object({ balance: rtMoney(), lastUpdateTime: rtTimeText() }),
  ),
  'location/list': operation('List countries and regions', rtLocationListRequest, rtLocationListAnswer),
  'package/list': operation('List all packages in one answer', rtPackageListRequest, rtPackageListAnswer, ['310403']),
  'esim/order': operation('Buy eSIMs', rtOrderRequest, rtOrderAnswer, [
    ...(['200005', '200006', '200007', '200011', '310241', '310243', '310402'] as const),
  ]),
  'esim/query': operation('Get the eSIMs of an order, or other eSIMs page by page', rtQueryRequest, rtQueryAnswer, [
    ...(['200009', '200010', '310272'] as const),
  ]),
  'esim/topup': operation('Top up an eSIM and wait for the result', rtTopupRequest, rtTopupAnswer, [
    ...(['200002', '200005', '200006', '200007', '200009', '200011'] as const),
    ...(['310241', '310243', '310402', '310403'] as const),
  ]),
  'esim/cancel': action('Cancel an eSIM that is not installed; the money returns to the balance'),
  'esim/suspend': action('Suspend an eSIM that is in use'),
  'esim/unsuspend': action('End the suspension of an eSIM'),
  'esim/revoke': action('Revoke an eSIM without a refund'),
  'esim/usage/query': operation('Get the usage of eSIMs', rtUsageRequest, rtUsageAnswer),
  'esim/sendSms': operation('Send an SMS to an eSIM; a repeat is a second one', rtSmsRequest, NOTHING, [
    ...(['200002', '310403'] as const),
  ]),
  'webhook/save': operation(
    'Save the address of events, which must answer a CHECK_HEALTH, and choose the format of the family',
    Type.Object({ webhook: Type.String({ description: 'An https address.' }) }),
    NOTHING,
  ),
  'webhook/query': operation('Get the address of events', NOTHING, Type.Object({ webhook: Type.String() })),
} as const

export type RtOperationName = keyof typeof rtOperations

function operation<Request extends TObject, Obj extends TObject>(
  summary: string,
  request: Request,
  obj: Obj,
  codes: readonly RtCode[] = [],
) {
  return { summary, request, obj, codes }
}

function action(summary: string) {
  return operation(summary, rtActionRequest, NOTHING, ['200002', '310403'])
}
