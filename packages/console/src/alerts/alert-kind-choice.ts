import type { AlertKind } from '@dealer-esim/gateway/alerts/alert-kinds.ts'

/** The kinds of alerts for a dealer's administrators. All others are for the operator's people. */
export const DEALER_ALERT_KINDS: readonly AlertKind[] = [
  'LOW_BALANCE',
  'ENDPOINT_FAILING',
  'ENDPOINT_DISABLED',
  'TOP_UP_PAID',
  'TOP_UP_DECLINED',
]
