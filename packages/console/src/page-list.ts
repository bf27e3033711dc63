import { GROUP_PAGE, GROUPS, PLAN_PAGE, PLANS } from './price-paths.ts'

/** A page of the console: where it stands and what is loaded for it. Without side effects, so tests can read the list. */
export interface ListedPage {
  path: string
  load(): Promise<Record<string, unknown>>
  /** The component in what is loaded. */
  name: string
}

const listed = (path: string, load: ListedPage['load'], name: string): ListedPage => ({ path, load, name })

/** Opens without a session. */
export const welcomePage = listed('/welcome', () => import('./pages/welcome.tsx'), 'WelcomePage')

/** The frame around the sections of a dealer. */
export const dealerPage = listed('/tenants/$tenantId', () => import('./pages/tenant.tsx'), 'TenantPage')

/** Below the frame of a dealer. */
export const dealerSections = [
  listed('/', () => import('./pages/tenant-overview.tsx'), 'TenantOverview'),
  listed('/credentials', () => import('./pages/credentials.tsx'), 'CredentialsPage'),
  listed('/settings', () => import('./pages/settings.tsx'), 'SettingsPage'),
  listed('/wallet', () => import('./pages/wallet.tsx'), 'WalletPage'),
  listed('/prices', () => import('./pages/tenant-prices.tsx'), 'TenantPricesPage'),
  listed('/people', () => import('./pages/tenant-people.tsx'), 'TenantPeople'),
  listed('/notices', () => import('./pages/tenant-notices.tsx'), 'TenantNotices'),
]

export const pages = [
  listed('/', () => import('./pages/dashboard.tsx'), 'DashboardPage'),
  listed('/tenants', () => import('./pages/tenants.tsx'), 'TenantsPage'),
  listed('/orders', () => import('./pages/orders.tsx'), 'OrdersPage'),
  listed('/tenants/$tenantId/orders/$orderNo', () => import('./pages/order.tsx'), 'OrderPage'),
  listed('/profiles', () => import('./pages/profiles.tsx'), 'ProfilesPage'),
  listed('/tenants/$tenantId/profiles/$profileId', () => import('./pages/profile.tsx'), 'ProfilePage'),
  listed('/webhooks', () => import('./pages/webhooks.tsx'), 'WebhooksPage'),
  listed('/tenants/$tenantId/events/$notifyId', () => import('./pages/event.tsx'), 'EventPage'),
  listed('/catalogue', () => import('./pages/catalogue.tsx'), 'CataloguePage'),
  listed('/catalogue/import', () => import('./pages/catalogue-import.tsx'), 'CatalogueImportPage'),
  listed(PLANS, () => import('./pages/prices.tsx'), 'PricesPage'),
  listed(GROUPS, () => import('./pages/prices.tsx'), 'PricesPage'),
  listed(PLAN_PAGE, () => import('./pages/price-plan.tsx'), 'PricePlanPage'),
  listed(GROUP_PAGE, () => import('./pages/price-group.tsx'), 'PriceGroupPage'),
  listed('/stock', () => import('./pages/stock.tsx'), 'StockPage'),
  listed('/suppliers', () => import('./pages/suppliers.tsx'), 'SuppliersPage'),
  listed('/explorer', () => import('./pages/explorer.tsx'), 'ExplorerPage'),
  listed('/debugger', () => import('./pages/explorer.tsx'), 'ExplorerPage'),
  listed('/notices', () => import('./pages/notices.tsx'), 'NoticesPage'),
  listed('/adjustments', () => import('./pages/open-adjustments.tsx'), 'OpenAdjustmentsPage'),
  listed('/people', () => import('./pages/people.tsx'), 'PeoplePage'),
  listed('/audit', () => import('./pages/audit.tsx'), 'AuditPage'),
  listed('/account', () => import('./pages/account.tsx'), 'AccountPage'),
  // Any other address.
  listed('/$', () => import('./parts/not-found.tsx'), 'NotFound'),
]
