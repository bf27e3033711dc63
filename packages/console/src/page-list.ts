import { GROUP_PAGE, GROUPS, PLAN_PAGE, PLANS } from './prices/paths.ts'

/** A page of the console: where it stands and what is loaded for it. Without side effects, so tests can read the list. */
export interface ListedPage {
  path: string
  load(): Promise<Record<string, unknown>>
  /** The component in what is loaded. */
  name: string
}

const listed = (path: string, load: ListedPage['load'], name: string): ListedPage => ({ path, load, name })

/** Opens without a session. */
export const welcomePage = listed('/welcome', () => import('./session/welcome.tsx'), 'WelcomePage')

/** The frame around the sections of a dealer. */
export const dealerPage = listed('/tenants/$tenantId', () => import('./dealers/dealer.tsx'), 'TenantPage')

/** Below the frame of a dealer. */
export const dealerSections = [
  listed('/', () => import('./dealers/dealer.tsx'), 'TenantOverview'),
  listed('/credentials', () => import('./dealers/credentials.tsx'), 'CredentialsPage'),
  listed('/settings', () => import('./dealers/settings.tsx'), 'SettingsPage'),
  listed('/wallet', () => import('./wallet/wallet.tsx'), 'WalletPage'),
  listed('/prices', () => import('./prices/dealer-prices.tsx'), 'TenantPricesPage'),
  listed('/people', () => import('./administration/people.tsx'), 'TenantPeople'),
  listed('/notices', () => import('./administration/alerts.tsx'), 'TenantNotices'),
]

export const pages = [
  listed('/', () => import('./dashboard/dashboard.tsx'), 'DashboardPage'),
  listed('/tenants', () => import('./dealers/dealers.tsx'), 'TenantsPage'),
  listed('/orders', () => import('./orders/orders.tsx'), 'OrdersPage'),
  listed('/tenants/$tenantId/orders/$orderNo', () => import('./orders/order.tsx'), 'OrderPage'),
  listed('/profiles', () => import('./esims/esims.tsx'), 'ProfilesPage'),
  listed('/tenants/$tenantId/profiles/$profileId', () => import('./esims/esim.tsx'), 'ProfilePage'),
  listed('/webhooks', () => import('./webhooks/webhooks.tsx'), 'WebhooksPage'),
  listed('/tenants/$tenantId/events/$notifyId', () => import('./webhooks/event.tsx'), 'EventPage'),
  listed('/catalogue', () => import('./catalogue/catalogue.tsx'), 'CataloguePage'),
  listed('/catalogue/import', () => import('./catalogue/catalogue-import.tsx'), 'CatalogueImportPage'),
  listed(PLANS, () => import('./prices/prices.tsx'), 'PricesPage'),
  listed(GROUPS, () => import('./prices/prices.tsx'), 'PricesPage'),
  listed(PLAN_PAGE, () => import('./prices/price-plan.tsx'), 'PricePlanPage'),
  listed(GROUP_PAGE, () => import('./prices/price-group.tsx'), 'PriceGroupPage'),
  listed('/stock', () => import('./suppliers/stock.tsx'), 'StockPage'),
  listed('/suppliers', () => import('./suppliers/suppliers.tsx'), 'SuppliersPage'),
  listed('/explorer', () => import('./explorer/explorer.tsx'), 'ExplorerPage'),
  listed('/debugger', () => import('./explorer/explorer.tsx'), 'ExplorerPage'),
  listed('/notices', () => import('./administration/alerts.tsx'), 'NoticesPage'),
  listed('/adjustments', () => import('./wallet/adjustments.tsx'), 'OpenAdjustmentsPage'),
  listed('/people', () => import('./administration/people.tsx'), 'PeoplePage'),
  listed('/audit', () => import('./administration/audit-log.tsx'), 'AuditPage'),
  listed('/account', () => import('./account/account.tsx'), 'AccountPage'),
  // Any other address.
  listed('/$', () => import('./parts/page.tsx'), 'NotFound'),
]
