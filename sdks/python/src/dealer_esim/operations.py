"""One method for each operation. Generated from packages/contract by `npm run sdks`: do not edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .models import (
    AccountBalanceAnswer,
    AccountStatementAnswer,
    AccountStatementAnswerEntry,
    AccountStatementRequest,
    Action,
    ActionResult,
    BrandListAnswer,
    DeviceListAnswer,
    DeviceListRequest,
    EsimActionQueryRequest,
    EsimCancelRequest,
    EsimOrderAnswer,
    EsimOrderDryRun,
    EsimOrderDryRunAnswer,
    EsimOrderRequest,
    EsimOrderResult,
    EsimProfileListAnswer,
    EsimProfileListRequest,
    EsimProfileSendAnswer,
    EsimProfileSendRequest,
    EsimProfileSendResult,
    EsimQueryAnswer,
    EsimQueryRequest,
    EsimRevokeRequest,
    EsimSuspendRequest,
    EsimTopupAnswer,
    EsimTopupDryRun,
    EsimTopupDryRunAnswer,
    EsimTopupRequest,
    EsimTopupResult,
    EsimUnsuspendRequest,
    EsimUsageQueryAnswer,
    EsimUsageQueryRequest,
    HealthAnswer,
    LedgerCheckpointAnswer,
    LedgerCheckpointRequest,
    LedgerConsistencyAnswer,
    LedgerConsistencyRequest,
    LedgerKeysAnswer,
    LedgerProofAnswer,
    LedgerProofRequest,
    LocationListAnswer,
    LocationListRequest,
    OrderListAnswer,
    OrderListAnswerOrder,
    OrderListRequest,
    PackageListAnswer,
    PackageListRequest,
    PackageOffSale,
    PackageOnSale,
    Profile,
    TestBalanceSetRequest,
    TestClockAdvanceAnswer,
    TestClockAdvanceRequest,
    TestEsimUpdateRequest,
    TestOrderResolveRequest,
    WebhookSetAnswer,
    WebhookSetRequest,
    WebhookTestAnswer,
    WebhookTestRequest,
)


class Operations:
    """The operations of `DealerEsim`, which sends them. Requests and answers are dictionaries with the members of the API.

    Each method takes `timeout_s`, the limit for each attempt, and `retries`, the attempts after the first.
    """

    def call(self, operation: str, request: Mapping[str, Any], *, timeout_s: float | None, retries: int | None) -> Any:
        raise NotImplementedError

    def _call_once(self, operation: str, request: Mapping[str, Any], timeout_s: float | None, retries: int | None) -> Any:
        raise NotImplementedError

    def _each(
        self, operation: str, rows: str, request: Mapping[str, Any], timeout_s: float | None, retries: int | None
    ) -> Iterator[Any]:
        raise NotImplementedError

    def health(self, *, timeout_s: float | None = None, retries: int | None = None) -> HealthAnswer:
        """`health`: check the connection. Returns the tenant that the credentials belong to. The first call of an
        integration.
        """
        return self.call("health", {}, timeout_s=timeout_s, retries=retries)

    def balance(self, *, timeout_s: float | None = None, retries: int | None = None) -> AccountBalanceAnswer:
        """`account/balance`: get the balance. Returns the prepaid balance that orders are debited from, and how far
        below zero it may go.
        """
        return self.call("account/balance", {}, timeout_s=timeout_s, retries=retries)

    def packages(
        self, request: PackageListRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> PackageListAnswer:
        """`package/list`: list packages. Returns the packages that this tenant may buy now, at its own prices; with
        `updatedSince`, only those that changed.
        """
        return self.call("package/list", request, timeout_s=timeout_s, retries=retries)

    def each_package(
        self, request: PackageListRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> Iterator[PackageOnSale | PackageOffSale]:
        """All rows of `packages`, page by page. A page is requested when its first row is needed."""
        return self._each("package/list", "packageList", request, timeout_s, retries)

    def order(
        self, request: EsimOrderRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimOrderResult:
        """`esim/order`: buy eSIMs. Debits the balance and places an order. Idempotent on `transactionId`, without time
        limit: a repeat returns the first order, with the header `Idempotent-Replayed: true`. A retry needs a new
        RT-RequestID and the same `transactionId`. With `validateOnly: true`, a dry run: every check is made,
        nothing is bought and nothing is reserved.
        """
        return self._call_once("esim/order", request, timeout_s, retries)

    def quote(
        self, request: EsimOrderDryRun, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimOrderDryRunAnswer | EsimOrderResult:
        """`esim/order`: makes every check and returns what would be debited. Nothing is bought and nothing is
        reserved, so the call itself may still be refused. If the request has a `transactionId` that is taken,
        returns that order.
        """
        return self._call_once("esim/order", {**request, "validateOnly": True}, timeout_s, retries)

    def topup(
        self, request: EsimTopupRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimTopupResult:
        """`esim/topup`: top up an eSIM. Debits the balance and adds a package of type TOPUP to an eSIM. Idempotent on
        `transactionId`, like `esim/order`; orders, top-ups and actions share transactionIds. `esim/query` returns
        whether it is delivered. `validateOnly: true` is a dry run, as for `esim/order`.
        """
        return self._call_once("esim/topup", request, timeout_s, retries)

    def quote_topup(
        self, request: EsimTopupDryRun, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimTopupDryRunAnswer | EsimTopupResult:
        """`esim/topup`: makes every check and returns what would be debited. Nothing is bought and nothing is
        reserved, so the call itself may still be refused. If the request has a `transactionId` that is taken,
        returns that order.
        """
        return self._call_once("esim/topup", {**request, "validateOnly": True}, timeout_s, retries)

    def query(
        self, request: EsimQueryRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimQueryAnswer:
        """`esim/query`: get an order. Returns one order with its lines, its eSIMs and its status history."""
        return self.call("esim/query", request, timeout_s=timeout_s, retries=retries)

    def profiles(
        self, request: EsimProfileListRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimProfileListAnswer:
        """`esim/profile/list`: list eSIMs. Returns eSIMs with the data that a traveller needs to install them, newest
        first. Before the first eSIM the list is empty.
        """
        return self.call("esim/profile/list", request, timeout_s=timeout_s, retries=retries)

    def each_profile(
        self, request: EsimProfileListRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> Iterator[Profile]:
        """All rows of `profiles`, page by page. A page is requested when its first row is needed."""
        return self._each("esim/profile/list", "profileList", request, timeout_s, retries)

    def send(
        self, request: EsimProfileSendRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimProfileSendResult:
        """`esim/profile/send`: send an eSIM to the traveller. Sends the link of an eSIM by e-mail. Idempotent on
        `transactionId`, which it shares with orders, top-ups and actions: a repeat sends nothing and returns the
        same send with its present status.
        """
        return self._call_once("esim/profile/send", request, timeout_s, retries)

    def brands(self, *, timeout_s: float | None = None, retries: int | None = None) -> BrandListAnswer:
        """`brand/list`: list brands. Returns the brands under which travellers see this tenant. They are made on the
        console.
        """
        return self.call("brand/list", {}, timeout_s=timeout_s, retries=retries)

    def cancel(
        self, request: EsimCancelRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> ActionResult:
        """`esim/cancel`: cancel an eSIM. Cancels an eSIM that was not downloaded. Its price, less the fee of the
        cancel policy, is refunded when the supplier has cancelled it. Idempotent on `transactionId`, like all
        actions: a repeat returns the same action with its present status.
        """
        return self._call_once("esim/cancel", {**request, "action": "CANCEL"}, timeout_s, retries)

    def suspend(
        self, request: EsimSuspendRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> ActionResult:
        """`esim/suspend`: suspend an eSIM. Interrupts the service of an eSIM in use. Its validity goes on."""
        return self._call_once("esim/suspend", {**request, "action": "SUSPEND"}, timeout_s, retries)

    def unsuspend(
        self, request: EsimUnsuspendRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> ActionResult:
        """`esim/unsuspend`: resume a suspended eSIM. Resumes the service of a suspended eSIM."""
        return self._call_once("esim/unsuspend", {**request, "action": "UNSUSPEND"}, timeout_s, retries)

    def revoke(
        self, request: EsimRevokeRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> ActionResult:
        """`esim/revoke`: revoke an eSIM. Ends the service of an eSIM for good. Nothing is refunded."""
        return self._call_once("esim/revoke", {**request, "action": "REVOKE"}, timeout_s, retries)

    def action(
        self, request: EsimActionQueryRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> Action:
        """`esim/action/query`: get an action. Returns a cancel, suspend, unsuspend or revoke, with its current status."""
        return self.call("esim/action/query", request, timeout_s=timeout_s, retries=retries)

    def set_webhook(
        self, request: WebhookSetRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> WebhookSetAnswer:
        """`webhook/set`: set the webhook. Sets where events are sent. Absent members are not changed, so `{}` reads
        the setting. A new URL must first answer a CHECK_HEALTH event.
        """
        return self.call("webhook/set", request, timeout_s=timeout_s, retries=retries)

    def test_webhook(
        self, request: WebhookTestRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> WebhookTestAnswer:
        """`webhook/test`: test the webhook. Sends one signed event of a type, with sample content and `"test": true`,
        to the URL as it is set: once, never retried, and whatever the receiver answers, no setting changes. Ten a
        minute, together with the health checks of `webhook/set`.
        """
        return self.call("webhook/test", request, timeout_s=timeout_s, retries=retries)

    def orders(
        self, request: OrderListRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> OrderListAnswer:
        """`order/list`: list orders. Returns orders with their lines, newest first, without eSIMs and history:
        `esim/query` returns those.
        """
        return self.call("order/list", request, timeout_s=timeout_s, retries=retries)

    def each_order(
        self, request: OrderListRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> Iterator[OrderListAnswerOrder]:
        """All rows of `orders`, page by page. A page is requested when its first row is needed."""
        return self._each("order/list", "orderList", request, timeout_s, retries)

    def statement(
        self, request: AccountStatementRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> AccountStatementAnswer:
        """`account/statement`: list movements of the balance. Returns the debits, refunds, payments and adjustments of
        the balance, newest first.
        """
        return self.call("account/statement", request, timeout_s=timeout_s, retries=retries)

    def each_entry(
        self, request: AccountStatementRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> Iterator[AccountStatementAnswerEntry]:
        """All rows of `statement`, page by page. A page is requested when its first row is needed."""
        return self._each("account/statement", "entryList", request, timeout_s, retries)

    def checkpoint(
        self, request: LedgerCheckpointRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> LedgerCheckpointAnswer:
        """`ledger/checkpoint`: get a checkpoint of the ledger. Returns a signed note of the root of the Merkle tree
        over your entries, so that no entry can be changed, removed or inserted later without your noticing. `{}`:
        of the newest entry that is in the tree, which is seconds behind the balance, at most one a second.
        """
        return self.call("ledger/checkpoint", request, timeout_s=timeout_s, retries=retries)

    def proof(
        self, request: LedgerProofRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> LedgerProofAnswer:
        """`ledger/proof`: prove an entry. Returns the hashes that prove that an entry of `account/statement` is in the
        tree of a checkpoint.
        """
        return self.call("ledger/proof", request, timeout_s=timeout_s, retries=retries)

    def consistency(
        self, request: LedgerConsistencyRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> LedgerConsistencyAnswer:
        """`ledger/consistency`: prove that the ledger was only continued. Returns the hashes that prove that the tree
        of a newer checkpoint begins with all entries of an older one, unchanged.
        """
        return self.call("ledger/consistency", request, timeout_s=timeout_s, retries=retries)

    def ledger_keys(self, *, timeout_s: float | None = None, retries: int | None = None) -> LedgerKeysAnswer:
        """`ledger/keys`: list the keys of checkpoints. Returns the public keys that have signed checkpoints of this
        tenant, each endorsed by its predecessor, and a signed note for each restore from a backup.
        """
        return self.call("ledger/keys", {}, timeout_s=timeout_s, retries=retries)

    def locations(
        self, request: LocationListRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> LocationListAnswer:
        """`location/list`: list locations. Returns all countries (ISO 3166-1), and the regional and global coverage of
        the packages that this tenant may buy, with names in the language asked for.
        """
        return self.call("location/list", request, timeout_s=timeout_s, retries=retries)

    def devices(
        self, request: DeviceListRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> DeviceListAnswer:
        """`device/list`: list devices. Returns devices that are known to take an eSIM, from a dated table."""
        return self.call("device/list", request, timeout_s=timeout_s, retries=retries)

    def usage(
        self, request: EsimUsageQueryRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimUsageQueryAnswer:
        """`esim/usage/query`: get the usage of eSIMs. Returns data usage, expiry and status of up to 100 eSIMs, as the
        supplier last reported them.
        """
        return self.call("esim/usage/query", request, timeout_s=timeout_s, retries=retries)

    def set_test_balance(
        self, request: TestBalanceSetRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> AccountBalanceAnswer:
        """`test/balance/set`: set the balance of a test account. Sets the balance: the difference is posted as an
        ADJUSTMENT, none if there is no difference. Answers as `account/balance`. Only for test accounts; elsewhere
        000109, as for all operations that begin with `test/`.
        """
        return self.call("test/balance/set", request, timeout_s=timeout_s, retries=retries)

    def update_test_esim(
        self, request: TestEsimUpdateRequest = {}, *, timeout_s: float | None = None, retries: int | None = None
    ) -> Profile:
        """`test/esim/update`: report a state or usage of a test eSIM. Does what a report of the supplier does: states,
        usage and events follow by the ordinary rules, and a step backwards is ignored. Returns the eSIM as it is
        afterwards.
        """
        return self.call("test/esim/update", request, timeout_s=timeout_s, retries=retries)

    def advance_test_clock(
        self, request: TestClockAdvanceRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> TestClockAdvanceAnswer:
        """`test/clock/advance`: advance the test time. Moves the time of this account forward. What the time brings
        happens in its order: notices, expiry, usage of sandbox packages, the end of cancel periods, repeated
        attempts to send events. What has happened keeps its time.
        """
        return self.call("test/clock/advance", request, timeout_s=timeout_s, retries=retries)

    def resolve_test_order(
        self, request: TestOrderResolveRequest, *, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimQueryAnswer:
        """`test/order/resolve`: end a test order. Ends an order that a sandbox package has left ALLOCATING or
        UNDER_REVIEW, as if its supplier had answered at last. An order that has ended is returned as it is.
        """
        return self.call("test/order/resolve", request, timeout_s=timeout_s, retries=retries)
