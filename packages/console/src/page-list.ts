import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { ADD_PACKAGE, CATALOGUE, PACKAGE_PAGE, PACKAGE_PRICES_PAGE } from './catalogue/catalogue-paths.ts'
import { canOperate, isOperator, isOperatorAdmin, mayAudit } from './people/sign-in/session.ts'
import { GROUP_PAGE, GROUPS, PLAN_PAGE, PLANS } from './prices/price-paths.ts'
import { ADD_RULE, PRODUCTS, RULE_PAGE, RULE_PREVIEW, RULES } from './products/product-paths.ts'
import {
  ADD_SUPPLIER,
  STOCK,
  STOCK_BATCHES,
  STOCK_CODES,
  SUPPLIER_PAGE,
  SUPPLIER_REPORTS,
  SUPPLIERS,
} from './suppliers/supplier-paths.ts'

/** A page of the console: its path and its component. Tests read this list, so it has no side effects. */
export interface PageRoute {
  path: string
  load(): Promise<Record<string, unknown>>
  /** The component's name in the loaded module. */
  name: string
  /** True if this person may open it. A page without this function is open to everybody. */
  mayOpen?: MayOpen | undefined
}

type MayOpen = (me: Me) => boolean

function page<Module extends object>(
  path: string,
  load: () => Promise<Module>,
  name: keyof Module & string,
  mayOpen?: MayOpen,
): PageRoute {
  return { path, load: load as () => Promise<Record<string, unknown>>, name, mayOpen }
}

const isOfDealer: MayOpen = (me) => !isOperator(me)

/** Works without a session. */
export const welcomePage = page('/welcome', () => import('./people/sign-in/welcome.tsx'), 'WelcomePage')

/** The target of the link that a local gateway prints. Works without a session. */
export const localSignInPage = page('/local', () => import('./people/sign-in/welcome.tsx'), 'LocalSignInPage')

/** The provider sends the browser here. Works without a session. */
export const signedInPage = page('/signed-in', () => import('./people/sign-in/signed-in.tsx'), 'SignedInPage')

/** The frame around the sections of a dealer. */
export const dealerPage = page('/tenants/$tenantId', () => import('./tenants/dealer.tsx'), 'DealerPage')

/** Paths below the dealer's page. */
export const dealerSections = [
  page('/', () => import('./tenants/dealer-overview.tsx'), 'DealerOverview'),
  page('/credentials', () => import('./tenants/credentials.tsx'), 'CredentialsPage'),
  page('/settings', () => import('./tenants/tenant-settings.tsx'), 'SettingsPage'),
  page('/wallet', () => import('./wallet/wallet.tsx'), 'WalletPage'),
  page('/books', () => import('./wallet/books/check-books.tsx'), 'CheckBooksPage'),
  page('/prices', () => import('./prices/dealer-prices.tsx'), 'DealerPricesPage'),
  page('/people', () => import('./people/people.tsx'), 'DealerPeople'),
  page('/brands', () => import('./brands/dealer-brands.tsx'), 'DealerBrands'),
  page('/notices', () => import('./alerts/alerts.tsx'), 'DealerAlerts'),
]

