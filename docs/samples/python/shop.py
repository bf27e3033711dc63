"""A small dealer: sets its webhook, buys one eSIM, hears of its delivery and saves the QR code.

Usage: shop.py PACKAGE_CODE PICTURE.png. The gateway must be able to reach this machine: try it with a local one.
Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
"""

import json
import os
import queue
import sys
import threading
import urllib.request
import uuid
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


def main(package_code: str, picture: str) -> None:
    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{receiver.server_port}/"
    must("webhook/set", {"callbackUrl": url, "enabled": True})

    transaction_id = f"SHOP-{uuid.uuid4()}"  # a real shop stores it before it calls
    order = must(
        "esim/order",
        {"transactionId": transaction_id, "packageInfoList": [{"packageCode": package_code, "count": 1}]},
    )
    print("ordered", order["orderNo"])

    wait_for_delivery(transaction_id)
    [profile] = must("esim/profile/list", {"transactionId": transaction_id})["profileList"]
    with urllib.request.urlopen(profile["qrCodeUrl"] + ".png", timeout=30) as answer, open(picture, "wb") as file:
        file.write(answer.read())
    print("delivered", profile["iccid"], "QR code in", picture)
    must("webhook/set", {"callbackUrl": None})


def wait_for_delivery(transaction_id: str) -> None:
    seen, newest = set(), 0
    while True:
        event = events.get(timeout=60)
        content = event["content"]
        # Events repeat and overtake each other.
        if event["notifyId"] in seen or content.get("transactionId") != transaction_id or content["sequence"] < newest:
            continue
        seen.add(event["notifyId"])
        newest = content["sequence"]
        print("event", event["notifyType"], content["orderStatus"])
        if content["orderStatus"] in ("PARTIALLY_DELIVERED", "FAILED", "CANCELLED"):
            sys.exit(f"the order ended {content['orderStatus']}")
        if content["orderStatus"] == "DELIVERED":
            return


def must(operation: str, request: dict) -> dict:
    answer = call(operation, request)
    if answer["code"] != "000000":
        sys.exit(f"{operation}: {answer['code']} {answer['message']} {answer['data'].get('details')}")
    return answer["data"]


if __name__ == "__main__":
    main(*sys.argv[1:])
