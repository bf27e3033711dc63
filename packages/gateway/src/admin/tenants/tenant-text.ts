import { formatMoney } from '@dealer-esim/contract'
import type { TenantSummary, TenantView } from '../../tenants/tenant-views.ts'
import { fields, table, timeText } from '../table.ts'

export function tenantTable(tenants: TenantSummary[]): string {
  return table(
    tenants,
    [
      { title: 'TENANT', value: (tenant) => tenant.tenantId },
      { title: 'NAME', value: (tenant) => tenant.clientName },
      { title: 'STATUS', value: (tenant) => tenant.status },
      { title: 'BALANCE', value: (tenant) => formatMoney(tenant.balance), right: true },
      { title: 'CURRENCY', value: (tenant) => tenant.currencyCode },
      { title: 'CREATED', value: (tenant) => timeText(tenant.createdAt) },
    ],
    'There are no tenants. Create one: npm run -s admin -- tenant create --name "Acme Travel"',
  )
}

export function tenantText(tenant: TenantView): string {
  const money = (amount: bigint | null) => (amount === null ? 'none' : `${formatMoney(amount)} ${tenant.currencyCode}`)
  return fields([
    ['Tenant', tenant.tenantId],
    ['Name', tenant.clientName],
    ['Status', tenant.status],
    ['AppKey', tenant.appKey],
    ...tenant.secrets.map((secret, index) => [index === 0 ? 'AppSecret' : '', secretText(secret)] as const),
    ['Balance', money(tenant.balance)],
    ['Credit limit', money(tenant.creditLimit)],
    ['Daily spend limit', money(tenant.dailySpendLimit)],
    ['Low-balance threshold', money(tenant.lowBalanceThreshold)],
    ['QPS limit', tenant.qpsLimit === null ? 'the default' : String(tenant.qpsLimit)],
    ['IP allowlist', tenant.ipAllowlist.join('\n') || 'any address'],
    ['Unsigned requests', tenant.unsignedRequests ? UNSIGNED_WARNING : 'refused'],
    ['Callback URL', tenant.callbackUrl ?? 'none'],
    ['Event format', tenant.eventFormat === 'RT' ? 'RT family' : 'dealer API'],
    ['Legal name', tenant.legalName ?? 'none'],
    ['Tax ID', tenant.taxId ?? 'none'],
    ['Billing address', tenant.billingAddress ?? 'none'],
    ['Billing e-mail', tenant.billingEmail ?? 'none'],
    ['Created', timeText(tenant.createdAt)],
  ])
}

const UNSIGNED_WARNING =
  'ACCEPTED at the compatible API: anyone who knows the AppKey can spend from a listed address, up to the daily limit'

function secretText(secret: TenantView['secrets'][number]): string {
  const proven = secret.provenAt ? 'in use' : 'not used yet'
  const until = secret.validUntil ? `, ends ${timeText(secret.validUntil)}` : ''
  return `set ${timeText(secret.createdAt)}, ${proven}${until}`
}