export const pages = [
  page('/', () => import('./home/dashboard.tsx'), 'DashboardPage'),
  page('/tenants', () => import('./tenants/dealers.tsx'), 'DealersPage', isOperator),
  page('/sales', () => import('./sales/sales.tsx'), 'SalesPage', isOperator),
  page('/orders', () => import('./orders/orders.tsx'), 'OrdersPage'),
  page('/tenants/$tenantId/orders/$orderNo', () => import('./orders/order.tsx'), 'OrderPage'),
  page('/profiles', () => import('./esims/esims.tsx'), 'EsimsPage'),
  page('/tenants/$tenantId/profiles/$profileId', () => import('./esims/esim.tsx'), 'EsimPage'),
  page('/webhooks', () => import('./webhooks/webhooks.tsx'), 'WebhooksPage'),
  page('/webhooks/endpoint', () => import('./webhooks/endpoint-page.tsx'), 'EndpointPage'),
  page('/tenants/$tenantId/events/$notifyId', () => import('./webhooks/event.tsx'), 'EventPage'),
  page(CATALOGUE, () => import('./catalogue/catalogue.tsx'), 'CataloguePage', isOperator),
  page('/catalogue/import', () => import('./catalogue/catalogue-import.tsx'), 'CatalogueImportPage', canOperate),
  page(ADD_PACKAGE, () => import('./catalogue/package.tsx'), 'AddPackagePage', canOperate),
  page(PACKAGE_PAGE, () => import('./catalogue/package.tsx'), 'PackagePage', isOperator),
  page(PACKAGE_PRICES_PAGE, () => import('./catalogue/package-buyers.tsx'), 'PackageBuyersPage', isOperator),
  page(PLANS, () => import('./prices/prices.tsx'), 'PricesPage', isOperator),
  page(GROUPS, () => import('./prices/prices.tsx'), 'PricesPage', isOperator),
  page(PLAN_PAGE, () => import('./prices/price-plan.tsx'), 'PricePlanPage', isOperator),
  page(GROUP_PAGE, () => import('./prices/price-group.tsx'), 'PriceGroupPage', isOperator),
  page(STOCK, () => import('./stock/stock.tsx'), 'StockPage', isOperator),
  page(STOCK_BATCHES, () => import('./stock/stock-batches.tsx'), 'StockBatchesPage', isOperator),
  page(STOCK_CODES, () => import('./stock/stock-codes.tsx'), 'StockCodesPage', isOperator),
  page(PRODUCTS, () => import('./products/products.tsx'), 'ProductsPage', isOperator),
  page(RULES, () => import('./products/sale-rules.tsx'), 'SaleRulesPage', isOperator),
  page(ADD_RULE, () => import('./products/sale-rule.tsx'), 'AddSaleRulePage', canOperate),
  page(RULE_PREVIEW, () => import('./products/sale-rule-preview.tsx'), 'RulePreviewPage', canOperate),
  page(RULE_PAGE, () => import('./products/sale-rule.tsx'), 'SaleRulePage', isOperator),
  page(SUPPLIERS, () => import('./suppliers/suppliers.tsx'), 'SuppliersPage', isOperator),
  page(ADD_SUPPLIER, () => import('./suppliers/add-supplier.tsx'), 'AddSupplierPage', isOperatorAdmin),
  page(SUPPLIER_REPORTS, () => import('./suppliers/supplier-reports.tsx'), 'SupplierReportsPage', isOperator),
  page(SUPPLIER_PAGE, () => import('./suppliers/supplier.tsx'), 'SupplierPage', isOperator),
  page('/explorer', () => import('./tenants/explorer/explorer.tsx'), 'ExplorerPage'),
  page('/debugger', () => import('./tenants/explorer/explorer.tsx'), 'ExplorerPage'),
  page('/notices', () => import('./alerts/alerts.tsx'), 'AlertsPage'),
  page('/adjustments', () => import('./wallet/adjustments.tsx'), 'AdjustmentsPage', isOperator),
  page('/top-up-requests', () => import('./wallet/top-up-requests.tsx'), 'TopUpRequestsPage'),
  page('/payment-settings', () => import('./wallet/payment-settings.tsx'), 'PaymentSettingsPage', isOperator),
  page('/test-mails', () => import('./esims/test-mails.tsx'), 'TestMailsPage', isOfDealer),
  page('/buy', () => import('./orders/buying/buy.tsx'), 'BuyPage'),
  page('/people', () => import('./people/people.tsx'), 'PeoplePage', isOperator),
  page('/settings', () => import('./operations/operator-settings.tsx'), 'OperatorSettingsPage', isOperator),
  page('/brand', () => import('./brands/operator-brand.tsx'), 'OperatorBrandPage', isOperator),
  page('/recovery', () => import('./operations/recovery.tsx'), 'RecoveryPage', isOperator),
  page('/cells', () => import('./cells.tsx'), 'CellsPage', isOperator),
  page('/audit', () => import('./operations/audit-log.tsx'), 'AuditPage', mayAudit),
  page('/account', () => import('./people/account/account.tsx'), 'AccountPage'),
  page('/design', () => import('./design/design-page.tsx'), 'DesignPage', isOperator),
  // Any other path.
  page('/$', () => import('./parts/page.tsx'), 'NotFound'),
]

