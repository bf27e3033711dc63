import { accountRoutes } from './account.ts'
import { adjustmentRoutes } from './adjustments.ts'
import { auditRoutes } from './audit.ts'
import { catalogueRoutes } from './catalogue.ts'
import { credentialRoutes } from './credentials.ts'
import { dashboardRoutes } from './dashboard.ts'
import { explorerRoutes } from './explorer.ts'
import { meRoutes } from './me.ts'
import { noticeRoutes } from './notices.ts'
import { orderActionRoutes } from './order-actions.ts'
import { orderRoutes } from './orders.ts'
import { peopleRoutes } from './people.ts'
import { priceGroupRoutes } from './price-groups.ts'
import { pricePlanRoutes } from './price-plans.ts'
import { profileRoutes } from './profiles.ts'
import { replayRoutes } from './replays.ts'
import type { Route } from './route.ts'
import { searchRoutes } from './search.ts'
import { settingsRoutes } from './settings.ts'
import { signInRoutes } from './sign-in.ts'
import { stockRoutes } from './stock.ts'
import { supplierRoutes } from './suppliers.ts'
import { tenantPriceRoutes } from './tenant-prices.ts'
import { tenantRoutes } from './tenants.ts'
import { walletRoutes } from './wallet.ts'
import { webhookRoutes } from './webhooks.ts'

/** Every route of the console, in one table. A test walks it with every role. */
export const routes: readonly Route[] = [
  ...signInRoutes,
  ...meRoutes,
  ...accountRoutes,
  ...peopleRoutes,
  ...searchRoutes,
  ...tenantRoutes,
  ...credentialRoutes,
  ...settingsRoutes,
  ...walletRoutes,
  ...adjustmentRoutes,
  ...dashboardRoutes,
  ...orderRoutes,
  ...orderActionRoutes,
  ...profileRoutes,
  ...webhookRoutes,
  ...replayRoutes,
  ...catalogueRoutes,
  ...pricePlanRoutes,
  ...priceGroupRoutes,
  ...tenantPriceRoutes,
  ...stockRoutes,
  ...supplierRoutes,
  ...explorerRoutes,
  ...noticeRoutes,
  ...auditRoutes,
]
