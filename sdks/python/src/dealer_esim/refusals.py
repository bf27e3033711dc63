"""An exception for each code that a gateway refuses with. Generated from packages/contract by `npm run sdks`:
do not edit.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .errors import RefusalData, Refused
from .models import EsimStatus, SmdpStatus, SpendScope


class InternalError(Refused):
    """000001, HTTP 500. Something went wrong in the gateway and the outcome may be unknown. Repeat the call with a
    new RT-RequestID; repeat an order with the same transactionId. An unexpected error occurred in the gateway.
    An order may or may not have been placed; repeating it with the same transactionId is always safe, because
    it is debited at most once. If the error persists, send data.requestId to the operator.
    """

    code = "000001"


class Unavailable(Refused):
    """000002, HTTP 503. The gateway is temporarily unavailable and nothing was changed. Wait for the time in
    Retry-After and repeat the request with a new RT-RequestID. The database is unavailable, or the gateway is
    starting, stopping or overloaded. Nothing was changed. Repeat the call after the number of seconds in the
    Retry-After header; repeat an order with the same transactionId. After a restore from a backup, an order of
    the lost time is refused until the operator has found out whether it was sold: keep its transactionId.
    """

    code = "000002"


class HeaderMissing(Refused):
    """000101, HTTP 400. A required header is missing. Send RT-AccessCode, RT-RequestID, RT-Timestamp and
    X-Signature. data.details lists the missing headers. A common cause is a proxy that drops unknown headers.
    """

    code = "000101"


class HeaderMalformed(Refused):
    """000102, HTTP 400. A header is malformed. Correct the headers listed in data.details. RT-Timestamp must have
    exactly 13 digits (milliseconds), RT-RequestID must be a 36-character UUID, RT-AccessCode must be the AppKey
    (8 to 64 letters, digits, _ and -), and X-Signature must have 64 hex digits. Send each header only once.
    """

    code = "000102"


class MethodNotAllowed(Refused):
    """000103, HTTP 405. Only POST is allowed. Use POST. Every operation is called with POST, even if it only
    reads. On a redirect from http to https, many clients turn POST into GET: call the https address directly.
    """

    code = "000103"


class BodyNotJsonObject(Refused):
    """000104, HTTP 400. The body is not a JSON object. Send one JSON object in UTF-8, or {} if there are no
    parameters. The gateway rejects an empty body, invalid UTF-8, a byte-order mark, a member that appears
    twice, nesting deeper than 8 levels, and anything that is not an object. data.details says which of these it
    found.
    """

    code = "000104"


class ParameterMissing(Refused):
    """000105, HTTP 400. A required parameter is missing. Add the parameters listed in data.details. data.details
    lists each missing member by its path, such as packageInfoList[0].packageCode.
    """

    code = "000105"


class ParameterNull(Refused):
    """000106, HTTP 400. A required parameter is null. Give it a value. Optional members may be null, which means
    absent; required members may not be null. data.details lists each faulty member.
    """

    code = "000106"


class ParameterLength(Refused):
    """000107, HTTP 400. A parameter is too long or too short. Correct the parameters listed in data.details.
    Lengths are counted in Unicode characters. data.details lists each faulty member with its allowed length.
    """

    code = "000107"


class ParameterInvalid(Refused):
    """000108, HTTP 400. A parameter is malformed, out of range or unknown. Correct the parameters listed in
    data.details. Unknown members are rejected on purpose, so that a mistyped guard such as "amounts" does not
    cost money. Integers must lie within ±(2^53-1). An order has 1 to 20 lines of 1 to 30 eSIMs, at most 100 in
    total, and no package may appear twice.
    """

    code = "000108"


class OperationUnknown(Refused):
    """000109, HTTP 404. There is no such operation. Check the path: {base_url}/open-api/v1/{operation}. The path
    does not match any operation. Common causes are a missing or doubled /open-api/v1, or a trailing slash.
    """

    code = "000109"


class MediaTypeUnsupported(Refused):
    """000110, HTTP 415. The body must be plain JSON. Send Content-Type: application/json and no Content-Encoding.
    The Content-Type is missing or is not application/json, or the body is compressed. Parameters such as
    charset=utf-8 are allowed.
    """

    code = "000110"


class BodyTooLarge(Refused):
    """000111, HTTP 413. The body is larger than 256 KiB. Send a smaller body. No valid request is nearly that
    large. Split orders of more than 100 eSIMs.
    """

    code = "000111"


class TimestampOutsideWindowData(RefusalData):
    serverTime: str
    """The gateway's clock (RFC 3339; answers are UTC with milliseconds)"""


