#!/usr/bin/env bash
# Is this event genuine? The body comes on standard input, byte for byte as it arrived.
# Usage: verify-event.sh WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
# openssl shows the secret in the process list while it runs: fine for trying, not for a shared machine.
set -euo pipefail
id=$1 timestamp=$2 signatures=$3

if ! [[ $timestamp =~ ^[1-9][0-9]{0,10}$ ]]; then
  echo 'the timestamp is no number of seconds' >&2
  exit 1
fi
age=$(($(date +%s) - timestamp))
if [ "${age#-}" -gt 300 ]; then
  echo 'too old, or from the future' >&2
  exit 1
fi
expected=$({ printf '%s' "$id.$timestamp."; cat; } | openssl dgst -sha256 -hmac "$DEALER_ESIM_APP_SECRET" -binary | base64)
for signature in $signatures; do
  if [ "$signature" = "v1,$expected" ]; then
    echo genuine
    exit 0
  fi
done
echo 'signed with another secret, or changed on the way' >&2
exit 1
