import { orderNoOf } from '@dealer-esim/contract'
import { NIL_TENANT } from '#platform/audit/audit.ts'

/**
 * The console page that shows what an alert is about, as a path below /console: the order, the eSIM, the dealer's wallet,
 * the orders under review. Alerts without a separate page link to the list of alerts.
 */
export function alertPath(alert: { kind: string; tenantId: string | null; data: Record<string, unknown> }): string {
  const { kind, data } = alert
  const tenantId = textOf(data.tenantId) ?? (alert.tenantId === NIL_TENANT ? undefined : (alert.tenantId ?? undefined))
  const profileId = textOf(data.profileId)
  if (kind === 'ACTION_UNDER_REVIEW' && tenantId !== undefined && profileId)
    return `/tenants/${tenantId}/profiles/${profileId}`
  const orderNo = textOf(data.orderNo) ?? (textOf(data.orderId) && orderNoOf(textOf(data.orderId)!))
  if (tenantId !== undefined && orderNo) return `/tenants/${tenantId}/orders/${orderNo}`
  switch (kind) {
    case 'LOW_BALANCE':
      return tenantId === undefined ? '/tenants' : `/tenants/${tenantId}/wallet`
    case 'DEALER_QUESTION':
      return tenantId === undefined ? '/tenants' : `/tenants/${tenantId}`
    case 'TOP_UP_REQUESTED':
    case 'TOP_UP_PAID':
    case 'TOP_UP_DECLINED':
      return '/top-up-requests'
    case 'ENDPOINT_FAILING':
    case 'ENDPOINT_DISABLED':
      return tenantId === undefined ? '/webhooks/endpoint' : `/webhooks/endpoint?tenantId=${tenantId}`
    case 'UNDER_REVIEW':
      return '/orders?status=UNDER_REVIEW'
    case 'ORDERS_LATE':
      return '/orders?waiting=LATE'
    case 'LOW_STOCK':
      return '/stock'
    case 'STOCK_EXPIRING':
      return '/stock/batches'
    case 'SUPPLIER_PRICE':
      return '/supplier-reports'
    case 'PACKAGES_OFF_SALE':
      return '/catalogue'
    default:
      return kind.startsWith('SUPPLIER_') ? supplierPath(textOf(data.supplier)) : '/notices'
  }
}

function supplierPath(supplier: string | undefined): string {
  return supplier === undefined ? '/suppliers' : `/suppliers/${encodeURIComponent(supplier)}`
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
