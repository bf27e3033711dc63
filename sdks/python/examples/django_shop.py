"""A shop in one Django file: an order at checkout, the webhook's route, and nothing lost on a time-out.

    DEALER_ESIM_BASE_URL=… DEALER_ESIM_APP_KEY=… DEALER_ESIM_APP_SECRET=… python3 django_shop.py runserver

Every purchase has a row with its transactionId before the gateway is called. Whatever happens to the call, `settle`, which
cron runs each minute, repeats it with that transactionId until the outcome is known. The gateway debits it once.
"""

import os
import sys

import django
from django.conf import settings
from django.core.management import execute_from_command_line
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from dealer_esim import DealerEsim, DealerEsimError, new_transaction_id, receive_event
from dealer_esim.models import Event

database = {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("SHOP_DATABASE", "shop.sqlite3")}
settings.configure(ROOT_URLCONF=__name__, DATABASES={"default": database}, ALLOWED_HOSTS=["*"], SECRET_KEY="example")
django.setup()

APP_SECRET = os.environ["DEALER_ESIM_APP_SECRET"]
TIMEOUT_S = float(os.environ.get("SHOP_TIMEOUT_S", "10"))
esim = DealerEsim(
    os.environ["DEALER_ESIM_BASE_URL"], os.environ["DEALER_ESIM_APP_KEY"], APP_SECRET, timeout_s=TIMEOUT_S, retries=0
)
SCHEMA = """
create table if not exists purchases (transaction_id text primary key, package_code text not null,
  status text not null default 'UNKNOWN', sequence integer not null default 0);
"""


def execute(statement: str, *values: object) -> list:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@csrf_exempt
@require_POST
def checkout(request: HttpRequest) -> JsonResponse:
    transaction_id, package_code = new_transaction_id(), request.POST["packageCode"]
    execute("insert into purchases (transaction_id, package_code) values (%s, %s)", transaction_id, package_code)
    return JsonResponse({"transactionId": transaction_id, "status": buy(transaction_id, package_code)})


def buy(transaction_id: str, package_code: str) -> str:
    """Orders, or repeats an order whose outcome is unknown."""
    lines = [{"packageCode": package_code, "count": 1}]
    try:
        status = esim.order({"transactionId": transaction_id, "packageInfoList": lines})["orderStatus"]
    except DealerEsimError as error:
        status = "UNKNOWN" if error.outcome_unknown or error.http_status in (None, 429, 503) else f"REFUSED {error.code}"
    # An event may have arrived before the answer.
    execute("update purchases set status = %s where transaction_id = %s and sequence = 0", status, transaction_id)
    return execute("select status from purchases where transaction_id = %s", transaction_id)[0][0]


def settle() -> None:
    for transaction_id, package_code in execute("select transaction_id, package_code from purchases where status = 'UNKNOWN'"):
        print(transaction_id, buy(transaction_id, package_code))


@csrf_exempt
def webhook(request: HttpRequest) -> HttpResponse:
    answer = receive_event(APP_SECRET, request.method or "", request.headers, request.body, store)
    return HttpResponse(answer.text, status=answer.status, content_type="text/plain")


def store(event: Event) -> None:
    if event["notifyType"] not in ("ORDER_PAID", "DELIVERY_UPDATED"):
        return
    content = event["content"]
    with transaction.atomic():  # events repeat and overtake each other: the highest sequence counts
        execute(
            "update purchases set status = %s, sequence = %s where transaction_id = %s and sequence < %s",
            *(content["orderStatus"], content["sequence"], content["transactionId"], content["sequence"]),
        )


urlpatterns = [path("checkout", checkout), path("esim-events", webhook)]
execute(SCHEMA)

if __name__ == "__main__":
    settle() if sys.argv[1:] == ["settle"] else execute_from_command_line(sys.argv)
