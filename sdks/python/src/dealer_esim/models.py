"""Requests, answers and events as they are on the wire. Generated from packages/contract by `npm run sdks`: do
not edit.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, Union


ActionStatus = Literal["PENDING", "DONE", "REFUSED", "UNDER_REVIEW"]
ActivationPolicy = Literal["ON_INSTALL", "ON_FIRST_NETWORK", "ON_PURCHASE"]
DataType = Literal["TOTAL", "DAILY", "UNLIMITED"]
DurationUnit = Literal["DAY"]
EsimAction = Literal["CANCEL", "SUSPEND", "UNSUSPEND", "REVOKE"]
EsimStatus = Literal["GOT_RESOURCE", "IN_USE", "USED_UP", "USED_EXPIRED", "UNUSED_EXPIRED", "CANCEL", "REVOKED"]
EventType = Literal["ORDER_PAID", "DELIVERY_UPDATED", "ESIM_USAGE", "ESIM_EXPIRING", "ESIM_ACTION_UPDATED", "BALANCE_LOW"]
LocationType = Literal["COUNTRY", "REGION", "GLOBAL"]
Mode = Literal["LIVE", "TEST"]
OrderStatus = Literal["PAID", "ALLOCATING", "UNDER_REVIEW", "DELIVERED", "PARTIALLY_DELIVERED", "FAILED", "CANCELLED"]
OrderType = Literal["NEW", "TOPUP"]
PackageType = Literal["BASE", "TOPUP"]
SendStatus = Literal["QUEUED", "SENT", "FAILED", "OPENED"]
SmdpStatus = Literal["RELEASED", "DOWNLOAD", "INSTALLATION", "ENABLED", "DISABLED", "DELETED"]
SmsStatus = Literal[0, 1, 2]
SpendScope = Literal["TENANT_DAY", "KEY_ORDER", "KEY_DAY", "KEY_TOTAL"]
StatementKind = Literal["ORDER", "TOPUP", "REFUND", "WALLET_TOPUP", "ADJUSTMENT"]
TestFailure = Literal["TIMEOUT", "REFUSED", "TLS", "ADDRESS", "STATUS"]
TestOutcome = Literal["DELIVERED", "REFUSED"]


class HealthAnswer(TypedDict):
    status: Literal["UP"]
    mode: Mode
    """TEST: the AppKey is that of a test twin, which spends no money."""
    tenantId: str
    clientName: str
    keyLabel: str | None
    """The label of the restricted key at that time; null: the tenant's own key."""
    keyLimits: HealthAnswerKeyLimits | None
    """The limits of the restricted key that signed the call; null: the tenant's own key."""


class HealthAnswerKeyLimits(TypedDict):
    """The limits of the restricted key that signed the call; null: the tenant's own key."""
    perOrderMax: int | None
    """in 1/10 000 of `currencyCode`"""
    perDayMax: int | None
    """in 1/10 000 of `currencyCode`"""
    daySpent: int
    """What its orders of this UTC day have debited, less refunds (in 1/10 000 of `currencyCode`)"""
    dayResetTime: str
    """The end of the day (RFC 3339; answers are UTC with milliseconds)"""
    totalMax: int | None
    """in 1/10 000 of `currencyCode`"""
    totalSpent: int
    """What all of its orders have debited, less refunds (in 1/10 000 of `currencyCode`)"""
    expiresAt: str | None
    """RFC 3339; answers are UTC with milliseconds"""


