#!/usr/bin/env bash
# Tops up or cancels an eSIM, waits for the result and prints it. An eSIM is named by its esimTranNo.
# Usage: after-sale.sh topup ESIM PACKAGE_CODE TRANSACTION_ID
#        after-sale.sh cancel ESIM TRANSACTION_ID
# Needs call.sh next to it, openssl and curl, and DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
set -euo pipefail
case "${1:-} $#" in
  'topup 4')
    operation=esim/topup query=esim/query status_member=orderStatus wanted=DELIVERED transaction_id=$4
    body=$(printf '{"transactionId":"%s","esimTranNo":"%s","packageCode":"%s"}' "$4" "$2" "$3")
    ;;
  'cancel 3')
    operation=esim/cancel query=esim/action/query status_member=actionStatus wanted=DONE transaction_id=$3
    body=$(printf '{"transactionId":"%s","action":"CANCEL","esimTranNo":"%s"}' "$3" "$2")
    ;;
  *)
    echo 'Usage: after-sale.sh topup ESIM PACKAGE_CODE TRANSACTION_ID' >&2
    echo '       after-sale.sh cancel ESIM TRANSACTION_ID' >&2
    exit 2
    ;;
esac
. "$(dirname "$0")/call.sh"

# Accepted is not done: the supplier is asked after the answer. A real shop waits for the event instead.
call "$operation" "$body"
for _ in {1..30}; do
  status=$(grep -oE "\"$status_member\": ?\"[A-Z_]+\"" <<<"$answer" | head -1 | sed -E 's/.*"([A-Z_]+)"$/\1/') || true
  case $status in
    PAID | ALLOCATING | PENDING) ;;
    *) break ;;
  esac
  sleep 1
  call "$query" "$(printf '{"transactionId":"%s"}' "$transaction_id")"
done
printf '%s\n' "$answer"
[ "$code:$status" = "000000:$wanted" ]
