"""Runs the Python SDK for test/sdks/conformance.deployment.test.ts: a command on each line of the input, an answer each."""

import json
import logging
import re
import sys
import time

from dealer_esim import (
    DealerEsim,
    DealerEsimError,
    format_money,
    parse_money,
    receive_event,
    sign,
    verify_event,
)


def main() -> None:
    logging.disable()
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": globals()[f"do_{command['do']}"](**command["with"])}
        except DealerEsimError as error:
            answer = {"error": describe(error)}
        except (TypeError, ValueError) as error:
            answer = {"invalid": str(error)}
        print(json.dumps(answer), flush=True)


def describe(error: DealerEsimError) -> dict:
    names = ("code", "details", "data", "request_id", "http_status", "transaction_id", "retry_after_s")
    described = {camel(name): getattr(error, name) for name in (*names, "outcome_unknown", "attempts")}
    return {**described, "message": str(error), "kind": type(error).__name__}


def client_of(baseUrl, appKey, appSecret, timeoutMs=30_000, retries=3, clockMs=0) -> DealerEsim:
    options = {"timeout_s": timeoutMs / 1000, "retries": retries, "now": lambda: time.time() + clockMs / 1000}
    return DealerEsim(baseUrl, appKey, appSecret, **options)


def do_call(client, method, args):
    return getattr(client_of(**client), snake(method))(*args)


def do_operation(client, operation, request):
    return client_of(**client).call(operation, request)


def do_each(client, method, args):
    return list(getattr(client_of(**client), snake(method))(*args))


def do_wait(client, which, waitMs):
    return client_of(**client).wait_for_order(which, wait_s=waitMs / 1000)


def do_sign(timestamp, requestId, appKey, appSecret, body):
    return sign(appSecret, timestamp, requestId, appKey, body.encode())


def do_verify(secrets, headers, body, nowMs):
    return verify_event(secrets, headers, body.encode(), now=lambda: nowMs / 1000)


def do_receive(secret, method, headers, body, failing):
    events = []

    def on_event(event):
        events.append(event)
        if failing:
            raise RuntimeError("the disk is full")

    answer = receive_event(secret, method, headers, body.encode(), on_event)
    return {"status": answer.status, "events": events}


def do_format(units):
    return format_money(units)


def do_parse(text):
    return parse_money(text)


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)


def camel(name: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


if __name__ == "__main__":
    main()