class AccountBalanceAnswer(TypedDict):
    balance: int
    """in 1/10 000 of `currencyCode`"""
    creditLimit: int
    """How far below zero the balance may go (in 1/10 000 of `currencyCode`)"""
    availableBalance: int
    """The amount that can be spent: `balance` + `creditLimit` (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    lowBalanceThreshold: int | None
    """An alert is sent when the balance falls below this (in 1/10 000 of `currencyCode`)"""
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class PackageListRequest(TypedDict):
    type: NotRequired[PackageType]
    esimTranNo: NotRequired[str]
    """With `type` TOPUP: only packages that fit this eSIM."""
    iccid: NotRequired[str]
    """With or without F padding. With `type` TOPUP: only packages that fit the newest eSIM with this ICCID."""
    packageCode: NotRequired[str]
    """Only this package."""
    slug: NotRequired[str]
    """Only the package with this slug."""
    locationCode: NotRequired[str]
    """ISO 3166-1 alpha-2: packages that cover the country, including regional and global ones. `!RG`: regional
    ones. `!GL`: global ones.
    """
    coversAll: NotRequired[list[str]]
    """ISO 3166-1 alpha-2: only packages that cover every one of these countries."""
    volumeMin: NotRequired[int]
    """Only packages with at least this `volume` (bytes, per day for DAILY), and unlimited ones."""
    durationMin: NotRequired[int]
    """Only packages of at least this many days; day passes count with `periodNumMax`."""
    keyword: NotRequired[str]
    """Part of a name, a code or a location."""
    updatedSince: NotRequired[str]
    """Only packages that changed since then; packages taken off sale are returned as OFF_SALE. Poll with the last
    `asOf` minus 5 minutes (RFC 3339; answers are UTC with milliseconds)
    """
    pageSize: NotRequired[int]
    """Rows per page. Get the next page with `cursor`."""
    cursor: NotRequired[str]
    """`nextCursor` of the previous page, unchanged, with the same filters."""


class PackageListAnswer(TypedDict):
    packageList: list[PackageOnSale | PackageOffSale]
    nextCursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    asOf: str
    """The starting point for the next `updatedSince` (RFC 3339; answers are UTC with milliseconds)"""


class PackageOnSale(TypedDict):
    packageCode: str
    """Identifies the package in orders."""
    slug: str
    packageType: PackageType
    name: str
    description: str | None
    price: int
    """The price of one eSIM for this tenant, of a day pass for one day (in 1/10 000 of `currencyCode`)"""
    retailPrice: int | None
    """The operator's recommended price for travellers (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    dataType: DataType
    volume: int | None
    """Bytes in total, or per day for DAILY. Null for UNLIMITED."""
    duration: int
    """In `durationUnit`, from activation."""
    periodNumMin: int | None
    """The minimum days of a day pass; null: the duration is fixed."""
    periodNumMax: int | None
    """The maximum days of a day pass; null: the duration is fixed."""
    durationUnit: DurationUnit
    unusedValidTime: int
    """Days within which the eSIM must first be used."""
    activationPolicy: ActivationPolicy
    """The moment at which `duration` starts."""
    ekycRequired: bool
    """True if the traveller must verify their identity first."""
    locationCodes: list[str]
    locationNetworkList: list[LocationNetwork]
    speed: str | None
    """Maximum speed, in the words of the operator."""
    fupPolicy: str | None
    """The policy above the fair-use limit."""
    smsStatus: SmsStatus
    """0: no SMS, 1: by phone and API, 2: by API only."""
    topUpSupported: bool
    """True if there are TOPUP packages for eSIMs of this package."""
    cancelPolicy: PackageOnSaleCancelPolicy
    status: Literal["ON_SALE"]
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class LocationNetwork(TypedDict):
    locationCode: str
    locationName: str
    operatorList: list[LocationNetworkOperator]


class LocationNetworkOperator(TypedDict):
    operatorName: str
    networkType: str


class PackageOnSaleCancelPolicy(TypedDict):
    cancellable: bool
    """Whether an unused eSIM can be cancelled by `esim/cancel`."""
    withinDays: int | None
    """Days from the creation of the eSIM; null: no limit."""
    feePercent: int
    """Percent of the price that is not refunded."""


class PackageOffSale(TypedDict):
    packageCode: str
    status: Literal["OFF_SALE"]
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class EsimOrderRequest(TypedDict):
    transactionId: str
    """The dealer's own key of the order, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the order idempotent.
    """
    packageInfoList: list[EsimOrderRequestPackageInfo]
    """At most 100 eSIMs in total, and no package twice."""
    amount: NotRequired[int]
    """Guard: the expected total; if the total differs, nothing is bought (in 1/10 000 of `currencyCode`)"""
    remark: NotRequired[str]
    """The dealer's own note."""


class EsimOrderRequestPackageInfo(TypedDict):
    packageCode: str
    count: int
    price: NotRequired[int]
    """Guard: the expected price of one eSIM, of a day pass of one day; if the price differs, nothing is bought (in
    1/10 000 of `currencyCode`)
    """
    periodNum: NotRequired[int]
    """Days of a day pass. May be absent where `periodNumMin` of the package is 1; then it is 1."""
    deliverTo: NotRequired[EsimOrderRequestPackageInfoDeliverTo]
    """Sends the link of the eSIM to the traveller once it is there. Only where `count` is 1."""
    language: NotRequired[str]
    """The traveller's language (BCP 47)."""
    brand: NotRequired[str]
    """The brand under which it is handed over. Without it: the default one."""


class EsimOrderRequestPackageInfoDeliverTo(TypedDict):
    """Sends the link of the eSIM to the traveller once it is there. Only where `count` is 1."""
    email: str
    """The traveller's address. It is encrypted, and deleted after 90 days or as the operator has set."""
    name: NotRequired[str]
    """The traveller's name, which is kept like the address."""
    language: NotRequired[str]
    """The traveller's language (BCP 47)."""
    brand: NotRequired[str]
    """The brand under which it is handed over. Without it: the default one."""


class EsimOrderAnswer(TypedDict):
    orderNo: str
    transactionId: str
    """The dealer's own key of the order, as sent with the order."""
    orderType: OrderType
    """NEW delivers eSIMs; TOPUP adds to one."""
    orderStatus: OrderStatus
    amount: int
    """The amount debited (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    balanceAfter: int
    """The balance after this debit (in 1/10 000 of `currencyCode`)"""
    createTime: str
    """When the request arrived. The first entry of `statusHistory` is the time of the debit. (RFC 3339; answers
    are UTC with milliseconds)
    """


class EsimOrderResult(EsimOrderAnswer):
    replayed: bool
    """True if the transactionId was used before: this is the earlier answer, and nothing was done again."""


class EsimOrderDryRun(TypedDict):
    transactionId: NotRequired[str]
    """The dealer's own key of the order, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the order idempotent.
    """
    packageInfoList: list[EsimOrderRequestPackageInfo]
    """At most 100 eSIMs in total, and no package twice."""
    amount: NotRequired[int]
    """Guard: the expected total; if the total differs, nothing is bought (in 1/10 000 of `currencyCode`)"""
    remark: NotRequired[str]
    """The dealer's own note."""


