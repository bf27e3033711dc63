#!/usr/bin/env bash
# Prints X-Signature. Usage: sign.sh TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY
# openssl shows the secret in the process list while it runs: acceptable for a trial, not on a shared machine.
set -euo pipefail
if [ $# -ne 5 ]; then
  echo 'Usage: sign.sh TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY' >&2
  exit 2
fi
timestamp=$1 request_id=$2 app_key=$3 app_secret=$4 body=$5
printf '%s' "$timestamp$request_id$app_key$body" | openssl dgst -sha256 -hmac "$app_secret" | sed 's/^.* //'
