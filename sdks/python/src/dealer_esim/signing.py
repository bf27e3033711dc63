"""The signature of requests. Events carry it, too (`webhooks.py`)."""

from __future__ import annotations

import hashlib
import hmac

APP_KEY_HEADER = "RT-AccessCode"
REQUEST_ID_HEADER = "RT-RequestID"
TIMESTAMP_HEADER = "RT-Timestamp"
SIGNATURE_HEADER = "X-Signature"


def sign(app_secret: str, timestamp: str, request_id: str, app_key: str, body: bytes) -> str:
    """Returns the value of X-Signature: 64 lower-case hex digits.

    The signed text has no separators, such as `17000000000007f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11demo_app_key{}`. The
    body is exactly the bytes that are sent, and the key is the text of the AppSecret, which is not decoded.
    """
    text = (timestamp + request_id + app_key).encode() + body
    return hmac.new(app_secret.encode(), text, hashlib.sha256).hexdigest()
