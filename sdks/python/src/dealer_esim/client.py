"""The client: signs, sends, retries where that is safe, and follows pages."""

from __future__ import annotations

import email.utils
import json
import logging
import math
import random
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from .errors import AnswerUnreadable, DealerEsimError, NetworkFault, NotSent, Refused, TimedOut
from .models import EsimQueryAnswer, EsimQueryRequest
from .operations import Operations
from .options import check_base_url, check_retries, check_text, check_timeout
from .refusals import BY_CODE, RequestIdUsed, Unavailable
from .signing import APP_KEY_HEADER, REQUEST_ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign
from .transport import ANSWER_SIZE_MAX_BYTES, Answer, ConnectFailed, Exchange, Transport, send

FINAL_ORDER_STATUSES = frozenset({"DELIVERED", "PARTIALLY_DELIVERED", "FAILED", "CANCELLED"})
"""An order in one of these statuses no longer changes by itself."""

_FIRST_WAIT_S = 0.5
_WAIT_MAX_S = 60.0
_RETRY_AFTER_MAX_S = 999_999_999
_FIRST_PAUSE_S = 0.1
_PAUSE_MAX_S = 2.0
_TIMER_PRECISION_S = 0.02
_log = logging.getLogger("dealer_esim")


def new_transaction_id() -> str:
    """A new transactionId. Store it before you call."""
    return str(uuid.uuid4())