class EsimOrderDryRunAnswer(TypedDict):
    validateOnly: Literal[True]
    """Nothing is bought and nothing is reserved."""
    amount: int
    """The amount that an order would debit now (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    balanceAfter: int
    """The balance that it would leave (in 1/10 000 of `currencyCode`)"""
    packageInfoList: list[EsimOrderDryRunAnswerPackageInfo]


class EsimOrderDryRunAnswerPackageInfo(TypedDict):
    packageCode: str
    packageName: str
    count: int
    price: int
    """The price of one eSIM, of a day pass for one day (in 1/10 000 of `currencyCode`)"""
    periodNum: int | None
    """Days of a day pass; null for other packages."""
    available: int | None
    """eSIMs that can be delivered now; null if the supplier does not count them."""


class EsimTopupRequest(TypedDict):
    transactionId: str
    """The dealer's own key of the order, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the order idempotent.
    """
    esimTranNo: NotRequired[str]
    """Either `esimTranNo` or `iccid` is required."""
    iccid: NotRequired[str]
    """With or without F padding. Of several eSIMs with this ICCID, the newest is topped up."""
    packageCode: str
    """A package of type TOPUP that fits the eSIM."""
    periodNum: NotRequired[int]
    """Days of a day pass. May be absent where `periodNumMin` of the package is 1; then it is 1."""
    price: NotRequired[int]
    """Guard: the expected price, of a day pass for one day (in 1/10 000 of `currencyCode`)"""
    amount: NotRequired[int]
    """Guard: the expected total (in 1/10 000 of `currencyCode`)"""
    remark: NotRequired[str]
    """The dealer's own note."""


class EsimTopupAnswer(TypedDict):
    orderNo: str
    transactionId: str
    """The dealer's own key of the order, as sent with the order."""
    orderType: OrderType
    """NEW delivers eSIMs; TOPUP adds to one."""
    orderStatus: OrderStatus
    amount: int
    """The amount debited (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    balanceAfter: int
    """The balance after this debit (in 1/10 000 of `currencyCode`)"""
    createTime: str
    """When the request arrived. The first entry of `statusHistory` is the time of the debit. (RFC 3339; answers
    are UTC with milliseconds)
    """
    esimTranNo: str


class EsimTopupResult(EsimTopupAnswer):
    replayed: bool
    """True if the transactionId was used before: this is the earlier answer, and nothing was done again."""


class EsimTopupDryRun(TypedDict):
    transactionId: NotRequired[str]
    """The dealer's own key of the order, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the order idempotent.
    """
    esimTranNo: NotRequired[str]
    """Either `esimTranNo` or `iccid` is required."""
    iccid: NotRequired[str]
    """With or without F padding. Of several eSIMs with this ICCID, the newest is topped up."""
    packageCode: str
    """A package of type TOPUP that fits the eSIM."""
    periodNum: NotRequired[int]
    """Days of a day pass. May be absent where `periodNumMin` of the package is 1; then it is 1."""
    price: NotRequired[int]
    """Guard: the expected price, of a day pass for one day (in 1/10 000 of `currencyCode`)"""
    amount: NotRequired[int]
    """Guard: the expected total (in 1/10 000 of `currencyCode`)"""
    remark: NotRequired[str]
    """The dealer's own note."""


class EsimTopupDryRunAnswer(TypedDict):
    validateOnly: Literal[True]
    """Nothing is bought and nothing is reserved."""
    amount: int
    """The amount that an order would debit now (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    balanceAfter: int
    """The balance that it would leave (in 1/10 000 of `currencyCode`)"""
    packageInfoList: list[EsimOrderDryRunAnswerPackageInfo]
    esimTranNo: str


class EsimQueryRequest(TypedDict):
    orderNo: NotRequired[str]
    """Either `orderNo` or `transactionId` is required."""
    transactionId: NotRequired[str]
    """The dealer's own key of the order, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the order idempotent.
    """


class EsimQueryAnswer(TypedDict):
    orderNo: str
    transactionId: str
    """The dealer's own key of the order, as sent with the order."""
    orderType: OrderType
    """NEW delivers eSIMs; TOPUP adds to one."""
    orderStatus: OrderStatus
    amount: int
    """The amount debited (in 1/10 000 of `currencyCode`)"""
    refundedAmount: int
    """The part of it that was refunded (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    remark: str | None
    esimTranNo: str | None
    """The eSIM that a TOPUP adds to; null for NEW."""
    keyLabel: str | None
    """The label of the restricted key at that time; null: the tenant's own key."""
    createTime: str
    """When the request arrived. The first entry of `statusHistory` is the time of the debit. (RFC 3339; answers
    are UTC with milliseconds)
    """
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    packageInfoList: list[OrderLine]
    profileList: list[Profile]
    sendList: list[EsimQueryAnswerSend]
    """What was sent to travellers, newest first."""
    statusHistory: list[EsimQueryAnswerStatusHistory]


