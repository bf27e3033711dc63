"""Tops up or cancels an eSIM, waits for the result and prints it. An eSIM is named by its esimTranNo.

Usage: after_sale.py topup ESIM PACKAGE_CODE TRANSACTION_ID
       after_sale.py cancel ESIM TRANSACTION_ID

Needs order.py next to it, and DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
"""

import json
import sys
import time

USAGE = """Usage: after_sale.py topup ESIM PACKAGE_CODE TRANSACTION_ID
       after_sale.py cancel ESIM TRANSACTION_ID"""
command, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
if (command, len(arguments)) not in [("topup", 3), ("cancel", 2)]:
    print(USAGE, file=sys.stderr)
    sys.exit(2)

from order import call

if command == "topup":
    esim, package_code, transaction_id = arguments
    request = {"transactionId": transaction_id, "esimTranNo": esim, "packageCode": package_code}
    query, member, wanted = "esim/query", "orderStatus", "DELIVERED"
else:
    esim, transaction_id = arguments
    # The action is repeated in the body, because the signature does not cover the path.
    request = {"transactionId": transaction_id, "action": "CANCEL", "esimTranNo": esim}
    query, member, wanted = "esim/action/query", "actionStatus", "DONE"

# Accepted is not done: the supplier is asked after the answer. A real shop waits for the event instead.
answer = call(f"esim/{command}", request)
for _ in range(30):
    if answer["data"].get(member) not in ("PAID", "ALLOCATING", "PENDING"):
        break
    time.sleep(1)
    answer = call(query, {"transactionId": transaction_id})
print(json.dumps(answer))
sys.exit(0 if answer["code"] == "000000" and answer["data"][member] == wanted else 1)
