"""A small dealer: sets its webhook, buys one eSIM, waits for the delivery event and saves the QR code.

Usage: shop.py PACKAGE_CODE TRANSACTION_ID PICTURE.png. The gateway must be able to reach this machine, so use a
local one. Running it again with the same TRANSACTION_ID buys nothing more; a real shop stores the id before the call.
Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
"""

import json
import os
import queue
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

if len(sys.argv) != 4:
    print("Usage: shop.py PACKAGE_CODE TRANSACTION_ID PICTURE.png", file=sys.stderr)
    sys.exit(2)

from order import call
from verify_event import verify

APP_SECRET = os.environ["DEALER_ESIM_APP_SECRET"]
events = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signed = [self.headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature")]
        genuine = all(signed) and verify(APP_SECRET, *signed, body)
        if genuine:
            events.put(json.loads(body))  # store it, answer, and process it later
        self.send_response(204 if genuine else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


def main(package_code: str, transaction_id: str, picture: str) -> None:
    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{receiver.server_port}/"
    before = must("webhook/set", {})
    try:
        must("webhook/set", {"callbackUrl": url, "eventTypes": ["ORDER_PAID", "DELIVERY_UPDATED"], "enabled": True})
        buy(package_code, transaction_id, picture)
    finally:
        restore_webhook(before)


def buy(package_code: str, transaction_id: str, picture: str) -> None:
    order = must(
        "esim/order",
        {"transactionId": transaction_id, "packageInfoList": [{"packageCode": package_code, "count": 1}]},
    )
    print("ordered", order["orderNo"])

    wait_for_delivery(transaction_id, order["orderStatus"])
    [profile] = must("esim/profile/list", {"transactionId": transaction_id})["profileList"]
    with urllib.request.urlopen(profile["qrCodeUrl"] + ".png", timeout=30) as answer, open(picture, "wb") as file:
        file.write(answer.read())
    print("delivered", profile["iccid"], "QR code in", picture)


def wait_for_delivery(transaction_id: str, status: str) -> None:
    seen, newest = set(), 0
    # An earlier order with this id may be complete already; then no event is sent.
    while status not in ("DELIVERED", "PARTIALLY_DELIVERED", "FAILED", "CANCELLED"):
        event = events.get(timeout=60)
        content = event["content"]
        # Events can repeat and arrive out of order.
        if event["notifyId"] in seen or content.get("transactionId") != transaction_id or content["sequence"] < newest:
            continue
        seen.add(event["notifyId"])
        newest, status = content["sequence"], content["orderStatus"]
        print("event", event["notifyType"], status)
    if status != "DELIVERED":
        sys.exit(f"the order ended {status}")


def restore_webhook(before: dict) -> None:
    setting = {"callbackUrl": before["callbackUrl"], "eventTypes": before["eventTypes"]}
    if before["callbackUrl"]:
        setting["enabled"] = before["enabled"]
    answer = call("webhook/set", setting)
    if answer["code"] != "000000":
        print("The webhook setting could not be restored:", answer["message"], "It was", before, file=sys.stderr)


def must(operation: str, request: dict) -> dict:
    answer = call(operation, request)
    if answer["code"] != "000000":
        sys.exit(f"{operation}: {answer['code']} {answer['message']} {answer['data'].get('details')}")
    return answer["data"]


if __name__ == "__main__":
    main(*sys.argv[1:])