class DealerEsim(Operations):
    """A dealer's client for one gateway. Threads may share one.

    - `base_url`: the address of the gateway, without /open-api/v1
    - `timeout_s`: the limit for each attempt, including reading the whole answer
    - `retries`: attempts after the first, for failures that may be temporary
    - `transport`: sends a request, for proxies, tests and other HTTP libraries
    - `observe`: called with every attempt, for logs; bodies contain activation codes
    - `now`: seconds since 1970, for machines whose clock is wrong
    """

    def __init__(
        self,
        base_url: str,
        app_key: str,
        app_secret: str,
        *,
        timeout_s: float = 30,
        retries: int = 3,
        transport: Transport = send,
        observe: Callable[[Exchange], object] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._base_url = check_base_url(base_url)
        self._app_key = check_text("app_key", app_key)
        self._app_secret = check_text("app_secret", app_secret)
        self._timeout_s = check_timeout(timeout_s)
        self._retries = check_retries(retries)
        self._transport = transport
        self._observe = observe
        self._now = now

    def __repr__(self) -> str:
        return f"DealerEsim({self._base_url!r}, {self._app_key!r})"

    def call(
        self,
        operation: str,
        request: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        retries: int | None = None,
    ) -> Any:
        """Calls any operation by its name, such as `esim/order`, and returns the `data` of its answer."""
        return self._exchange(operation, request, timeout_s, retries)[0]

    def wait_for_order(
        self, which: EsimQueryRequest, *, wait_s: float = 60, timeout_s: float | None = None, retries: int | None = None
    ) -> EsimQueryAnswer:
        """Queries an order at growing intervals until its status is final or `wait_s` is over: check `orderStatus`.

        A `wait_s` of 0 queries once. Raises `TimedOut` if no query was answered in that time.
        """
        end = time.monotonic() + wait_s if wait_s > 0 else None
        pause_s = _FIRST_PAUSE_S
        answer: EsimQueryAnswer | None = None
        while True:
            try:
                answer = cast(EsimQueryAnswer, self._exchange("esim/query", which, timeout_s, retries, end)[0])
            except DealerEsimError as error:
                if end is None or time.monotonic() < end - _TIMER_PRECISION_S:
                    raise
                if answer is not None:
                    return answer
                raise TimedOut(f"No answer within the wait of {wait_s} s.", request_id=error.request_id) from error
            is_final = answer["orderStatus"] in FINAL_ORDER_STATUSES
            if is_final or end is None or time.monotonic() + pause_s > end:
                return answer
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _PAUSE_MAX_S)

    def _call_once(
        self, operation: str, request: Mapping[str, Any], timeout_s: float | None, retries: int | None
    ) -> Any:
        """Calls an operation that is executed once for each transactionId. A dry run is not executed at all."""
        data, answer = self._exchange(operation, request, timeout_s, retries)
        if data.get("validateOnly") is not True:
            data["replayed"] = answer.headers.get("idempotent-replayed") == "true"
        return data

    def _each(
        self, operation: str, rows: str, request: Mapping[str, Any], timeout_s: float | None, retries: int | None
    ) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            filters = request if cursor is None else {**request, "cursor": cursor}
            page = self.call(operation, filters, timeout_s=timeout_s, retries=retries)
            yield from page[rows]
            if page.get("nextCursor") is None:
                return
            if page["nextCursor"] == cursor:
                raise AnswerUnreadable("The gateway returned the same cursor twice, so the list would never end.")
            cursor = page["nextCursor"]

    def _exchange(
        self,
        operation: str,
        request: Mapping[str, Any],
        timeout_s: float | None,
        retries: int | None,
        end: float | None = None,
    ) -> tuple[dict[str, Any], Answer]:
        """Attempts a call until it succeeds, cannot succeed, or the attempts or the time until `end` are used up.

        Each attempt has a new RequestID, because a RequestID is accepted once. The body, including the transactionId,
        stays the same, so that nothing is bought twice.
        """
        limit_s = self._timeout_s if timeout_s is None else check_timeout(timeout_s)
        attempts_max = 1 + (self._retries if retries is None else check_retries(retries))
        try:
            body = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            raise NotSent(f"The request was not sent: {error}.") from error
        # Once an outcome is unknown, only a success resolves it: a later refusal does not rule out the earlier attempt.
        outcome_unknown = False
        attempt = 1
        while True:
            if end is not None:
                limit_s = max(0.001, min(limit_s, end - time.monotonic()))
            try:
                return self._attempt(operation, body, attempt, limit_s)
            except DealerEsimError as error:
                outcome_unknown = outcome_unknown or error.outcome_unknown
                error.outcome_unknown = outcome_unknown
                error.attempts = attempt
                transaction_id = request.get("transactionId")
                error.transaction_id = transaction_id if isinstance(transaction_id, str) else None
                wait_s = _wait_s(error, attempt)
                is_over = end is not None and time.monotonic() + wait_s >= end
                if attempt >= attempts_max or not _is_retryable(error) or wait_s > _WAIT_MAX_S:
                    raise
                if is_over:
                    time.sleep(max(0.0, (end or 0) - time.monotonic()))
                    raise
            time.sleep(wait_s)
            attempt += 1

    def _attempt(self, operation: str, body: bytes, attempt: int, timeout_s: float) -> tuple[dict[str, Any], Answer]:
        """Signs and sends one request, with a RequestID and a timestamp of its own."""
        request_id = str(uuid.uuid4())
        now_s = self._now()
        timestamp = str(int(now_s * 1000))
        headers = {
            "Content-Type": "application/json",
            APP_KEY_HEADER: self._app_key,
            REQUEST_ID_HEADER: request_id,
            TIMESTAMP_HEADER: timestamp,
            SIGNATURE_HEADER: sign(self._app_secret, timestamp, request_id, self._app_key, body),
        }
        url = f"{self._base_url}/open-api/v1/{operation}"
        started = time.monotonic()
        answer: Answer | None = None
        try:
            answer = self._transport(url, headers, body, timeout_s)
        except Exception as error:
            raise _fault(error, self._base_url, timeout_s, request_id) from error
        finally:
            self._notify(Exchange(operation, attempt, url, headers, body, time.monotonic() - started, answer))
        return _read(answer, request_id, now_s + time.monotonic() - started), answer

    def _notify(self, exchange: Exchange) -> None:
        """Calls `observe`, whose errors do not affect the call."""
        try:
            if self._observe is not None:
                self._observe(exchange)
        except Exception:
            _log.exception("observe failed")


