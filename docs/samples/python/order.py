"""Buys one eSIM and prints the answer. Usage: order.py PACKAGE_CODE TRANSACTION_ID

Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

from sign import sign

if __name__ == "__main__" and len(sys.argv) != 3:
    print("Usage: order.py PACKAGE_CODE TRANSACTION_ID", file=sys.stderr)
    sys.exit(2)

BASE_URL = os.environ["DEALER_ESIM_BASE_URL"]
APP_KEY = os.environ["DEALER_ESIM_APP_KEY"]
APP_SECRET = os.environ["DEALER_ESIM_APP_SECRET"]


def attempt(operation: str, body: bytes) -> tuple[int, str, bytes]:
    """Sends one signed request with a new RequestID and timestamp; returns status, Retry-After and body."""
    timestamp = str(int(time.time() * 1000))
    request_id = str(uuid.uuid4())
    headers = {
        "Content-Type": "application/json",
        "RT-AccessCode": APP_KEY,
        "RT-RequestID": request_id,
        "RT-Timestamp": timestamp,
        "X-Signature": sign(APP_SECRET, timestamp, request_id, APP_KEY, body),
    }
    request = urllib.request.Request(f"{BASE_URL}/open-api/v1/{operation}", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, "", response.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers.get("Retry-After", ""), refusal.read()


def envelope(body: bytes) -> dict | None:
    """Returns None if the body is not an answer of a gateway, such as a proxy's page."""
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and isinstance(answer.get("code"), str) else None


def call(operation: str, request: dict) -> dict:
    """Retries where that is safe. The body, including the transactionId, stays the same, so nothing is bought twice."""
    body = json.dumps(request).encode()  # once: the bytes that are signed are the bytes that are sent
    for number in range(1, 5):
        status, retry_after, answer = 0, "", None
        try:
            status, retry_after, raw = attempt(operation, body)
            answer = envelope(raw)
        except (OSError, http.client.HTTPException) as fault:
            print(fault, file=sys.stderr)
        # 101006: a proxy or library repeated the request.
        again = status == 0 or status == 429 or status >= 500 or (answer or {}).get("code") == "101006"
        if not again or number == 4:
            break
        time.sleep(max(number, int(retry_after) if retry_after.isdecimal() else 0))
    if answer is None:
        sys.exit(f"HTTP {status}: this is not an answer of a gateway. Repeat with the same transactionId.")
    return answer


if __name__ == "__main__":
    package_code, transaction_id = sys.argv[1:]
    lines = [{"packageCode": package_code, "count": 1}]
    answer = call("esim/order", {"transactionId": transaction_id, "packageInfoList": lines})
    print(json.dumps(answer))
    sys.exit(0 if answer["code"] == "000000" else 1)
