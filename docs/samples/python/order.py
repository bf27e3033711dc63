"""Buys one eSIM and prints the answer. Usage: order.py PACKAGE_CODE TRANSACTION_ID

Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

from sign import sign

BASE_URL = os.environ["DEALER_ESIM_BASE_URL"]
APP_KEY = os.environ["DEALER_ESIM_APP_KEY"]
APP_SECRET = os.environ["DEALER_ESIM_APP_SECRET"]


def attempt(operation: str, body: bytes) -> tuple[int, bytes]:
    """One signed request. A fresh RequestID and timestamp each time: a RequestID is accepted once."""
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
            return response.status, response.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


def call(operation: str, request: dict) -> dict:
    """Repeats what may be repeated. The body stays, and with it the transactionId: nothing is bought twice."""
    body = json.dumps(request).encode()  # once: the bytes that are signed are the bytes that are sent
    for number in range(4):
        try:
            status, answer = attempt(operation, body)
            if status != 429 and status < 500:
                return json.loads(answer)
        except OSError as fault:
            status, answer = 0, str(fault).encode()
        time.sleep(2**number / 2)
    raise RuntimeError(f"no answer, repeat with the same transactionId: {status} {answer!r}")


if __name__ == "__main__":
    package_code, transaction_id = sys.argv[1:]
    lines = [{"packageCode": package_code, "count": 1}]
    answer = call("esim/order", {"transactionId": transaction_id, "packageInfoList": lines})
    print(json.dumps(answer))
    sys.exit(0 if answer["code"] == "000000" else 1)
