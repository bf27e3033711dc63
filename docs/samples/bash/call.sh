# Sourced by the other samples: signed calls with retries.
# Needs openssl and curl, and DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
# openssl shows the secret in the process list while it runs: acceptable for a trial, not on a shared machine.

headers=$(mktemp)
trap 'rm -f "$headers"' EXIT

attempt() { # OPERATION BODY: prints the answer's body, then its HTTP status on a separate line
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

# OPERATION BODY: sets `answer` and `code`. Each attempt is signed again with a new RequestID; the transactionId in the body
# stays the same, so nothing happens twice.
call() {
  local status number wait_s
  for number in 1 2 3 4; do
    answer=$(attempt "$1" "$2") || answer=$'\n000'
    status=${answer##*$'\n'} answer=${answer%$'\n'*}
    code=$(sed -nE 's/^\{"code": ?"([0-9]{6})".*/\1/p' <<<"$answer" | head -1)
    case $status:$code in
      000:* | 429:* | 5??:* | *:101006) ;; # 101006: a proxy or library repeated the request
      *) break ;;
    esac
    wait_s=$(sed -nE 's/^[Rr]etry-[Aa]fter: *([0-9]+).*/\1/p' "$headers" | tail -1)
    [ "$number" = 4 ] || sleep "$((${wait_s:-0} > number ? wait_s : number))"
  done
  if [ -z "$code" ]; then
    echo "HTTP $status: this is not an answer of a gateway. Repeat with the same transactionId." >&2
    exit 1
  fi
}
