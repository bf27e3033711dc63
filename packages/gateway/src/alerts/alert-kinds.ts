/** The kinds of alerts for a tenant's people. */
export const TENANT_ALERT_KINDS = [
  'ENDPOINT_DISABLED',
  'ENDPOINT_FAILING',
  'LOW_BALANCE',
  'TOP_UP_DECLINED',
  'TOP_UP_PAID',
] as const
export type TenantAlertKind = (typeof TENANT_ALERT_KINDS)[number]

/** The kinds of alerts for operators. */
export const OPERATOR_ALERT_KINDS = [
  'ACTION_UNDER_REVIEW',
  'BACKUP_OLD',
  'DEALER_QUESTION',
  'LEDGER_FAULT',
  'LOW_STOCK',
  'ORDERS_LATE',
  'ORDER_QUESTION',
  'ORPHAN_ESIM',
  'PACKAGES_OFF_SALE',
  'STOCK_EXPIRING',
  'SUPPLIER_BALANCE',
  'SUPPLIER_CATALOGUE',
  'SUPPLIER_CHARGES',
  'SUPPLIER_NO_MONEY',
  'SUPPLIER_PRICE',
  'SUPPLIER_SPEND_LIMIT',
  'TOP_UP_REQUESTED',
  'UNDER_REVIEW',
] as const
export type OperatorAlertKind = (typeof OPERATOR_ALERT_KINDS)[number]

/** Every kind has a label in the console and a subject in e-mails. */
export type AlertKind = TenantAlertKind | OperatorAlertKind