/** The section of the documentation that explains each page, by the page's path. A test proves that it exists. */
export const PAGE_DOCS: Readonly<Record<string, string>> = {
  '/': 'console#setting-up-a-gateway',
  '/tenants': 'money#an-account',
  '/tenants/$tenantId/': 'money#an-account',
  '/tenants/$tenantId/credentials': 'console#secrets',
  '/tenants/$tenantId/settings': 'money#what-may-be-spent',
  '/tenants/$tenantId/wallet': 'money#your-statement',
  '/tenants/$tenantId/books': 'books#in-the-portal',
  '/tenants/$tenantId/prices': 'console#prices',
  '/tenants/$tenantId/people': 'console#who-may-do-what',
  '/tenants/$tenantId/brands': 'brands#brands-of-a-dealer',
  '/tenants/$tenantId/notices': 'console#e-mail',
  '/orders': 'console#orders-and-their-timeline',
  '/tenants/$tenantId/orders/$orderNo': 'console#orders-and-their-timeline',
  '/profiles': 'console#the-page-of-an-esim',
  '/tenants/$tenantId/profiles/$profileId': 'console#the-page-of-an-esim',
  '/webhooks': 'webhooks',
  '/webhooks/endpoint': 'webhooks',
  '/tenants/$tenantId/events/$notifyId': 'webhooks#find-out-what-is-wrong',
  '/catalogue': 'catalogue#packages',
  '/catalogue/import': 'catalogue#files',
  [PLANS]: 'prices',
  [GROUPS]: 'prices',
  [PLAN_PAGE]: 'prices',
  [GROUP_PAGE]: 'prices',
  '/add-package': 'catalogue#packages',
  '/packages/$packageCode': 'catalogue#packages',
  '/packages/$packageCode/prices': 'prices#which-price-decides',
  '/sales': 'figures',
  '/stock': 'suppliers#stock',
  '/stock/batches': 'suppliers#stock',
  '/stock/codes': 'suppliers#stock',
  [PRODUCTS]: 'wholesale-catalogues#catalogues',
  [RULES]: 'wholesale-catalogues#sale-rules',
  [ADD_RULE]: 'wholesale-catalogues#sale-rules',
  [RULE_PREVIEW]: 'wholesale-catalogues#preview-and-apply',
  [RULE_PAGE]: 'wholesale-catalogues#sale-rules',
  [SUPPLIERS]: 'suppliers',
  [ADD_SUPPLIER]: 'suppliers#kinds',
  [SUPPLIER_REPORTS]: 'reconciling',
  [SUPPLIER_PAGE]: 'suppliers',
  '/explorer': 'console#explorer-and-signature-debugger',
  '/debugger': 'signing#when-it-does-not-match',
  '/brand': 'brands',
  '/notices': 'console#e-mail',
  '/adjustments': 'money#a-correction',
  '/top-up-requests': 'portal#pay',
  '/payment-settings': 'portal#payments-and-statements',
  '/test-mails': 'testing#test-mode-in-the-portal',
  '/buy': 'portal#buy-esims',
  '/people': 'console#who-may-do-what',
  '/settings': 'configuration#settings-in-the-console',
  '/recovery': 'recovery#after-a-restore',
  '/cells': 'scaling#what-cells-share',
  '/audit': 'after-the-sale#audit-traces-and-retention',
  '/design': 'console',
  '/account': 'sign-in#ways-to-sign-in',
}
