import type { Route } from './kernel/route.ts'
import { accountRoutes } from './routes/account/account.ts'
import { meRoutes } from './routes/account/me.ts'
import { passkeyRoutes } from './routes/account/passkeys.ts'
import { providerRoutes } from './routes/account/provider.ts'
import { savedViewRoutes } from './routes/account/saved-views.ts'
import { signInRoutes } from './routes/account/sign-in.ts'
import { auditRoutes } from './routes/administration/audit.ts'
import { cellRoutes } from './routes/administration/cells.ts'
import { operatorSettingsRoutes } from './routes/administration/operator-settings.ts'
import { peopleRoutes } from './routes/administration/people.ts'
import { secondFactorRoutes } from './routes/administration/second-factors.ts'
import { settingsRoutes } from './routes/administration/settings.ts'
import { catalogueRoutes } from './routes/catalogue/catalogue.ts'
import { exchangeRateRoutes } from './routes/catalogue/exchange-rates.ts'
import { packageRoutes } from './routes/catalogue/package.ts'
import { saleRuleRoutes } from './routes/catalogue/sale-rules.ts'
import { stockRoutes } from './routes/catalogue/stock.ts'
import { stockBatchRoutes } from './routes/catalogue/stock-batches.ts'
import { supplierBalanceRoutes } from './routes/catalogue/supplier-balances.ts'
import { supplierFigureRoutes } from './routes/catalogue/supplier-figures.ts'
import { supplierProductRoutes } from './routes/catalogue/supplier-products.ts'
import { supplierReportRoutes } from './routes/catalogue/supplier-reports.ts'
import { supplierVerificationRoutes } from './routes/catalogue/supplier-verification.ts'
import { supplierRoutes } from './routes/catalogue/suppliers.ts'
import { esimActionRoutes } from './routes/orders/esim-actions.ts'
import { esimLifeRoutes } from './routes/orders/esim-life.ts'
import { orderActionRoutes } from './routes/orders/order-actions.ts'
import { orderRoutes } from './routes/orders/orders.ts'
import { placeOrderRoutes } from './routes/orders/place-order.ts'
import { profileRoutes } from './routes/orders/profiles.ts'
import { topUpRoutes } from './routes/orders/top-ups.ts'
import { alertRoutes } from './routes/overview/alerts.ts'
import { dashboardRoutes } from './routes/overview/dashboard.ts'
import { salesRoutes } from './routes/overview/sales.ts'
import { searchRoutes } from './routes/overview/search.ts'
import { setupRoutes } from './routes/overview/setup.ts'
import { trialDataRoutes } from './routes/overview/trial-data.ts'
import { priceGroupRoutes } from './routes/prices/price-groups.ts'
import { pricePlanRoutes } from './routes/prices/price-plans.ts'
import { tenantPriceRoutes } from './routes/prices/tenant-prices.ts'
import { adjustmentRoutes } from './routes/tenants/adjustments.ts'
import { credentialRoutes } from './routes/tenants/credentials.ts'
import { explorerRoutes } from './routes/tenants/explorer.ts'
import { noteRoutes } from './routes/tenants/notes.ts'
import { paymentRoutes } from './routes/tenants/payments.ts'
import { replayRoutes } from './routes/tenants/replays.ts'
import { tenantRoutes } from './routes/tenants/tenants.ts'
import { topUpRequestRoutes } from './routes/tenants/top-up-requests.ts'
import { walletRoutes } from './routes/tenants/wallet.ts'
import { webhookRoutes } from './routes/tenants/webhooks.ts'

/** Every route of the console API. A test calls each with every role. */
export const routes: readonly Route[] = [
  ...signInRoutes,
  ...passkeyRoutes,
  ...providerRoutes,
  ...meRoutes,
  ...accountRoutes,
  ...savedViewRoutes,
  ...peopleRoutes,
  ...secondFactorRoutes,
  ...operatorSettingsRoutes,
  ...searchRoutes,
  ...tenantRoutes,
  ...credentialRoutes,
  ...settingsRoutes,
  ...walletRoutes,
  ...adjustmentRoutes,
  ...topUpRequestRoutes,
  ...paymentRoutes,
  ...dashboardRoutes,
  ...salesRoutes,
  ...cellRoutes,
  ...setupRoutes,
  ...trialDataRoutes,
  ...noteRoutes,
  ...orderRoutes,
  ...orderActionRoutes,
  ...placeOrderRoutes,
  ...profileRoutes,
  ...esimActionRoutes,
  ...esimLifeRoutes,
  ...topUpRoutes,
  ...webhookRoutes,
  ...replayRoutes,
  ...catalogueRoutes,
  ...packageRoutes,
  ...pricePlanRoutes,
  ...priceGroupRoutes,
  ...tenantPriceRoutes,
  ...stockRoutes,
  ...stockBatchRoutes,
  ...supplierRoutes,
  ...supplierBalanceRoutes,
  ...supplierFigureRoutes,
  ...supplierReportRoutes,
  ...supplierVerificationRoutes,
  ...supplierProductRoutes,
  ...saleRuleRoutes,
  ...exchangeRateRoutes,
  ...explorerRoutes,
  ...alertRoutes,
  ...auditRoutes,
]
