"""The client of Dealer eSIM Open API v1, and verification of its events."""

from . import models, refusals
from .client import FINAL_ORDER_STATUSES, DealerEsim, new_transaction_id
from .errors import (
    AnswerUnreadable,
    DealerEsimError,
    EventRefused,
    NetworkFault,
    NotSent,
    Refused,
    TimedOut,
)
from .money import format_money, parse_money
from .signing import sign
from .transport import Answer, ConnectFailed, Exchange, Transport
from .webhooks import WebhookResponse, receive_event, verify_event

__all__ = [
    "FINAL_ORDER_STATUSES",
    "Answer",
    "AnswerUnreadable",
    "ConnectFailed",
    "DealerEsim",
    "DealerEsimError",
    "EventRefused",
    "Exchange",
    "NetworkFault",
    "NotSent",
    "Refused",
    "TimedOut",
    "Transport",
    "WebhookResponse",
    "format_money",
    "models",
    "new_transaction_id",
    "parse_money",
    "receive_event",
    "refusals",
    "sign",
    "verify_event",
]