class TimestampOutsideWindow(Refused):
    """101001, HTTP 401. RT-Timestamp is more than 300 seconds off. Set your clock to data.serverTime and sign
    again. RT-Timestamp must lie within 300 s of the gateway's clock (data.serverTime). Keep the machine's clock
    synchronised, send milliseconds, and sign every attempt instead of repeating an old request.
    """

    code = "101001"
    data: TimestampOutsideWindowData


class AddressNotAllowedData(RefusalData):
    address: str
    """The address that the gateway saw."""


class AddressNotAllowed(Refused):
    """101002, HTTP 403. Calls from this address are not allowed. Add data.address to the IP allowlist, or call
    from an allowed address. The tenant has an IP allowlist that does not contain data.address, the address seen
    by the gateway. The allowlist can be edited in the console.
    """

    code = "101002"
    data: AddressNotAllowedData


class SignatureMismatchData(RefusalData):
    stringToSign: NotRequired[str]
    """On local and test gateways only."""


class SignatureMismatch(Refused):
    """101003, HTTP 401. The signature does not match. Sign RT-Timestamp + RT-RequestID + RT-AccessCode + body,
    byte for byte as sent, with the AppSecret. X-Signature is the hex HMAC-SHA256 of timestamp, request id,
    AppKey and the raw body, without separators, keyed by the UTF-8 bytes of the AppSecret. Common causes: the
    body was serialised again after signing, the secret has been reset, or it was base64-decoded. Local and test
    gateways return the text that they signed as data.stringToSign.
    """

    code = "101003"
    data: SignatureMismatchData


class AppKeyUnknown(Refused):
    """101004, HTTP 401. The AppKey is unknown or revoked. Check RT-AccessCode and the base URL. No tenant of this
    gateway has this AppKey. Test and production gateways use different credentials.
    """

    code = "101004"


class TenantSuspended(Refused):
    """101005, HTTP 403. The account is suspended. Contact the operator. The operator has suspended the account.
    Paid orders are still delivered or refunded, and their events are still sent.
    """

    code = "101005"


class RequestIdUsed(Refused):
    """101006, HTTP 409. This RT-RequestID has already been used: the first request with it was processed or is
    still being processed. Repeat with a new RT-RequestID and the same transactionId. An RT-RequestID guards
    against replay and is accepted once. A retry needs a new RT-RequestID and the same `transactionId`, which
    makes the order idempotent. Make sure that no HTTP library or proxy repeats requests automatically.
    """

    code = "101006"


class RateLimited(Refused):
    """101007, HTTP 429. Too many requests. Wait for the time in Retry-After and repeat with a new RT-RequestID.
    The tenant's requests per second, counted over all of the gateway's nodes, exceed its limit
    (RateLimit-Limit); or too many calls from this address failed to authenticate; or a traveller, or all
    travellers together, got as many e-mails as a day allows. Spread the calls, or ask the operator for a higher
    limit.
    """

    code = "101007"


class HttpsRequired(Refused):
    """101008, HTTP 403. HTTPS is required. Call the https address. Only a local gateway accepts plain HTTP. If
    there is a proxy, the operator must list it as trusted, and the proxy must send X-Forwarded-Proto and
    X-Forwarded-For.
    """

    code = "101008"


class OperationNotAllowedData(RefusalData):
    operation: str


class OperationNotAllowed(Refused):
    """101009, HTTP 403. This key may not call this operation. Use a key that may, or add the operation to the key.
    The call is signed with a restricted key, whose operations do not include data.operation. An administrator
    of the account changes them on the page API credentials. A restricted key can never set the webhook.
    """

    code = "101009"
    data: OperationNotAllowedData


class EsimStateData(RefusalData):
    esimStatus: EsimStatus
    smdpStatus: SmdpStatus | None
    suspended: bool
    actionNo: str | None
    """The open action in the way."""
    orderNo: str | None
    """The open top-up in the way."""


class EsimState(Refused):
    """200002, HTTP 409. The state of the eSIM does not allow this and nothing was changed. Check data.esimStatus;
    if data.actionNo or data.orderNo is set, wait until that action or top-up has ended. data contains the
    status of the eSIM and the open action (actionNo) or the open top-up (orderNo) that prevents the request. If
    both are null, waiting does not help: a cancelled eSIM, for example, can never be topped up.
    """

    code = "200002"
    data: EsimStateData


