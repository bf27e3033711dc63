"""A small dealer: sets its webhook, buys one eSIM, hears of its delivery and saves the QR code.

Usage: shop.py PACKAGE_CODE TRANSACTION_ID PICTURE.png. The gateway must be able to reach this machine: try it with a
local one. Run again with the same TRANSACTION_ID it buys nothing more; a real shop stores that before it calls.
Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
"""

import json
import os
import queue
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

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
            events.put(json.loads(body))  # store it first, answer, and work on it later
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
        put_back(before)


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
    # An order that was placed before may be complete: then no event comes.
    while status not in ("DELIVERED", "PARTIALLY_DELIVERED", "FAILED", "CANCELLED"):
        event = events.get(timeout=60)
        content = event["content"]
        # Events repeat and overtake each other.
        if event["notifyId"] in seen or content.get("transactionId") != transaction_id or content["sequence"] < newest:
            continue
        seen.add(event["notifyId"])
        newest, status = content["sequence"], content["orderStatus"]
        print("event", event["notifyType"], status)
    if status != "DELIVERED":
        sys.exit(f"the order ended {status}")


def put_back(before: dict) -> None:
    setting = {"callbackUrl": before["callbackUrl"], "eventTypes": before["eventTypes"]}
    if before["callbackUrl"]:
        setting["enabled"] = before["enabled"]
    answer = call("webhook/set", setting)
    if answer["code"] != "000000":
        print("The webhook setting could not be put back:", answer["message"], "It was", before, file=sys.stderr)


def must(operation: str, request: dict) -> dict:
    answer = call(operation, request)
    if answer["code"] != "000000":
        sys.exit(f"{operation}: {answer['code']} {answer['message']} {answer['data'].get('details')}")
    return answer["data"]


if __name__ == "__main__":
    main(*sys.argv[1:])
