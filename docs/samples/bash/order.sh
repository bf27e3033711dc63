#!/usr/bin/env bash
# Buys one eSIM and prints the answer. Usage: order.sh PACKAGE_CODE TRANSACTION_ID
# Needs call.sh next to it, openssl and curl, and DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
set -euo pipefail
if [ $# -ne 2 ]; then
  echo 'Usage: order.sh PACKAGE_CODE TRANSACTION_ID' >&2
  exit 2
fi
. "$(dirname "$0")/call.sh"
package_code=$1 transaction_id=$2

call esim/order "$(printf '{"transactionId":"%s","packageInfoList":[{"packageCode":"%s","count":1}]}' "$transaction_id" "$package_code")"
printf '%s\n' "$answer"
[ "$code" = 000000 ]
