"""The exceptions of this library. All of them are a `DealerEsimError`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class FaultDetail(TypedDict):
    """Which member or header is at fault, such as `packageInfoList[0].count`, and what to do."""

    field: str
    reason: str


class RefusalData(TypedDict):
    """The members of `data` that every refusal has."""

    requestId: str
    details: list[FaultDetail]


class DealerEsimError(Exception):
    """What went wrong, in words that say what to do next. Programs use the class or `code`."""

    code: str = ""
    """Six digits from the gateway, or a word such as `TIMED_OUT` where there was no answer."""
    data: Any
    """The `data` of the answer, with the members that belong to the code, such as `shortfall`."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Sequence[FaultDetail] = (),
        data: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        http_status: int | None = None,
        retry_after_s: int | None = None,
        outcome_unknown: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.details = list(details)
        self.data = {} if data is None else dict(data)
        self.request_id = request_id
        """The RT-RequestID of the last attempt. Give it to the operator when you ask about a failure."""
        self.http_status = http_status
        """None if there was no answer."""
        self.retry_after_s = retry_after_s
        """The wait that the gateway asked for."""
        self.outcome_unknown = outcome_unknown
        """True if an attempt may have been executed. Repeat the call with the same transactionId to find out."""
        self.transaction_id: str | None = None
        """The transactionId of the call, if it has one: repeat it with this one."""
        self.attempts = 1


class NetworkFault(DealerEsimError):
    """The connection could not be opened, or it broke."""

    code = "NETWORK_FAULT"


class TimedOut(DealerEsimError):
    """No complete answer within `timeout_s`, or within the `wait_s` of `wait_for_order`."""

    code = "TIMED_OUT"


class AnswerUnreadable(DealerEsimError):
    """The answer does not come from a gateway: a proxy's page, a redirect, or larger than the limit."""

    code = "ANSWER_UNREADABLE"


class NotSent(DealerEsimError):
    """The request could not be made, for the reason in `__cause__`. Nothing was sent."""

    code = "NOT_SENT"


class EventRefused(DealerEsimError):
    """A call of the webhook that is not a genuine event. The message says which check failed."""

    code = "EVENT_REFUSED"


class Refused(DealerEsimError):
    """The gateway refused the call. `dealer_esim.refusals` has a class for each code.

    A code that this version does not know is raised as this class, with the `code` of the answer.
    """
