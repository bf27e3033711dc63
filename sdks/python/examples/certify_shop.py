"""The endpoint for `dealer-esim certify`, before the smallest shop that passes.

Replace the shop by your own integration, and keep the endpoint in your test environment.

    DEALER_ESIM_BASE_URL=http://127.0.0.1:4646 DEALER_ESIM_APP_KEY=… DEALER_ESIM_APP_SECRET=… python3 certify_shop.py
"""

import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from dealer_esim import DealerEsim, DealerEsimError, new_transaction_id, receive_event
from dealer_esim.models import Event

APP_SECRET = os.environ["DEALER_ESIM_APP_SECRET"]
esim = DealerEsim(
    os.environ["DEALER_ESIM_BASE_URL"], os.environ["DEALER_ESIM_APP_KEY"], APP_SECRET, timeout_s=10, retries=1
)
purchases: dict[str, dict] = {}  # a table in a database of yours


def order(reference: str, package_code: str, count: int, price: int) -> None:
    """The checkout: the purchase has its transactionId before the gateway is called."""
    lines = [{"packageCode": package_code, "count": count, "price": price}]
    outcome = {"status": "PENDING", "esims": 0, "refundedAmount": 0, "handedOver": 0}
    purchases[reference] = {"transactionId": new_transaction_id(), "lines": lines, **outcome}
    buy(purchases[reference])


def settle() -> None:
    """A job for each minute: repeats what is open, under the same transactionId."""
    for purchase in purchases.values():
        if purchase["status"] == "PENDING":
            buy(purchase)


def buy(purchase: dict) -> None:
    try:
        esim.order({"transactionId": purchase["transactionId"], "packageInfoList": purchase["lines"]})
        refresh(purchase)
    except DealerEsimError as error:
        status = error.http_status
        is_open = error.outcome_unknown or status in (None, 429) or status >= 500 or error.code == "101001"
        if not is_open:
            purchase["status"] = "REFUSED"


def refresh(purchase: dict) -> None:
    found = esim.query({"transactionId": purchase["transactionId"]})
    ends = {"DELIVERED": "DELIVERED", "PARTIALLY_DELIVERED": "PARTIALLY_DELIVERED", "FAILED": "FAILED", "CANCELLED": "FAILED"}
    purchase["status"] = ends.get(found["orderStatus"], "PENDING")
    purchase["esims"] = len(found["profileList"])
    purchase["refundedAmount"] = found["refundedAmount"]
    if "DELIVERED" in purchase["status"] and purchase["handedOver"] == 0:
        purchase["handedOver"] += 1  # mail the links, once


def on_event(event: Event) -> None:
    """An event says that something changed, the order says what: it does not matter how often and in which sequence they come."""
    for purchase in purchases.values():
        if purchase["transactionId"] == event["content"].get("transactionId"):
            refresh(purchase)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/esim-events":
            answer = receive_event(APP_SECRET, "POST", self.headers, body, on_event)
            return self.answer(answer.status, answer.text)
        given = json.loads(body)
        if given["command"] == "order":
            order(given["reference"], given["packageCode"], given["count"], given["price"])
        elif given["command"] == "settle":
            settle()
        self.answer(200, json.dumps(purchases.get(given.get("reference"), {})))

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Handler).serve_forever()
