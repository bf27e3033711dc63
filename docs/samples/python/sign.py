"""Prints X-Signature. Usage: sign.py TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY"""

import hashlib
import hmac
import sys


def sign(app_secret: str, timestamp: str, request_id: str, app_key: str, body: bytes) -> str:
    text = (timestamp + request_id + app_key).encode() + body
    return hmac.new(app_secret.encode(), text, hashlib.sha256).hexdigest()


if __name__ == "__main__":
    if len(sys.argv) != 6:
        print("Usage: sign.py TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY", file=sys.stderr)
        sys.exit(2)
    timestamp, request_id, app_key, app_secret, body = sys.argv[1:]
    print(sign(app_secret, timestamp, request_id, app_key, body.encode()))
