import Type, { type Static, type TObject, type TProperties } from 'typebox'
import { ESIM_ACTIONS, ESIM_STATUSES, SMDP_STATUSES, SPEND_SCOPES } from '#schemas/enumerations.ts'
import { currencyCode, money, nullable, price, time } from '#schemas/scalars.ts'

/** One row of the table. */
export interface CodeEntry {
  /** The HTTP status of the answer. */
  readonly http: number
  /** For logs, metrics and the names of SDK errors. */
  readonly name: string
  /** The default `message` of the answer: what is wrong and what to do next. */
  readonly message: string
  /** For the documentation: the cause and the fix. */
  readonly remedy: string
  /** Members of `data` besides `requestId` and `details`. */
  readonly data: TObject
  /** Headers that this code adds to the answer. */
  readonly headers: readonly string[]
}

/**
 * Every code that an answer can carry: the single source of the HTTP mapping, the OpenAPI document, the documentation
 * and the SDK's types. A 5xx means that the outcome is unknown or that nothing happened.
 */
export const codes = {
  '000000': row(200, 'SUCCESS', 'success', 'Nothing to do.'),
  '000001': row(
    500,
    'INTERNAL_ERROR',
    'Something went wrong in the gateway and the outcome may be unknown. Repeat the call with a new RT-RequestID; repeat an order with the same transactionId.',
    'An unexpected error occurred in the gateway. An order may or may not have been placed; repeating it with the same transactionId is always safe, because it is debited at most once. If the error persists, send data.requestId to the operator.',
  ),
  '000002': row(
    503,
    'UNAVAILABLE',
    'The gateway is temporarily unavailable and nothing was changed. Wait for the time in Retry-After and repeat the request with a new RT-RequestID.',
    'The database is unavailable, or the gateway is starting, stopping or overloaded. Nothing was changed. Repeat the call after the number of seconds in the Retry-After header; repeat an order with the same transactionId. After a restore from a backup, an order of the lost time is refused until the operator has found out whether it was sold: keep its transactionId.',
    {},
    ['Retry-After'],
  ),
  '000101': row(
    400,
    'HEADER_MISSING',
    'A required header is missing. Send RT-AccessCode, RT-RequestID, RT-Timestamp and X-Signature.',
    'data.details lists the missing headers. A common cause is a proxy that drops unknown headers.',
  ),
  '000102': row(
    400,
    'HEADER_MALFORMED',
    'A header is malformed. Correct the headers listed in data.details.',
    'RT-Timestamp must have exactly 13 digits (milliseconds), RT-RequestID must be a 36-character UUID, RT-AccessCode must be the AppKey (8 to 64 letters, digits, _ and -), and X-Signature must have 64 hex digits. Send each header only once.',
  ),
  '000103': row(
    405,
    'METHOD_NOT_ALLOWED',
    'Only POST is allowed. Use POST.',
    'Every operation is called with POST, even if it only reads. On a redirect from http to https, many clients turn POST into GET: call the https address directly.',
    {},
    ['Allow'],
  ),
  '000104': row(
    400,
    'BODY_NOT_JSON_OBJECT',
    'The body is not a JSON object. Send one JSON object in UTF-8, or {} if there are no parameters.',
    'The gateway rejects an empty body, invalid UTF-8, a byte-order mark, a member that appears twice, nesting deeper than 8 levels, and anything that is not an object. data.details says which of these it found.',
  ),
  '000105': row(
    400,
    'PARAMETER_MISSING',
    'A required parameter is missing. Add the parameters listed in data.details.',
    'data.details lists each missing member by its path, such as packageInfoList[0].packageCode.',
  ),
  '000106': row(
    400,
    'PARAMETER_NULL',
    'A required parameter is null. Give it a value.',
    'Optional members may be null, which means absent; required members may not be null. data.details lists each faulty member.',
  ),
  '000107': row(
    400,
    'PARAMETER_LENGTH',
    'A parameter is too long or too short. Correct the parameters listed in data.details.',
    'Lengths are counted in Unicode characters. data.details lists each faulty member with its allowed length.',
  ),
  '000108': row(
    400,
    'PARAMETER_INVALID',
    'A parameter is malformed, out of range or unknown. Correct the parameters listed in data.details.',
    'Unknown members are rejected on purpose, so that a mistyped guard such as "amounts" does not cost money. Integers must lie within ±(2^53-1). An order has 1 to 20 lines of 1 to 30 eSIMs, at most 100 in total, and no package may appear twice.',
  ),
  '000109': row(
    404,
    'OPERATION_UNKNOWN',
    'There is no such operation. Check the path: {base_url}/open-api/v1/{operation}.',
    'The path does not match any operation. Common causes are a missing or doubled /open-api/v1, or a trailing slash.',
  ),
  '000110': row(
    415,
    'MEDIA_TYPE_UNSUPPORTED',
    'The body must be plain JSON. Send Content-Type: application/json and no Content-Encoding.',
    'The Content-Type is missing or is not application/json, or the body is compressed. Parameters such as charset=utf-8 are allowed.',
  ),
  '000111': row(
    413,
    'BODY_TOO_LARGE',
    'The body is larger than 256 KiB. Send a smaller body.',
    'No valid request is nearly that large. Split orders of more than 100 eSIMs.',
  ),
  '101001': row(
    401,
    'TIMESTAMP_OUTSIDE_WINDOW',
    'RT-Timestamp is more than 300 seconds off. Set your clock to data.serverTime and sign again.',
    "RT-Timestamp must lie within 300 s of the gateway's clock (data.serverTime). Keep the machine's clock synchronised, send milliseconds, and sign every attempt instead of repeating an old request.",
    { serverTime: time({ description: "The gateway's clock" }) },
  ),
  '101002': row(
    403,
    'ADDRESS_NOT_ALLOWED',
    'Calls from this address are not allowed. Add data.address to the IP allowlist, or call from an allowed address.',
    'The tenant has an IP allowlist that does not contain data.address, the address seen by the gateway. The allowlist can be edited in the console.',
    { address: Type.String({ description: 'The address that the gateway saw.' }) },
  ),
  '101003': row(
    401,
    'SIGNATURE_MISMATCH',
    'The signature does not match. Sign RT-Timestamp + RT-RequestID + RT-AccessCode + body, byte for byte as sent, with the AppSecret.',
    'X-Signature is the hex HMAC-SHA256 of timestamp, request id, AppKey and the raw body, without separators, keyed by the UTF-8 bytes of the AppSecret. Common causes: the body was serialised again after signing, the secret has been reset, or it was base64-decoded. Local and test gateways return the text that they signed as data.stringToSign.',
    { stringToSign: Type.Optional(Type.String({ description: 'On local and test gateways only.' })) },
  ),
  '101004': row(
    401,
    'APP_KEY_UNKNOWN',
    'The AppKey is unknown or revoked. Check RT-AccessCode and the base URL.',
    'No tenant of this gateway has this AppKey. Test and production gateways use different credentials.',
  ),
  '101005': row(
    403,
    'TENANT_SUSPENDED',
    'The account is suspended. Contact the operator.',
    'The operator has suspended the account. Paid orders are still delivered or refunded, and their events are still sent.',
  ),
  '101006': row(
    409,
    'REQUEST_ID_USED',
    'This RT-RequestID has already been used: the first request with it was processed or is still being processed. Repeat with a new RT-RequestID and the same transactionId.',
    'An RT-RequestID guards against replay and is accepted once. A retry needs a new RT-RequestID and the same `transactionId`, which makes the order idempotent. Make sure that no HTTP library or proxy repeats requests automatically.',
  ),
  '101007': row(
    429,
    'RATE_LIMITED',
    'Too many requests. Wait for the time in Retry-After and repeat with a new RT-RequestID.',
    "The tenant's requests per second, counted over all of the gateway's nodes, exceed its limit (RateLimit-Limit); or too many calls from this address failed to authenticate; or a traveller, or all travellers together, got as many e-mails as a day allows. Spread the calls, or ask the operator for a higher limit.",
    {},
    ['Retry-After', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
  ),
  '101008': row(
    403,
    'HTTPS_REQUIRED',
    'HTTPS is required. Call the https address.',
    'Only a local gateway accepts plain HTTP. If there is a proxy, the operator must list it as trusted, and the proxy must send X-Forwarded-Proto and X-Forwarded-For.',
  ),
  '101009': row(
    403,
    'OPERATION_NOT_ALLOWED',
    'This key may not call this operation. Use a key that may, or add the operation to the key.',
    'The call is signed with a restricted key, whose operations do not include data.operation. An administrator of the account changes them on the page API credentials. A restricted key can never set the webhook.',
    { operation: Type.String() },
  ),
  '200002': row(
    409,
    'ESIM_STATE',
    'The state of the eSIM does not allow this and nothing was changed. Check data.esimStatus; if data.actionNo or data.orderNo is set, wait until that action or top-up has ended.',
    'data contains the status of the eSIM and the open action (actionNo) or the open top-up (orderNo) that prevents the request. If both are null, waiting does not help: a cancelled eSIM, for example, can never be topped up.',
    {
      esimStatus: Type.Enum(ESIM_STATUSES),
      smdpStatus: nullable(Type.Enum(SMDP_STATUSES)),
      suspended: Type.Boolean(),
      actionNo: nullable(Type.String({ description: 'The open action in the way.' })),
      orderNo: nullable(Type.String({ description: 'The open top-up in the way.' })),
    },
  ),
  '200005': row(
    422,
    'PRICE_CHANGED',
    'A price has changed and nothing was bought. Compare data.current with your price, then order again with the current price or without a price.',
    'The guard price of the line listed in data.details differs from the current price of one eSIM (data.current). The same transactionId may be used again. Of test/clock/advance: the test time is not fromTime, but data.current; nothing was moved.',
    {
      current: Type.Union([
        price({ description: 'The current price of one eSIM' }),
        time({ description: 'The current test time' }),
      ]),
    },
  ),
  '200006': row(
    422,
    'AMOUNT_CHANGED',
    'The total has changed and nothing was bought. Compare data.current with your amount, then order again with the current amount or without an amount.',
    'The guard amount differs from the current total of the order (data.current). The same transactionId may be used again.',
    { current: price({ description: 'The current total' }) },
  ),
  '200007': row(
    402,
    'BALANCE_INSUFFICIENT',
    'The balance does not cover the order and nothing was bought. Top up data.shortfall and order again with the same transactionId.',
    'The balance plus the credit limit is smaller than the order. The refused order was not recorded, so it can be repeated with the same transactionId after a top-up.',
    {
      currentBalance: money(),
      requiredAmount: price({ description: 'The total of the order' }),
      shortfall: price({ description: 'The amount that is missing, after the credit limit' }),
      currencyCode: currencyCode(),
    },
  ),
  '200011': row(
    422,
    'STOCK_INSUFFICIENT',
    'There are not enough eSIMs of a package and nothing was bought. Order fewer eSIMs, choose another package, or try again later.',
    'data.details identifies the line. The check is early and advisory: an order that passes it can still run out of stock, and is then refunded.',
  ),
  '200012': row(
    409,
    'TRANSACTION_CONFLICT',
    'This transactionId was already used with different content, and nothing was changed. Use a new transactionId for a new order.',
    'The transactionId belongs to an order, top-up or action with different content; all three share one set of transactionIds. To get the first answer again, repeat the original content. A transactionId can never be reused: every new order, top-up or action needs a new one. After a restore from a backup it can mean that this order was sold before: message says so. Then ask the operator for its eSIMs instead of buying again.',
  ),
  '200013': row(
    404,
    'ORDER_UNKNOWN',
    'There is no such order or action. Check orderNo, actionNo or transactionId.',
    'This tenant has no order or action with that number or transactionId, or the two belong to different orders or actions. `esim/query` finds orders and top-ups, `esim/action/query` actions. If an order call was not answered, nothing has been bought, unless that call is still on its way: repeat the order with the same transactionId.',
  ),
  '200014': row(
    422,
    'DAILY_LIMIT_EXCEEDED',
    'A spend limit does not cover the order and nothing was bought. Order less, ask for a higher limit, or wait until data.resetTime: data.scope names the limit.',
    'data.scope is TENANT_DAY for the daily limit of the account, which the operator sets, and KEY_ORDER, KEY_DAY or KEY_TOTAL for a limit of the restricted key that signed the call, which the administrators of the account set. data.limit is the limit, data.spent what counts towards it so far.',
    {
      scope: Type.Enum(SPEND_SCOPES),
      limit: price(),
      spent: price({ description: 'What was spent within the limit; 0 for KEY_ORDER' }),
      resetTime: nullable(time({ description: 'The end of the day; null for KEY_ORDER and KEY_TOTAL' })),
    },
  ),
  '200015': row(
    422,
    'SUPPLIER_UNABLE',
    'The supplier of this eSIM cannot do this and nothing was changed. Do not repeat the request: ask the operator what is possible.',
    'Not every supplier can top up, cancel, suspend or revoke an eSIM. data.action states what this supplier cannot do. TEST: the built-in sandbox does not deliver this eSIM or order, so no test operation changes it.',
    { action: Type.Enum(['TOPUP', ...ESIM_ACTIONS, 'TEST']) },
  ),
  '200017': row(
    422,
    'CANCEL_POLICY',
    'The cancel policy of the package does not allow this and nothing was changed. Ask the operator to cancel the eSIM.',
    'The package cannot be cancelled, or its cancellation period has ended (data.cancellableUntil). Ask the operator.',
    { cancellableUntil: nullable(time({ description: 'The end of the time to cancel; null: it never could be' })) },
  ),
  '200018': row(
    422,
    'BRAND_UNKNOWN',
    'There is no such brand and nothing was changed. Leave brand out, or use one that the console lists.',
    'The dealer has no brand of that name, data.brand.',
    { brand: Type.String() },
  ),
  '200019': row(
    422,
    'MAIL_UNAVAILABLE',
    'This gateway sends no e-mail and nothing was changed. Pass shareUrl on yourself, or ask the operator to set up e-mail.',
    'The operator has set up no mail server, so neither deliverTo of an order nor esim/profile/send works.',
  ),
  '310241': row(
    422,
    'PACKAGE_UNKNOWN',
    'There is no such package and nothing was bought. Use a packageCode from package/list.',
    'data.details identifies the line. The package does not exist for this tenant, or has no price in its currency.',
  ),
  '310244': row(
    422,
    'PACKAGE_OFF_SALE',
    'A package is off sale and nothing was bought. Choose another package from package/list.',
    'data.details identifies the line. Poll package/list with updatedSince to learn which packages are taken off sale.',
  ),
  '310245': row(
    422,
    'TOPUP_UNFIT',
    'This package cannot top up this eSIM and nothing was bought. Choose a package from package/list, called with type TOPUP and the eSIM.',
    'A top-up needs a TOPUP package from the supplier of the eSIM, with the same coverage and the same type of data.',
  ),
  '310403': row(
    404,
    'ESIM_UNKNOWN',
    'There is no such eSIM. Check esimTranNo or iccid.',
    'This tenant has no eSIM with that esimTranNo or ICCID, or the two belong to different eSIMs.',
  ),
  '400101': row(
    422,
    'CALLBACK_URL_NOT_ALLOWED',
    'The callback URL is not allowed and the previous setting was kept. Use a public https address without a user name or password.',
    'The URL must be https, without a user name or password, and must not resolve to a private, loopback, link-local or metadata address. A local gateway also allows http and such addresses.',
  ),
  '400102': row(
    422,
    'CALLBACK_URL_UNHEALTHY',
    'The callback URL did not pass the health check and the previous setting was kept. Make it answer a signed CHECK_HEALTH event with 2xx within 5 seconds.',
    'The gateway posts a CHECK_HEALTH event to a URL before the URL is set or enabled. data.details says what the URL returned. A tenant can run one check at a time and ten per minute.',
  ),
} as const satisfies Record<string, CodeEntry>

export type Code = keyof typeof codes
export type SuccessCode = '000000'
export type FailureCode = Exclude<Code, SuccessCode>
/** The members of `data` that a code adds to `requestId` and `details`. */
export type CodeData<C extends Code> = Static<(typeof codes)[C]['data']>

export const failureCodes = (Object.keys(codes) as Code[]).filter((code) => code !== '000000').sort() as FailureCode[]

export function isCode(value: string): value is Code {
  return Object.hasOwn(codes, value)
}

function row<const N extends string, D extends TProperties = Record<never, never>, const H extends string[] = []>(
  http: number,
  name: N,
  message: string,
  remedy: string,
  data?: D,
  headers?: H,
) {
  return { http, name, message, remedy, data: Type.Object(data ?? ({} as D)), headers: headers ?? [] }
}