class PriceChangedData(RefusalData):
    current: int | str


class PriceChanged(Refused):
    """200005, HTTP 422. A price has changed and nothing was bought. Compare data.current with your price, then
    order again with the current price or without a price. The guard price of the line listed in data.details
    differs from the current price of one eSIM (data.current). The same transactionId may be used again. Of
    test/clock/advance: the test time is not fromTime, but data.current; nothing was moved.
    """

    code = "200005"
    data: PriceChangedData


class AmountChangedData(RefusalData):
    current: int
    """The current total (in 1/10 000 of `currencyCode`)"""


class AmountChanged(Refused):
    """200006, HTTP 422. The total has changed and nothing was bought. Compare data.current with your amount, then
    order again with the current amount or without an amount. The guard amount differs from the current total of
    the order (data.current). The same transactionId may be used again.
    """

    code = "200006"
    data: AmountChangedData


class BalanceInsufficientData(RefusalData):
    currentBalance: int
    """in 1/10 000 of `currencyCode`"""
    requiredAmount: int
    """The total of the order (in 1/10 000 of `currencyCode`)"""
    shortfall: int
    """The amount that is missing, after the credit limit (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""


class BalanceInsufficient(Refused):
    """200007, HTTP 402. The balance does not cover the order and nothing was bought. Top up data.shortfall and
    order again with the same transactionId. The balance plus the credit limit is smaller than the order. The
    refused order was not recorded, so it can be repeated with the same transactionId after a top-up.
    """

    code = "200007"
    data: BalanceInsufficientData


class StockInsufficient(Refused):
    """200011, HTTP 422. There are not enough eSIMs of a package and nothing was bought. Order fewer eSIMs, choose
    another package, or try again later. data.details identifies the line. The check is early and advisory: an
    order that passes it can still run out of stock, and is then refunded.
    """

    code = "200011"


class TransactionConflict(Refused):
    """200012, HTTP 409. This transactionId was already used with different content, and nothing was changed. Use a
    new transactionId for a new order. The transactionId belongs to an order, top-up or action with different
    content; all three share one set of transactionIds. To get the first answer again, repeat the original
    content. A transactionId can never be reused: every new order, top-up or action needs a new one. After a
    restore from a backup it can mean that this order was sold before: message says so. Then ask the operator
    for its eSIMs instead of buying again.
    """

    code = "200012"


class OrderUnknown(Refused):
    """200013, HTTP 404. There is no such order or action. Check orderNo, actionNo or transactionId. This tenant
    has no order or action with that number or transactionId, or the two belong to different orders or actions.
    `esim/query` finds orders and top-ups, `esim/action/query` actions. If an order call was not answered,
    nothing has been bought, unless that call is still on its way: repeat the order with the same transactionId.
    """

    code = "200013"


class DailyLimitExceededData(RefusalData):
    scope: SpendScope
    limit: int
    """in 1/10 000 of `currencyCode`"""
    spent: int
    """What was spent within the limit; 0 for KEY_ORDER (in 1/10 000 of `currencyCode`)"""
    resetTime: str | None
    """The end of the day; null for KEY_ORDER and KEY_TOTAL (RFC 3339; answers are UTC with milliseconds)"""


class DailyLimitExceeded(Refused):
    """200014, HTTP 422. A spend limit does not cover the order and nothing was bought. Order less, ask for a
    higher limit, or wait until data.resetTime: data.scope names the limit. data.scope is TENANT_DAY for the
    daily limit of the account, which the operator sets, and KEY_ORDER, KEY_DAY or KEY_TOTAL for a limit of the
    restricted key that signed the call, which the administrators of the account set. data.limit is the limit,
    data.spent what counts towards it so far.
    """

    code = "200014"
    data: DailyLimitExceededData


class SupplierUnableData(RefusalData):
    action: Literal["TOPUP", "CANCEL", "SUSPEND", "UNSUSPEND", "REVOKE", "TEST"]


class SupplierUnable(Refused):
    """200015, HTTP 422. The supplier of this eSIM cannot do this and nothing was changed. Do not repeat the
    request: ask the operator what is possible. Not every supplier can top up, cancel, suspend or revoke an
    eSIM. data.action states what this supplier cannot do. TEST: the built-in sandbox does not deliver this eSIM
    or order, so no test operation changes it.
    """

    code = "200015"
    data: SupplierUnableData


class CancelPolicyData(RefusalData):
    cancellableUntil: str | None
    """The end of the time to cancel; null: it never could be (RFC 3339; answers are UTC with milliseconds)"""


class CancelPolicy(Refused):
    """200017, HTTP 422. The cancel policy of the package does not allow this and nothing was changed. Ask the
    operator to cancel the eSIM. The package cannot be cancelled, or its cancellation period has ended
    (data.cancellableUntil). Ask the operator.
    """

    code = "200017"
    data: CancelPolicyData


class BrandUnknownData(RefusalData):
    brand: str


class BrandUnknown(Refused):
    """200018, HTTP 422. There is no such brand and nothing was changed. Leave brand out, or use one that the
    console lists. The dealer has no brand of that name, data.brand.
    """

    code = "200018"
    data: BrandUnknownData


class MailUnavailable(Refused):
    """200019, HTTP 422. This gateway sends no e-mail and nothing was changed. Pass shareUrl on yourself, or ask
    the operator to set up e-mail. The operator has set up no mail server, so neither deliverTo of an order nor
    esim/profile/send works.
    """

    code = "200019"


class PackageUnknown(Refused):
    """310241, HTTP 422. There is no such package and nothing was bought. Use a packageCode from package/list.
    data.details identifies the line. The package does not exist for this tenant, or has no price in its
    currency.
    """

    code = "310241"


class PackageOffSale(Refused):
    """310244, HTTP 422. A package is off sale and nothing was bought. Choose another package from package/list.
    data.details identifies the line. Poll package/list with updatedSince to learn which packages are taken off
    sale.
    """

    code = "310244"


class TopupUnfit(Refused):
    """310245, HTTP 422. This package cannot top up this eSIM and nothing was bought. Choose a package from
    package/list, called with type TOPUP and the eSIM. A top-up needs a TOPUP package from the supplier of the
    eSIM, with the same coverage and the same type of data.
    """

    code = "310245"


class EsimUnknown(Refused):
    """310403, HTTP 404. There is no such eSIM. Check esimTranNo or iccid. This tenant has no eSIM with that
    esimTranNo or ICCID, or the two belong to different eSIMs.
    """

    code = "310403"


class CallbackUrlNotAllowed(Refused):
    """400101, HTTP 422. The callback URL is not allowed and the previous setting was kept. Use a public https
    address without a user name or password. The URL must be https, without a user name or password, and must
    not resolve to a private, loopback, link-local or metadata address. A local gateway also allows http and
    such addresses.
    """

    code = "400101"


class CallbackUrlUnhealthy(Refused):
    """400102, HTTP 422. The callback URL did not pass the health check and the previous setting was kept. Make it
    answer a signed CHECK_HEALTH event with 2xx within 5 seconds. The gateway posts a CHECK_HEALTH event to a
    URL before the URL is set or enabled. data.details says what the URL returned. A tenant can run one check at
    a time and ten per minute.
    """

    code = "400102"


BY_CODE: dict[str, type[Refused]] = {
    "000001": InternalError,
    "000002": Unavailable,
    "000101": HeaderMissing,
    "000102": HeaderMalformed,
    "000103": MethodNotAllowed,
    "000104": BodyNotJsonObject,
    "000105": ParameterMissing,
    "000106": ParameterNull,
    "000107": ParameterLength,
    "000108": ParameterInvalid,
    "000109": OperationUnknown,
    "000110": MediaTypeUnsupported,
    "000111": BodyTooLarge,
    "101001": TimestampOutsideWindow,
    "101002": AddressNotAllowed,
    "101003": SignatureMismatch,
    "101004": AppKeyUnknown,
    "101005": TenantSuspended,
    "101006": RequestIdUsed,
    "101007": RateLimited,
    "101008": HttpsRequired,
    "101009": OperationNotAllowed,
    "200002": EsimState,
    "200005": PriceChanged,
    "200006": AmountChanged,
    "200007": BalanceInsufficient,
    "200011": StockInsufficient,
    "200012": TransactionConflict,
    "200013": OrderUnknown,
    "200014": DailyLimitExceeded,
    "200015": SupplierUnable,
    "200017": CancelPolicy,
    "200018": BrandUnknown,
    "200019": MailUnavailable,
    "310241": PackageUnknown,
    "310244": PackageOffSale,
    "310245": TopupUnfit,
    "310403": EsimUnknown,
    "400101": CallbackUrlNotAllowed,
    "400102": CallbackUrlUnhealthy,
}