class OrderLine(TypedDict):
    packageCode: str
    packageName: str
    count: int
    price: int
    """The price of one eSIM, of a day pass for one day (in 1/10 000 of `currencyCode`)"""
    periodNum: int | None
    """Days of a day pass; null for other packages."""
    deliveredCount: int
    failedCount: int
    """eSIMs that the supplier refused; they are refunded."""
    failureReason: str | None


class Profile(TypedDict):
    esimTranNo: str
    """The unique key of the eSIM: suppliers reuse ICCIDs."""
    orderNo: str
    transactionId: str
    """The dealer's own key of the order, as sent with the order."""
    packageCode: str
    packageName: str
    iccid: str
    imsi: str | None
    msisdn: str | None
    eid: str | None
    """The chip that the profile was installed on."""
    ac: str
    """The activation code. Keep it secret: anybody who has it can install the eSIM."""
    smdpAddress: str
    matchingId: str
    confirmationCode: str | None
    """If not null, the device asks for it at installation."""
    pin: str | None
    puk: str | None
    qrCodeUrl: str
    """Shows the QR code until the profile is installed."""
    appleInstallUrl: str
    """Opens the installation on iOS 17.4 and later."""
    androidInstallUrl: str
    """Opens the installation on Android."""
    shareUrl: str | None
    """The traveller's page of this eSIM: installation, then status and usage. Null once it is cancelled or
    revoked.
    """
    apn: str | None
    esimStatus: EsimStatus
    smdpStatus: SmdpStatus | None
    totalVolume: int | None
    """Bytes; null when unlimited."""
    orderUsage: int | None
    """Bytes used; null when the supplier does not report it."""
    usageUpdateTime: str | None
    """RFC 3339; answers are UTC with milliseconds"""
    totalDuration: int
    """In `durationUnit`."""
    durationUnit: DurationUnit
    installBefore: str | None
    """RFC 3339; answers are UTC with milliseconds"""
    activateTime: str | None
    """RFC 3339; answers are UTC with milliseconds"""
    expiredTime: str | None
    """RFC 3339; answers are UTC with milliseconds"""
    suspended: bool
    """True while the line is suspended."""
    createTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class EsimQueryAnswerSend(TypedDict):
    sendNo: str
    transactionId: str | None
    """The dealer's own key of the send; null: `deliverTo` of the order, or the console."""
    esimTranNo: str
    sendStatus: SendStatus
    """FAILED: the mail server has refused it. OPENED: the page of the eSIM was opened after it was sent."""
    createTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class EsimQueryAnswerStatusHistory(TypedDict):
    orderStatus: OrderStatus
    time: str
    """RFC 3339; answers are UTC with milliseconds"""


class EsimProfileListRequest(TypedDict):
    orderNo: NotRequired[str]
    transactionId: NotRequired[str]
    """The dealer's own key of the order, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the order idempotent.
    """
    esimTranNo: NotRequired[str]
    """Only this eSIM."""
    iccid: NotRequired[str]
    """With or without F padding."""
    esimStatus: NotRequired[EsimStatus]
    smdpStatus: NotRequired[SmdpStatus]
    startTime: NotRequired[str]
    """Created at this time or later (RFC 3339; answers are UTC with milliseconds)"""
    endTime: NotRequired[str]
    """Created before this time (RFC 3339; answers are UTC with milliseconds)"""
    pageSize: NotRequired[int]
    """Rows per page. Get the next page with `cursor`."""
    cursor: NotRequired[str]
    """`nextCursor` of the previous page, unchanged, with the same filters."""


class EsimProfileListAnswer(TypedDict):
    profileList: list[Profile]
    nextCursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class EsimProfileSendRequest(TypedDict):
    transactionId: str
    """The dealer's own key of the action, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the action idempotent.
    """
    esimTranNo: NotRequired[str]
    """Either `esimTranNo` or `iccid` is required."""
    iccid: NotRequired[str]
    """With or without F padding. Of several eSIMs with this ICCID, the newest is meant."""
    email: str
    """The traveller's address. It is encrypted, and deleted after 90 days or as the operator has set."""
    name: NotRequired[str]
    """The traveller's name, which is kept like the address."""
    language: NotRequired[str]
    """The traveller's language (BCP 47)."""
    brand: NotRequired[str]
    """The brand under which it is handed over. Without it: the default one."""


class EsimProfileSendAnswer(TypedDict):
    sendNo: str
    transactionId: str
    """The dealer's own key of the send, as sent with it."""
    esimTranNo: str
    sendStatus: SendStatus
    """FAILED: the mail server has refused it. OPENED: the page of the eSIM was opened after it was sent."""
    createTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class EsimProfileSendResult(EsimProfileSendAnswer):
    replayed: bool
    """True if the transactionId was used before: this is the earlier answer, and nothing was done again."""


