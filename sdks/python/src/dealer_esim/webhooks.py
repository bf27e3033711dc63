"""Verifies the events that the gateway posts to your callback URL."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .errors import EventRefused, FaultDetail
from .models import Event
from .options import check_secrets
from .signing import APP_KEY_HEADER, REQUEST_ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign

Secrets = str | Sequence[str | None]
"""The AppSecret, or the new and the old one in the grace period of a reset."""

_log = logging.getLogger("dealer_esim")
_AGE_MAX_S = 300
_EVENT_SIZE_MAX_BYTES = 1024 * 1024
_SIGNATURES_MAX = 8
_MISMATCH = (
    "It is signed with another secret, or the body was changed after it arrived. "
    "Verify the raw bytes, with the AppSecret as shown on the console."
)
_EXPIRED = (
    f"Sent more than {_AGE_MAX_S} s before or after this machine's time. "
    "Check its clock; old events are not accepted."
)


def verify_event(
    app_secret: Secrets, headers: Mapping[str, str], body: bytes | str, *, now: Callable[[], float] = time.time
) -> Event:
    """Returns the event if it is genuine and at most five minutes old; else raises `EventRefused`.

    `body` is the raw body of the request: one that was parsed and serialised again does not verify. An event is signed
    twice, and one valid signature is enough. Events repeat and overtake each other: ignore a `notifyId` that you have
    seen, and keep the highest `sequence` of each order. Ignore a `notifyType` that you do not know.
    """
    if not isinstance(body, (bytes, bytearray, str)):
        raise TypeError("body must be the raw bytes or text of the request, read before any JSON parser")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    secrets = check_secrets(app_secret)
    given = {name.lower(): value for name, value in headers.items() if isinstance(value, str)}
    faults: list[FaultDetail] = []
    for check in (_check_standard_webhook, _check_request_scheme):
        fault = check(secrets, given, raw, now())
        if fault is None:
            return _parse(raw)
        faults.append(fault)
    raise _refused(faults)


@dataclass(frozen=True)
class WebhookResponse:
    """What to answer to a call of the webhook: 204, 401, 405, 413, or 500 for an `error` of `on_event`."""

    status: int
    text: str
    error: Exception | None = None


def receive_event(
    app_secret: Secrets, method: str, headers: Mapping[str, str], body: bytes, on_event: Callable[[Event], object]
) -> WebhookResponse:
    """Verifies one call of the webhook and passes its event on. CHECK_HEALTH is only answered.

    The gateway sends the event again unless `on_event` returns within ten seconds: store it there and work later.
    """
    if method != "POST":
        return WebhookResponse(405, "Send events with POST.")
    if len(body) > _EVENT_SIZE_MAX_BYTES:
        return WebhookResponse(413, "The body is larger than any event.")
    try:
        event = verify_event(app_secret, headers, body)
        if event["notifyType"] != "CHECK_HEALTH":
            on_event(event)
        return WebhookResponse(204, "")
    except EventRefused as error:
        return WebhookResponse(401, error.message)
    except Exception as error:
        _log.error("The event could not be handled.", exc_info=error)
        return WebhookResponse(500, "The event could not be handled. Send it again.", error)


def _check_standard_webhook(
    secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now_s: float
) -> FaultDetail | None:
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    notify_id, timestamp, signature = (headers.get(name) for name in names)
    field = names[2]
    if notify_id is None or timestamp is None or signature is None:
        return {"field": field, "reason": f"Missing: every event carries {', '.join(names)}."}
    signatures = [part[3:] for part in signature.split(" ")[:_SIGNATURES_MAX] if part.startswith("v1,")]
    is_well_formed = re.fullmatch("[A-Za-z0-9_-]{1,128}", notify_id) and re.fullmatch("[1-9][0-9]{0,11}", timestamp)
    if not is_well_formed or not signatures:
        return {"field": field, "reason": "Malformed: these are not valid Standard Webhooks headers."}
    if abs(now_s - int(timestamp)) > _AGE_MAX_S:
        return {"field": field, "reason": _EXPIRED}
    text = f"{notify_id}.{timestamp}.".encode() + body
    for secret in secrets:
        expected = base64.b64encode(hmac.new(secret.encode(), text, hashlib.sha256).digest())
        if any(hmac.compare_digest(expected, each.encode(errors="replace")) for each in signatures):
            return None
    return {"field": field, "reason": _MISMATCH}


_REQUEST_HEADERS = {
    APP_KEY_HEADER: "[A-Za-z0-9_-]{8,64}",
    REQUEST_ID_HEADER: "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    TIMESTAMP_HEADER: "[0-9]{13}",
    SIGNATURE_HEADER: "[0-9a-fA-F]{64}",
}


def _check_request_scheme(
    secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now_s: float
) -> FaultDetail | None:
    given = {name: headers.get(name.lower()) for name in _REQUEST_HEADERS}
    for name, pattern in _REQUEST_HEADERS.items():
        value = given[name]
        if value is None:
            return {"field": name, "reason": "Missing."}
        if not re.fullmatch(pattern, value):
            return {"field": name, "reason": "Malformed."}
    parts = cast(dict[str, str], given)
    if abs(now_s * 1000 - int(parts[TIMESTAMP_HEADER])) > _AGE_MAX_S * 1000:
        return {"field": TIMESTAMP_HEADER, "reason": _EXPIRED}
    for secret in secrets:
        expected = sign(secret, parts[TIMESTAMP_HEADER], parts[REQUEST_ID_HEADER], parts[APP_KEY_HEADER], body)
        if hmac.compare_digest(expected, parts[SIGNATURE_HEADER].lower()):
            return None
    return {"field": SIGNATURE_HEADER, "reason": _MISMATCH}


def _parse(body: bytes) -> Event:
    try:
        value: Any = json.loads(body)
    except ValueError:
        value = None
    is_event = (
        isinstance(value, dict)
        and isinstance(value.get("notifyId"), str)
        and isinstance(value.get("notifyType"), str)
        and isinstance(value.get("content"), dict)
    )
    if not is_event:
        raise _refused([{"field": "body", "reason": "It is signed, but it is not an event."}])
    return cast(Event, value)


def _refused(details: Sequence[FaultDetail]) -> EventRefused:
    faults = " ".join(f"{each['field']}: {each['reason']}" for each in details)
    return EventRefused(f"Not a genuine event. {faults}", details=details)
