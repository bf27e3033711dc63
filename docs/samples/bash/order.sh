#!/usr/bin/env bash
# Buys one eSIM and prints the answer. Usage: order.sh PACKAGE_CODE TRANSACTION_ID
# Needs openssl and curl, and DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
# openssl shows the secret in the process list while it runs: acceptable for a trial, not on a shared machine.
set -euo pipefail
if [ $# -ne 2 ]; then
  echo 'Usage: order.sh PACKAGE_CODE TRANSACTION_ID' >&2
  exit 2
fi
package_code=$1 transaction_id=$2
body=$(printf '{"transactionId":"%s","packageInfoList":[{"packageCode":"%s","count":1}]}' "$transaction_id" "$package_code")

headers=$(mktemp)
trap 'rm -f "$headers"' EXIT

call() { # OPERATION BODY: prints the answer's body, then its HTTP status on a separate line
  local timestamp request_id signature
  : >"$headers"
  timestamp=$(date +%s)000
  request_id=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)
  signature=$(printf '%s' "$timestamp$request_id$DEALER_ESIM_APP_KEY$2" |
    openssl dgst -sha256 -hmac "$DEALER_ESIM_APP_SECRET" | sed 's/^.* //')
  curl -sS --max-time 30 -D "$headers" -w '\n%{http_code}' "$DEALER_ESIM_BASE_URL/open-api/v1/$1" \
    -H 'Content-Type: application/json' -H "RT-AccessCode: $DEALER_ESIM_APP_KEY" -H "RT-RequestID: $request_id" \
    -H "RT-Timestamp: $timestamp" -H "X-Signature: $signature" --data-binary "$2"
}

# Each attempt is signed again with a new RequestID; the transactionId stays the same, so nothing is bought twice.
for attempt in 1 2 3 4; do
  answer=$(call esim/order "$body") || answer=$'\n000'
  status=${answer##*$'\n'} answer=${answer%$'\n'*}
  code=$(sed -nE 's/^\{"code": ?"([0-9]{6})".*/\1/p' <<<"$answer" | head -1)
  case $status:$code in
    000:* | 429:* | 5??:* | *:101006) ;; # 101006: a proxy or library repeated the request
    *) break ;;
  esac
  wait_s=$(sed -nE 's/^[Rr]etry-[Aa]fter: *([0-9]+).*/\1/p' "$headers" | tail -1)
  [ "$attempt" = 4 ] || sleep "$((${wait_s:-0} > attempt ? wait_s : attempt))"
done
if [ -z "$code" ]; then
  echo "HTTP $status: this is not an answer of a gateway. Repeat with the same transactionId." >&2
  exit 1
fi
printf '%s\n' "$answer"
[ "$code" = 000000 ]