class BrandListAnswer(TypedDict):
    brandList: list[BrandListAnswerBrand]
    """The default brand first."""


class BrandListAnswerBrand(TypedDict):
    brand: str
    """For `brand` of an order line and of `esim/profile/send`."""
    name: str
    """As travellers see it."""
    isDefault: bool
    """The brand of what names none."""


class EsimCancelRequest(TypedDict):
    transactionId: str
    """The dealer's own key of the action, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the action idempotent.
    """
    esimTranNo: NotRequired[str]
    """Either `esimTranNo` or `iccid` is required."""
    iccid: NotRequired[str]
    """With or without F padding. Of several eSIMs with this ICCID, the newest is meant."""
    reason: NotRequired[str]
    """The dealer's own note."""


class Action(TypedDict):
    actionNo: str
    transactionId: str | None
    """The dealer's own key of the action; null: the operator began it."""
    startedBy: Literal["DEALER", "OPERATOR"]
    action: EsimAction
    esimTranNo: str
    iccid: str
    orderNo: str
    """The order that delivered the eSIM."""
    actionStatus: ActionStatus
    refundAmount: int
    """The price less the fee; 0 until DONE (in 1/10 000 of `currencyCode`)"""
    feeAmount: int
    """The part of the price that was not refunded; 0 until DONE (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    failureReason: str | None
    keyLabel: str | None
    """The label of the restricted key at that time; null: the tenant's own key."""
    createTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class ActionResult(Action):
    replayed: bool
    """True if the transactionId was used before: this is the earlier answer, and nothing was done again."""


class EsimSuspendRequest(TypedDict):
    transactionId: str
    """The dealer's own key of the action, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the action idempotent.
    """
    esimTranNo: NotRequired[str]
    """Either `esimTranNo` or `iccid` is required."""
    iccid: NotRequired[str]
    """With or without F padding. Of several eSIMs with this ICCID, the newest is meant."""
    reason: NotRequired[str]
    """The dealer's own note."""


class EsimUnsuspendRequest(TypedDict):
    transactionId: str
    """The dealer's own key of the action, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the action idempotent.
    """
    esimTranNo: NotRequired[str]
    """Either `esimTranNo` or `iccid` is required."""
    iccid: NotRequired[str]
    """With or without F padding. Of several eSIMs with this ICCID, the newest is meant."""
    reason: NotRequired[str]
    """The dealer's own note."""


class EsimRevokeRequest(TypedDict):
    transactionId: str
    """The dealer's own key of the action, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the action idempotent.
    """
    esimTranNo: NotRequired[str]
    """Either `esimTranNo` or `iccid` is required."""
    iccid: NotRequired[str]
    """With or without F padding. Of several eSIMs with this ICCID, the newest is meant."""
    reason: NotRequired[str]
    """The dealer's own note."""


class EsimActionQueryRequest(TypedDict):
    actionNo: NotRequired[str]
    """Either `actionNo` or `transactionId` is required."""
    transactionId: NotRequired[str]
    """The dealer's own key of the action, case-sensitive. A retry needs a new RT-RequestID and the same
    `transactionId`: it makes the action idempotent.
    """


class WebhookSetRequest(TypedDict):
    callbackUrl: NotRequired[str | None]
    """An https URL without user name and password. Null removes it."""
    eventTypes: NotRequired[list[EventType]]
    """The event types that are sent."""
    enabled: NotRequired[bool]
    usageThresholds: NotRequired[list[int]]
    """Percentages of usage at which ESIM_USAGE is sent; 50, 80, 100 by default."""
    expiryNoticeHours: NotRequired[list[int]]
    """Hours before expiry at which ESIM_EXPIRING is sent; 72, 24 by default."""


class WebhookSetAnswer(TypedDict):
    callbackUrl: str | None
    eventTypes: list[EventType]
    enabled: bool
    usageThresholds: list[int]
    """Ascending and distinct; empty: none."""
    expiryNoticeHours: list[int]
    """Ascending and distinct; empty: none."""
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class WebhookTestRequest(TypedDict):
    notifyType: EventType
    """The type of the event, subscribed or not."""


class WebhookTestAnswer(TypedDict):
    acknowledged: bool
    """True if the receiver answered 2xx within 10 s."""
    httpStatus: int | None
    """The receiver's HTTP status; null if it sent none."""
    durationMs: int
    failure: TestFailure | None
    """TIMEOUT: no answer within 10 s. REFUSED: no connection, or it broke. TLS: no secure connection. ADDRESS: the
    name cannot be resolved, or the address is not allowed. STATUS: not 2xx.
    """


class OrderListRequest(TypedDict):
    orderStatus: NotRequired[OrderStatus]
    orderType: NotRequired[OrderType]
    """NEW delivers eSIMs; TOPUP adds to one."""
    startTime: NotRequired[str]
    """Placed at this time or later (RFC 3339; answers are UTC with milliseconds)"""
    endTime: NotRequired[str]
    """Placed before this time (RFC 3339; answers are UTC with milliseconds)"""
    pageSize: NotRequired[int]
    """Rows per page. Get the next page with `cursor`."""
    cursor: NotRequired[str]
    """`nextCursor` of the previous page, unchanged, with the same filters."""


