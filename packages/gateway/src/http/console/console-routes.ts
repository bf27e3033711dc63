import { alertRoutes } from './alerts.ts'
import { brandRoutes } from './brands/brands.ts'
import { operatorBrandRoutes } from './brands/operator-brand.ts'
import { catalogueRoutes } from './catalogue.ts'
import { packageRoutes } from './catalogue-packages.ts'
import { cellRoutes } from './cells.ts'
import { esimActionRoutes } from './esims/esim-actions.ts'
import { esimLifeRoutes } from './esims/esim-life.ts'
import { topUpRoutes } from './esims/esim-top-ups.ts'
import { profileRoutes } from './esims/esims.ts'
import { testMailRoutes } from './esims/test-mails.ts'
import { travellerListRoutes } from './esims/traveller-lists.ts'
import { dashboardRoutes } from './home/dashboard.ts'
import { setupRoutes } from './home/guided-start.ts'
import { searchRoutes } from './home/search.ts'
import type { Route } from './kernel/route.ts'
import { auditRoutes } from './operations/audit-log.ts'
import { operatorSettingsRoutes } from './operations/operator-settings.ts'
import { recoveryRoutes } from './operations/recovery.ts'
import { trialDataRoutes } from './operations/trial-data.ts'
import { buyablePackageRoutes } from './orders/buyable-packages.ts'
import { orderActionRoutes } from './orders/order-actions.ts'
import { orderRoutes } from './orders/orders.ts'
import { placeOrderRoutes } from './orders/place-order.ts'
import { meRoutes } from './people/me.ts'
import { accountRoutes } from './people/own-account.ts'
import { passkeyRoutes } from './people/passkeys.ts'
import { peopleRoutes } from './people/people.ts'
import { providerRoutes } from './people/provider.ts'
import { savedViewRoutes } from './people/saved-views.ts'
import { secondFactorRoutes } from './people/second-factors.ts'
import { signInRoutes } from './people/sign-in.ts'
import { priceGroupRoutes } from './prices/price-groups.ts'
import { pricePlanRoutes } from './prices/price-plans.ts'
import { tenantPriceRoutes } from './prices/tenant-prices.ts'
import { exchangeRateRoutes } from './products/exchange-rates.ts'
import { supplierProductRoutes } from './products/products.ts'
import { saleRuleRoutes } from './products/sale-rules.ts'
import { salesRoutes } from './sales.ts'
import { stockRoutes } from './stock.ts'
import { stockBatchRoutes } from './stock-batches.ts'
import { supplierBalanceRoutes } from './suppliers/supplier-balances.ts'
import { supplierFigureRoutes } from './suppliers/supplier-figures.ts'
import { supplierReportRoutes } from './suppliers/supplier-reports.ts'
import { supplierVerificationRoutes } from './suppliers/supplier-verification.ts'
import { supplierRoutes } from './suppliers/suppliers.ts'
import { credentialRoutes } from './tenants/credentials.ts'
import { explorerRoutes } from './tenants/explorer.ts'
import { noteRoutes } from './tenants/notes.ts'
import { keyRoutes } from './tenants/restricted-keys.ts'
import { settingsRoutes } from './tenants/tenant-settings.ts'
import { tenantRoutes } from './tenants/tenants.ts'
import { twinRoutes } from './tenants/test-twins.ts'
import { adjustmentRoutes } from './wallet/adjustments.ts'
import { booksRoutes } from './wallet/books.ts'
import { paymentRoutes } from './wallet/payments.ts'
import { topUpRequestRoutes } from './wallet/top-up-requests.ts'
import { walletRoutes } from './wallet/wallet.ts'
import { replayRoutes } from './webhook-replays.ts'
import { webhookRoutes } from './webhooks.ts'

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
  ...operatorBrandRoutes,
  ...brandRoutes,
  ...searchRoutes,
  ...tenantRoutes,
  ...credentialRoutes,
  ...keyRoutes,
  ...twinRoutes,
  ...testMailRoutes,
  ...settingsRoutes,
  ...walletRoutes,
  ...booksRoutes,
  ...adjustmentRoutes,
  ...topUpRequestRoutes,
  ...paymentRoutes,
  ...dashboardRoutes,
  ...salesRoutes,
  ...cellRoutes,
  ...recoveryRoutes,
  ...setupRoutes,
  ...trialDataRoutes,
  ...noteRoutes,
  ...orderRoutes,
  ...orderActionRoutes,
  ...buyablePackageRoutes,
  ...placeOrderRoutes,
  ...profileRoutes,
  ...travellerListRoutes,
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