def _fault(error: Exception, base_url: str, timeout_s: float, request_id: str) -> DealerEsimError:
    if isinstance(error, TimeoutError):
        message = f"No answer from {base_url} within {timeout_s:g} s."
        return TimedOut(message, request_id=request_id, outcome_unknown=True)
    reason = str(error) or type(error).__name__
    return NetworkFault(
        f"Cannot reach {base_url}: {reason}. Check the base URL and that the gateway is running.",
        request_id=request_id,
        outcome_unknown=not isinstance(error, ConnectFailed),
    )


def _read(answer: Answer, request_id: str, received_s: float) -> dict[str, Any]:
    """Returns the `data` of a success; raises what the answer means otherwise."""
    status = answer.status
    retry_after_s = _retry_after_s(answer, received_s)
    envelope = _envelope(answer)
    if envelope is None:
        raise AnswerUnreadable(
            _unreadable(answer),
            request_id=request_id,
            http_status=status,
            retry_after_s=retry_after_s,
            outcome_unknown=status >= 500 or 200 <= status < 300,
        )
    code, message, data = envelope
    if code == "000000":
        return data
    # Unavailable: nothing happened. RequestIdUsed: this request arrived before, and was or is being processed.
    is_unknown = (status >= 500 and code != Unavailable.code) or code == RequestIdUsed.code
    raise BY_CODE.get(code, Refused)(
        message,
        code=code,
        details=data["details"] if isinstance(data.get("details"), list) else [],
        data=data,
        request_id=request_id,
        http_status=status,
        retry_after_s=retry_after_s,
        outcome_unknown=is_unknown,
    )


def _envelope(answer: Answer) -> tuple[str, str, dict[str, Any]] | None:
    if len(answer.body) > ANSWER_SIZE_MAX_BYTES:
        return None
    try:
        value: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    code, message, data = value.get("code"), value.get("message"), value.get("data")
    if not isinstance(code, str) or not isinstance(message, str) or not isinstance(data, dict):
        return None
    return code, message, data


def _unreadable(answer: Answer) -> str:
    location = answer.headers.get("location")
    if location is not None:
        return f"HTTP {answer.status} redirects to {location}. Use that address as the base URL."
    if len(answer.body) > ANSWER_SIZE_MAX_BYTES:
        return f"The answer is larger than {ANSWER_SIZE_MAX_BYTES} bytes."
    return (
        f"HTTP {answer.status} with a body that is not an answer of the Dealer eSIM Open API. "
        "Check that the base URL is that of a gateway, without /open-api/v1."
    )


def _is_retryable(error: DealerEsimError) -> bool:
    """True for failures after which another attempt may succeed; every operation can be repeated safely.

    - no answer, or a 2xx that cannot be read: retry
    - 5xx, including a proxy's: retry
    - 429: retry after Retry-After
    - 101006, RequestID used: retry, because a proxy or library repeated the request
    - other refusals: no retry, because the same request would be refused again
    """
    if isinstance(error, AnswerUnreadable) and error.outcome_unknown:
        return True
    if error.http_status is None:
        return isinstance(error, (NetworkFault, TimedOut))
    return error.http_status >= 500 or error.http_status == 429 or error.code == RequestIdUsed.code


def _wait_s(error: DealerEsimError, attempt: int) -> float:
    """Doubled each time, half of it random, and never shorter than Retry-After."""
    backoff_s = min(_FIRST_WAIT_S * 2.0 ** min(attempt - 1, 10), _WAIT_MAX_S)
    return max(backoff_s * (0.5 + random.random() / 2), error.retry_after_s or 0)


def _retry_after_s(answer: Answer, received_s: float) -> int | None:
    """Retry-After is a number of seconds or a date."""
    text = answer.headers.get("retry-after", "").strip()
    if re.fullmatch("[0-9]+", text):
        return min(int(text[:12]), _RETRY_AFTER_MAX_S)
    try:
        date_s = email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError):
        return None
    return max(0, math.ceil(date_s - received_s))