class OrderListAnswer(TypedDict):
    orderList: list[OrderListAnswerOrder]
    nextCursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class OrderListAnswerOrder(TypedDict):
    orderNo: str
    transactionId: str
    """The dealer's own key of the order, as sent with the order."""
    orderType: OrderType
    """NEW delivers eSIMs; TOPUP adds to one."""
    orderStatus: OrderStatus
    amount: int
    """The amount debited (in 1/10 000 of `currencyCode`)"""
    refundedAmount: int
    """The part of it that was refunded (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    remark: str | None
    esimTranNo: str | None
    """The eSIM that a TOPUP adds to; null for NEW."""
    keyLabel: str | None
    """The label of the restricted key at that time; null: the tenant's own key."""
    createTime: str
    """When the request arrived. The first entry of `statusHistory` is the time of the debit. (RFC 3339; answers
    are UTC with milliseconds)
    """
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    packageInfoList: list[OrderLine]


class AccountStatementRequest(TypedDict):
    startTime: NotRequired[str]
    """Only entries at this time or later (RFC 3339; answers are UTC with milliseconds)"""
    endTime: NotRequired[str]
    """Only entries before this time (RFC 3339; answers are UTC with milliseconds)"""
    kind: NotRequired[StatementKind]
    pageSize: NotRequired[int]
    """Rows per page. Get the next page with `cursor`."""
    cursor: NotRequired[str]
    """`nextCursor` of the previous page, unchanged, with the same filters."""


class AccountStatementAnswer(TypedDict):
    entryList: list[AccountStatementAnswerEntry]
    nextCursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class AccountStatementAnswerEntry(TypedDict):
    entryNo: str
    """Counts the entries of the tenant: 1, 2, 3 … without a gap. Only a filter leaves some out."""
    kind: StatementKind
    amount: int
    """Negative for a debit (in 1/10 000 of `currencyCode`)"""
    balanceAfter: int
    """The balance after this entry (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    orderNo: str | None
    transactionId: str | None
    """The dealer's own key of the order that the entry belongs to."""
    esimTranNo: str | None
    """The eSIM that a top-up or a refund is for."""
    actionNo: str | None
    """The action that refunded the eSIM."""
    reference: str | None
    """The operator's reference of a payment or an adjustment."""
    keyLabel: str | None
    """The label of the restricted key at that time; null: the tenant's own key."""
    createTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class LedgerCheckpointRequest(TypedDict):
    treeSize: NotRequired[int]
    """A checkpoint of exactly this many entries. Absent: of the newest entry that is in the tree."""


class LedgerCheckpointAnswer(TypedDict):
    treeSize: int
    """The entries 1 to this one are covered"""
    rootHash: str
    """The root of the Merkle tree (RFC 9162) over these entries, base64 (RFC 4648 section 4)"""
    createTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    note: str
    """The checkpoint as a signed note (C2SP tlog-checkpoint): origin, size, root, time, and an Ed25519 signature.
    Keep it: it is what you hold against later answers.
    """


class LedgerProofRequest(TypedDict):
    entryNo: str
    """The entry of `account/statement` to prove."""
    treeSize: int
    """The `treeSize` of the checkpoint that shall contain it"""


class LedgerProofAnswer(TypedDict):
    leafIndex: int
    """`entryNo` - 1"""
    treeSize: int
    """As in the request"""
    hashes: list[str]
    """The inclusion proof of RFC 9162 section 2.1.3.1"""


class LedgerConsistencyRequest(TypedDict):
    fromSize: int
    """The `treeSize` of the older checkpoint"""
    toSize: int
    """The `treeSize` of the newer checkpoint"""


class LedgerConsistencyAnswer(TypedDict):
    hashes: list[str]
    """The consistency proof of RFC 9162 section 2.1.4.1; empty for equal sizes"""


class LedgerKeysAnswer(TypedDict):
    keys: list[LedgerKeysAnswerKey]
    """The keys of every cell that has signed for this tenant, oldest first."""
    restores: list[str]
    """A signed note for each restore from a backup, oldest first: entries after the size that it names were lost,
    and their numbers used again.
    """


class LedgerKeysAnswerKey(TypedDict):
    publicKey: str
    """The 32 bytes of an Ed25519 key, base64"""
    validFrom: str
    """RFC 3339; answers are UTC with milliseconds"""
    validUntil: str | None
    """null: it still signs (RFC 3339; answers are UTC with milliseconds)"""
    endorsement: str | None
    """A note by which an earlier key signs this one, under the key name `dealer-esim-keys`. Trust a key because
    you trust its endorser; null: the first key.
    """


class LocationListRequest(TypedDict):
    language: NotRequired[str]
    """The language of the names (BCP 47). English without it, and for a language that is not known."""


class LocationListAnswer(TypedDict):
    locationList: list[LocationListAnswerLocation]


