import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from '@tanstack/react-router'
import { consoleBase } from './api.ts'
import { Layout } from './layout.tsx'
import { Failure } from './parts/failure.tsx'
import { Loading } from './parts/loading.tsx'
import { NotFound } from './parts/not-found.tsx'
import { SessionGate } from './session-gate.tsx'

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound })

const welcome = createRoute({
  getParentRoute: () => root,
  path: '/welcome',
  component: lazyRouteComponent(() => import('./pages/welcome.tsx'), 'WelcomePage'),
})

const console_ = createRoute({
  getParentRoute: () => root,
  id: 'console',
  component: () => (
    <SessionGate>
      <Layout />
    </SessionGate>
  ),
})

type Module = Record<string, unknown>

/** Every page is a chunk of its own: the first one opens without waiting for the others. */
function page(path: string, load: () => Promise<Module>, name: string, parent: () => AnyRoute = () => console_) {
  return createRoute({
    getParentRoute: parent,
    path,
    // Filters are texts in the address; each page says which it knows.
    validateSearch: (search: Record<string, unknown>) => textsOf(search),
    component: lazyRouteComponent(load as () => Promise<Record<string, never>>, name as never),
  })
}

function textsOf(search: Record<string, unknown>): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(search)) {
    if (value !== '' && ['string', 'number', 'boolean'].includes(typeof value)) texts[name] = String(value)
  }
  return texts
}

const tenant = page('/tenants/$tenantId', () => import('./pages/tenant.tsx'), 'TenantPage')

function section(path: string, load: () => Promise<Module>, name: string) {
  return page(path, load, name, () => tenant)
}

const pages = [
  page('/', () => import('./pages/dashboard.tsx'), 'DashboardPage'),
  page('/tenants', () => import('./pages/tenants.tsx'), 'TenantsPage'),
  page('/orders', () => import('./pages/orders.tsx'), 'OrdersPage'),
  page('/tenants/$tenantId/orders/$orderNo', () => import('./pages/order.tsx'), 'OrderPage'),
  page('/profiles', () => import('./pages/profiles.tsx'), 'ProfilesPage'),
  page('/tenants/$tenantId/profiles/$profileId', () => import('./pages/profile.tsx'), 'ProfilePage'),
  page('/webhooks', () => import('./pages/webhooks.tsx'), 'WebhooksPage'),
  page('/tenants/$tenantId/events/$notifyId', () => import('./pages/event.tsx'), 'EventPage'),
  page('/catalogue', () => import('./pages/catalogue.tsx'), 'CataloguePage'),
  page('/catalogue/import', () => import('./pages/catalogue-import.tsx'), 'CatalogueImportPage'),
  page('/catalogue/prices', () => import('./pages/prices.tsx'), 'PricesPage'),
  page('/catalogue/prices/groups', () => import('./pages/prices.tsx'), 'PricesPage'),
  page('/catalogue/prices/plans/$planName', () => import('./pages/price-plan.tsx'), 'PricePlanPage'),
  page('/catalogue/prices/groups/$groupName', () => import('./pages/price-group.tsx'), 'PriceGroupPage'),
  page('/stock', () => import('./pages/stock.tsx'), 'StockPage'),
  page('/suppliers', () => import('./pages/suppliers.tsx'), 'SuppliersPage'),
  page('/explorer', () => import('./pages/explorer.tsx'), 'ExplorerPage'),
  page('/debugger', () => import('./pages/explorer.tsx'), 'ExplorerPage'),
  page('/notices', () => import('./pages/notices.tsx'), 'NoticesPage'),
  page('/adjustments', () => import('./pages/open-adjustments.tsx'), 'OpenAdjustmentsPage'),
  page('/people', () => import('./pages/people.tsx'), 'PeoplePage'),
  page('/audit', () => import('./pages/audit.tsx'), 'AuditPage'),
  page('/account', () => import('./pages/account.tsx'), 'AccountPage'),
  tenant.addChildren([
    section('/', () => import('./pages/tenant-overview.tsx'), 'TenantOverview'),
    section('/credentials', () => import('./pages/credentials.tsx'), 'CredentialsPage'),
    section('/settings', () => import('./pages/settings.tsx'), 'SettingsPage'),
    section('/wallet', () => import('./pages/wallet.tsx'), 'WalletPage'),
    section('/prices', () => import('./pages/tenant-prices.tsx'), 'TenantPricesPage'),
    section('/people', () => import('./pages/tenant-people.tsx'), 'TenantPeople'),
    section('/notices', () => import('./pages/tenant-notices.tsx'), 'TenantNotices'),
  ]),
]

export const router = createRouter({
  routeTree: root.addChildren([welcome, console_.addChildren(pages)]),
  basepath: consoleBase.pathname.replace(/\/$/, ''),
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: ({ error, reset }) => <Failure error={error as Error} retry={reset} />,
  scrollRestoration: true,
  // Texts stay texts: a transactionId of digits is not a number, and nothing is quoted in the address.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search as Record<string, string>).toString()
    return text && `?${text}`
  },
})
