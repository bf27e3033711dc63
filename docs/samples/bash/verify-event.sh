#!/usr/bin/env bash
# Verifies an event. Reads the body from standard input, byte for byte as received.
# Usage: verify-event.sh WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
# openssl shows the secret in the process list while it runs: acceptable for a trial, not on a shared machine.
set -euo pipefail
if [ $# -ne 3 ]; then
  echo 'Usage: verify-event.sh WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body' >&2
  exit 2
fi
id=$1 timestamp=$2 signatures=$3

if ! [[ $timestamp =~ ^[1-9][0-9]{0,10}$ ]]; then
  echo 'the timestamp is not a number of seconds' >&2
  exit 1
fi
age=$(($(date +%s) - timestamp))
if [ "${age#-}" -gt 300 ]; then
  echo 'too old or in the future' >&2
  exit 1
fi
expected=$({ printf '%s' "$id.$timestamp."; cat; } | openssl dgst -sha256 -hmac "$DEALER_ESIM_APP_SECRET" -binary | base64)
for signature in $signatures; do
  if [ "$signature" = "v1,$expected" ]; then
    echo genuine
    exit 0
  fi
done
echo 'signed with another secret, or changed in transit' >&2
exit 1