class LocationListAnswerLocation(TypedDict):
    locationCode: str
    name: str
    type: LocationType
    subLocationCodes: list[str]
    """The countries that regional or global packages cover together. Empty for a country."""


class DeviceListRequest(TypedDict):
    brand: NotRequired[str]
    """Only devices of this maker, in any case."""
    keyword: NotRequired[str]
    """Words that maker and model must have, in any case."""
    pageSize: NotRequired[int]
    """Rows per page. Get the next page with `cursor`."""
    cursor: NotRequired[str]
    """`nextCursor` of the previous page, unchanged, with the same filters."""


class DeviceListAnswer(TypedDict):
    deviceList: list[DeviceListAnswerDevice]
    """Never a promise: the same model may be sold without eSIM in some countries."""
    nextCursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    asOf: str
    """The day on which the table was compiled."""


class DeviceListAnswerDevice(TypedDict):
    brand: str
    model: str
    since: int | None
    """The year in which it came out."""
    note: str | None
    """Such as where it is sold without eSIM."""


class EsimUsageQueryRequest(TypedDict):
    esimTranNoList: list[str]


class EsimUsageQueryAnswer(TypedDict):
    esimUsageList: list[EsimUsageQueryAnswerEsimUsage]
    """In the order of the request."""
    notFound: list[str]
    """Those of the request that are not eSIMs of this tenant."""


class EsimUsageQueryAnswerEsimUsage(TypedDict):
    esimTranNo: str
    iccid: str
    totalVolume: int | None
    """Bytes; null when unlimited."""
    orderUsage: int | None
    """Bytes used; null when the supplier does not report it."""
    remaining: int | None
    """Bytes left; null if the volume is unlimited or the usage unknown."""
    usageUpdateTime: str | None
    """RFC 3339; answers are UTC with milliseconds"""
    expiredTime: str | None
    """RFC 3339; answers are UTC with milliseconds"""
    esimStatus: EsimStatus
    suspended: bool


class TestBalanceSetRequest(TypedDict):
    balance: int
    """The balance afterwards. The difference is posted as an ADJUSTMENT (in 1/10 000 of `currencyCode`)"""


class TestEsimUpdateRequest(TypedDict):
    esimTranNo: NotRequired[str]
    """Either `esimTranNo` or `iccid` is required."""
    iccid: NotRequired[str]
    """With or without F padding. Of several eSIMs with this ICCID, the newest is meant."""
    smdpStatus: NotRequired[SmdpStatus]
    orderUsage: NotRequired[int]
    """Bytes used."""
    usedPercent: NotRequired[int]
    """The usage as a percentage of `totalVolume`, rounded up to bytes; instead of `orderUsage`."""


class TestClockAdvanceRequest(TypedDict):
    hours: int
    fromTime: NotRequired[str]
    """`testTime` of the last answer. If the clock has been advanced since, nothing happens (200005): a repeated
    call never moves twice. Before the first advance: the present time, within an hour. (RFC 3339; answers are
    UTC with milliseconds)
    """


class TestClockAdvanceAnswer(TypedDict):
    testTime: str
    """The test time at the end of the advance. It goes on as the real time does (RFC 3339; answers are UTC with
    milliseconds)
    """
    advancedHours: int
    changedEsims: int
    """eSIMs that the time has changed."""


class TestOrderResolveRequest(TypedDict):
    orderNo: str
    outcome: TestOutcome
    """What the supplier says at last."""


class OrderPaidEvent(TypedDict):
    notifyId: str
    """The same on every attempt and every replay."""
    notifyType: Literal["ORDER_PAID"]
    test: NotRequired[Literal[True]]
    """Only in an event that `webhook/test` sent: its content is a sample."""
    mode: NotRequired[Literal["TEST"]]
    """Only in an event of a test twin; events of live accounts have no `mode`."""
    eventGenerateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    content: OrderPaidEventContent


class OrderPaidEventContent(TypedDict):
    orderNo: str
    transactionId: str
    """The dealer's own key of the order. A retry needs a new RT-RequestID and the same `transactionId`."""
    orderType: OrderType
    esimTranNo: str | None
    """The eSIM that a TOPUP adds to; null for NEW."""
    orderStatus: OrderStatus
    sequence: int
    """Counts the events of one order. Events can arrive out of order: keep the highest."""
    amount: int
    """What was debited (in 1/10 000 of `currencyCode`)"""
    currencyCode: str
    """ISO 4217"""
    balanceAfter: int
    """in 1/10 000 of `currencyCode`"""
    entryNo: NotRequired[str]
    """The number of the debit in `account/statement`. Absent from events that were recorded before it existed."""
    packageInfoList: list[OrderPaidEventContentPackageInfo]


class OrderPaidEventContentPackageInfo(TypedDict):
    packageCode: str
    packageName: str
    count: int
    price: int
    """in 1/10 000 of `currencyCode`"""
    periodNum: int | None


