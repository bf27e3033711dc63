#!/usr/bin/env bash
# Buys one eSIM and prints the answer. Usage: order.sh PACKAGE_CODE TRANSACTION_ID
# Needs openssl and curl, and DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
set -euo pipefail
package_code=$1 transaction_id=$2
body=$(printf '{"transactionId":"%s","packageInfoList":[{"packageCode":"%s","count":1}]}' "$transaction_id" "$package_code")

call() { # OPERATION BODY: prints the answer's body, then its HTTP status on a line of its own
  local timestamp request_id signature
  timestamp=$(date +%s)000
  request_id=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)
  signature=$(printf '%s' "$timestamp$request_id$DEALER_ESIM_APP_KEY$2" |
    openssl dgst -sha256 -hmac "$DEALER_ESIM_APP_SECRET" | sed 's/^.* //')
  curl -sS --max-time 30 -w '\n%{http_code}' "$DEALER_ESIM_BASE_URL/open-api/v1/$1" \
    -H 'Content-Type: application/json' -H "RT-AccessCode: $DEALER_ESIM_APP_KEY" -H "RT-RequestID: $request_id" \
    -H "RT-Timestamp: $timestamp" -H "X-Signature: $signature" --data-binary "$2"
}

# Each attempt is signed anew with a fresh RequestID; the transactionId stays, so that nothing is bought twice.
for attempt in 1 2 3 4; do
  answer=$(call esim/order "$body") || answer=$'\n000'
  status=${answer##*$'\n'}
  case $status in
    000 | 429 | 5??) [ "$attempt" = 4 ] || sleep "$attempt" ;;
    *) break ;;
  esac
done
printf '%s\n' "${answer%$'\n'*}"
[ "$status" = 200 ]
