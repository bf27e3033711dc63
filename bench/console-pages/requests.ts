import { orderNoOf } from '@dealer-esim/contract'
import { routes } from '@dealer-esim/gateway/http/console/console-routes.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'

export interface ConsoleRequest {
  as: 'operator' | 'dealer'
  /** Path and query. */
  path: string
}

/** The ids that requests ask for: those of the busiest dealer, and some of others. */
interface Sample {
  tenantId: string
  orderId: string
  orderNo: string
  transactionId: string
  profileId: string
  iccid: string
  notifyId: string
  supplier: string
  packageCode: string
  clientName: string
  planName: string
  groupName: string
}

/** Queries of routes beyond the plain request: filters, sorts, periods. `%day-n%` is the UTC day n days ago. */
const LISTS = {
  '/orders': [
    '',
    '?sort=createdAt',
    '?status=UNDER_REVIEW',
    '?status=FAILED',
    '?status=PARTIALLY_DELIVERED',
    '?orderType=TOPUP',
    '?packageCode=%packageCode%',
    '?packageCode=NO_SUCH_PACKAGE',
    '?country=JP',
    '?amountFrom=1000000',
    '?from=%day-7%T00:00:00.000Z&to=%day-6%T00:00:00.000Z',
    '?q=%orderNo%',
    '?q=%transactionId%',
    '?q=%iccid%',
    '?q=unknown-transaction',
    '?limit=200',
  ],
  '/profiles': [
    '',
    '?sort=createdAt',
    '?esimStatus=IN_USE',
    '?smdpStatus=RELEASED',
    '?esimStatus=REVOKED',
    '?iccid=%iccid%',
  ],
  '/events': [
    '',
    '?sort=createdAt',
    '?state=DEAD',
    '?state=UNSENT',
    '?state=PENDING',
    '?type=BALANCE_LOW',
    '?type=ORDER_PAID',
    '?q=%transactionId%',
  ],
  '/audit': ['', '?action=tenant', '?action=payment', '?subject=nothing', '?from=%day-7%T00:00:00.000Z'],
}
const OPERATOR_QUERIES: Record<string, readonly string[]> = {
  '/orders': [
    '?supplier=%supplier%',
    '?supplier=nobody',
    '?tenantId=%tenantId%&status=DELIVERED',
    '?tenantId=%tenantId%&sort=amount&from=%day-7%T00:00:00.000Z',
    '?sort=amount&from=%day-1%T12:00:00.000Z&to=%day-1%T16:00:00.000Z',
    '?sort=clientName&status=UNDER_REVIEW',
  ],
  '/profiles': ['?tenantId=%tenantId%'],
  '/events': ['?tenantId=%tenantId%&state=DEAD'],
  '/tenants': ['', '?sort=clientName', '?sort=-balance', '?q=dealer%20a', '?status=SUSPENDED', '?limit=200'],
  '/packages': ['', '?keyword=P1', '?locationCode=JP', '?status=ON_SALE', '?supplier=sandbox'],
  '/sales': ['day', 'dealer', 'package', 'country', 'supplier'].flatMap((by) => [
    `?by=${by}`,
    `?by=${by}&from=%day-364%&to=%day-0%`,
    `?by=${by}&supplier=%supplier%`,
    `?by=${by}&country=JP`,
    `?by=${by}&packageCode=%packageCode%`,
    `?by=${by}&tenantId=%tenantId%`,
    `?by=${by}&orderType=TOPUP`,
  ]),
  '/sales.csv': ['?by=day', '?by=dealer', '?by=dealer&from=%day-364%&to=%day-0%', '?by=package'],
  '/search': ['?q=%transactionId%', '?q=%orderNo%', '?q=%iccid%', '?q=dealer', '?q=zzzz', '?q=P10'],
  ...Object.fromEntries(
    ['months', 'months.csv', 'discrepancies', 'discrepancies.csv'].map((report) => [
      `/supplier-reports/${report}`,
      ['?month=%month%', '?month=%lastMonth%'],
    ]),
  ),
  '/supplier-products': ['', '?keyword=japan'],
  '/supplier-products/costs': ['?supplier=%supplier%&productCode=x'],
  '/stock/codes': ['?iccid=%iccid%'],
  '/top-up-requests': ['', '?status=PAID'],
  '/adjustments': ['', '?open=true'],
  '/packages/:packageCode/explanation': ['?tenantId=%tenantId%'],
}
const DEALER_QUERIES: Record<string, readonly string[]> = {
  '/search': ['?q=%transactionId%', '?q=zzzz'],
}
const BOTH_QUERIES: Record<string, readonly string[]> = {
  '/dashboard': ['', '?days=1', '?days=92', '?days=14&timeZone=Asia/Kathmandu', '?from=%day-60%&to=%day-31%'],
  '/tenants/:tenantId/wallet/entries': ['', '?kind=REFUND', '?month=%month%'],
  '/tenants/:tenantId/wallet/entries.csv': ['?month=%month%'],
  '/tenants/:tenantId/wallet/statement': ['?month=%lastMonth%'],
  '/tenants/:tenantId/endpoint/figures': ['', '?period=WEEK'],
  '/tenants/:tenantId/prices': ['', '?keyword=P1'],
  '/notices': ['', '?unread=true'],
}