class DeliveryUpdatedEvent(TypedDict):
    notifyId: str
    """The same on every attempt and every replay."""
    notifyType: Literal["DELIVERY_UPDATED"]
    test: NotRequired[Literal[True]]
    """Only in an event that `webhook/test` sent: its content is a sample."""
    mode: NotRequired[Literal["TEST"]]
    """Only in an event of a test twin; events of live accounts have no `mode`."""
    eventGenerateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    content: DeliveryUpdatedEventContent


class DeliveryUpdatedEventContent(TypedDict):
    orderNo: str
    transactionId: str
    """The dealer's own key of the order. A retry needs a new RT-RequestID and the same `transactionId`."""
    orderType: OrderType
    esimTranNo: str | None
    """The eSIM that a TOPUP adds to; null for NEW."""
    orderStatus: OrderStatus
    sequence: int
    """Counts the events of one order. Events can arrive out of order: keep the highest."""
    refundedAmount: int
    """in 1/10 000 of `currencyCode`"""
    profiles: list[DeliveryUpdatedEventContentProfile]


class DeliveryUpdatedEventContentProfile(TypedDict):
    esimTranNo: str
    iccid: str
    esimStatus: EsimStatus
    smdpStatus: SmdpStatus | None


class EsimUsageEvent(TypedDict):
    notifyId: str
    """The same on every attempt and every replay."""
    notifyType: Literal["ESIM_USAGE"]
    test: NotRequired[Literal[True]]
    """Only in an event that `webhook/test` sent: its content is a sample."""
    mode: NotRequired[Literal["TEST"]]
    """Only in an event of a test twin; events of live accounts have no `mode`."""
    eventGenerateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    content: EsimUsageEventContent


class EsimUsageEventContent(TypedDict):
    orderNo: str
    transactionId: str
    """The dealer's own key of the order. A retry needs a new RT-RequestID and the same `transactionId`."""
    esimTranNo: str
    iccid: str
    sequence: int
    """Counts the events of this type of one eSIM."""
    totalVolume: int
    """Bytes."""
    orderUsage: int
    """Bytes used."""
    remaining: int
    """Bytes that are left."""
    threshold: int
    """The percentage that the usage has passed."""
    usageUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class EsimExpiringEvent(TypedDict):
    notifyId: str
    """The same on every attempt and every replay."""
    notifyType: Literal["ESIM_EXPIRING"]
    test: NotRequired[Literal[True]]
    """Only in an event that `webhook/test` sent: its content is a sample."""
    mode: NotRequired[Literal["TEST"]]
    """Only in an event of a test twin; events of live accounts have no `mode`."""
    eventGenerateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    content: EsimExpiringEventContent


class EsimExpiringEventContent(TypedDict):
    orderNo: str
    transactionId: str
    """The dealer's own key of the order. A retry needs a new RT-RequestID and the same `transactionId`."""
    esimTranNo: str
    iccid: str
    sequence: int
    """Counts the events of this type of one eSIM."""
    expiredTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    hours: int
    """Hours before `expiredTime`, as set."""


class EsimActionUpdatedEvent(TypedDict):
    notifyId: str
    """The same on every attempt and every replay."""
    notifyType: Literal["ESIM_ACTION_UPDATED"]
    test: NotRequired[Literal[True]]
    """Only in an event that `webhook/test` sent: its content is a sample."""
    mode: NotRequired[Literal["TEST"]]
    """Only in an event of a test twin; events of live accounts have no `mode`."""
    eventGenerateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    content: Action


class BalanceLowEvent(TypedDict):
    notifyId: str
    """The same on every attempt and every replay."""
    notifyType: Literal["BALANCE_LOW"]
    test: NotRequired[Literal[True]]
    """Only in an event that `webhook/test` sent: its content is a sample."""
    mode: NotRequired[Literal["TEST"]]
    """Only in an event of a test twin; events of live accounts have no `mode`."""
    eventGenerateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    content: BalanceLowEventContent


class BalanceLowEventContent(TypedDict):
    balance: int
    """in 1/10 000 of `currencyCode`"""
    availableBalance: int
    """in 1/10 000 of `currencyCode`"""
    lowBalanceThreshold: int
    """in 1/10 000 of `currencyCode`"""
    percent: Literal[100, 75, 50, 10]
    """The part of the threshold that the balance is now below."""
    currencyCode: str
    """ISO 4217"""
    lastUpdateTime: str
    """RFC 3339; answers are UTC with milliseconds"""


class CheckHealthEvent(TypedDict):
    notifyId: str
    """The same on every attempt and every replay."""
    notifyType: Literal["CHECK_HEALTH"]
    test: NotRequired[Literal[True]]
    """Only in an event that `webhook/test` sent: its content is a sample."""
    mode: NotRequired[Literal["TEST"]]
    """Only in an event of a test twin; events of live accounts have no `mode`."""
    eventGenerateTime: str
    """RFC 3339; answers are UTC with milliseconds"""
    content: dict[str, object]


Event = Union[
    OrderPaidEvent,
    DeliveryUpdatedEvent,
    EsimUsageEvent,
    EsimExpiringEvent,
    EsimActionUpdatedEvent,
    BalanceLowEvent,
    CheckHealthEvent,
]
"""Newer gateways may send other types of events: ignore them."""
