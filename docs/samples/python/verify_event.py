"""Verifies an event. Reads the body from standard input, byte for byte as received.

Usage: verify_event.py WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
"""

import base64
import hashlib
import hmac
import os
import sys
import time


def verify(app_secret: str, webhook_id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(app_secret.encode(), signed, hashlib.sha256).digest()).decode()
    # In a grace period there are two signatures; one that matches is enough.
    return any(hmac.compare_digest(expected.encode(), given.encode()) for given in signatures.split())


if __name__ == "__main__":
    if len(sys.argv) != 4:
        print("Usage: verify_event.py WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body", file=sys.stderr)
        sys.exit(2)
    genuine = verify(os.environ["DEALER_ESIM_APP_SECRET"], *sys.argv[1:4], sys.stdin.buffer.read())
    print("genuine" if genuine else "not genuine")
    sys.exit(0 if genuine else 1)