/** Every GET route as an operator and as a dealer where they have access, with what people ask for most. */
export function consoleRequests(sample: Sample, nowMs: number): ConsoleRequest[] {
  const requests: ConsoleRequest[] = []
  for (const route of routes) {
    if (route.method !== 'GET') continue
    const list = Object.entries(LISTS).find(([path]) => [path, `${path}/totals`, `${path}.csv`].includes(route.path))
    const tenants = ['/tenants/totals', '/tenants.csv'].includes(route.path) ? OPERATOR_QUERIES['/tenants'] : undefined
    for (const as of ['operator', 'dealer'] as const) {
      if (!isOpenTo(route.access, as)) continue
      const listPath = list?.[0] ?? ''
      const own =
        as === 'operator'
          ? (OPERATOR_QUERIES[route.path] ?? OPERATOR_QUERIES[listPath] ?? tenants)
          : DEALER_QUERIES[route.path]
      const queries = new Set([...(list?.[1] ?? []), ...(BOTH_QUERIES[route.path] ?? []), ...(own ?? [])])
      if (queries.size === 0) queries.add('')
      for (const query of queries) {
        if (route.path.endsWith('/totals') && /sort=|limit=/.test(query)) continue
        if (route.path.endsWith('.csv') && query.includes('limit=')) continue
        requests.push({ as, path: fill(route.path + query, sample, nowMs) })
      }
    }
  }
  return requests
}

function isOpenTo(access: (typeof routes)[number]['access'], as: ConsoleRequest['as']): boolean {
  if (typeof access === 'string') return true
  return access.some((role) => role === (as === 'operator' ? 'OPERATOR_ADMIN' : 'DEALER_ADMIN'))
}

const DAY_MS = 86_400_000

function fill(text: string, sample: Sample, nowMs: number): string {
  const members: Record<string, string> = {
    ...sample,
    requestId: '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11',
    topUpRequestId: sample.orderId,
    batchId: sample.orderId,
    month: new Date(nowMs).toISOString().slice(0, 7),
    lastMonth: new Date(nowMs - 31 * DAY_MS).toISOString().slice(0, 7),
  }
  return text
    .replace(/%day-(\d+)%/g, (_, days) => new Date(nowMs - Number(days) * DAY_MS).toISOString().slice(0, 10))
    .replace(/%(\w+)%/g, (all, name) => (members[name] === undefined ? all : encodeURIComponent(members[name])))
    .replace(/:(\w+)/g, (all, name) => members[name] ?? all)
}

export async function readSample(db: Db): Promise<Sample> {
  const [row] = await db.query<Omit<Sample, 'orderNo'>>({
    text: `with busiest as (select tenant_id from wallets order by version desc limit 1)
      select b.tenant_id, o.order_id, o.transaction_id, p.profile_id, p.iccid, e.notify_id, 'sandbox' as supplier,
        'P001' as package_code, t.tenant_name as client_name, 'bench' as plan_name, 'bench' as group_name
      from busiest b join tenants t using (tenant_id)
      cross join lateral (select * from profiles where tenant_id = b.tenant_id order by profile_id desc limit 1) p
      join orders o on o.tenant_id = b.tenant_id and o.order_id = p.order_id
      cross join lateral (select notify_id from events where tenant_id = b.tenant_id order by notify_id desc limit 1) e`,
  })
  return { ...row!, orderNo: orderNoOf(row!.orderId) }
}
