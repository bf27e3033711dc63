import type { Me } from '@dealer-esim/gateway/console-api/routes/account/me.ts'
import {
  IconAdjustments,
  IconBell,
  IconBuilding,
  IconBuildingWarehouse,
  IconDashboard,
  IconDeviceMobile,
  IconFlask,
  IconHistory,
  IconKey,
  IconPackage,
  IconShoppingCart,
  IconTruckDelivery,
  IconUsers,
  IconWallet,
  IconWebhook,
} from '@tabler/icons-react'
import { isOperator } from '../session/session.ts'
import { t } from '../strings/strings.ts'

export interface NavigationItem {
  to: string
  label: string
  Icon: typeof IconUsers
}

/** The navigation of a person. A dealer's people see their own tenant's pages. */
export function navigationFor(me: Me): NavigationItem[] {
  return isOperator(me) ? operatorItems : dealerItems(me.tenant?.tenantId ?? '')
}

const operatorItems: NavigationItem[] = [
  { to: '/', label: t.dashboard.title, Icon: IconDashboard },
  { to: '/tenants', label: t.dealers.title, Icon: IconBuilding },
  { to: '/orders', label: t.orders.title, Icon: IconShoppingCart },
  { to: '/profiles', label: t.esims.title, Icon: IconDeviceMobile },
  { to: '/catalogue', label: t.catalogue.title, Icon: IconPackage },
  { to: '/stock', label: t.stock.title, Icon: IconBuildingWarehouse },
  { to: '/suppliers', label: t.suppliers.title, Icon: IconTruckDelivery },
  { to: '/webhooks', label: t.webhooks.title, Icon: IconWebhook },
  { to: '/explorer', label: t.explorer.title, Icon: IconFlask },
  { to: '/notices', label: t.alerts.title, Icon: IconBell },
  { to: '/people', label: t.people.title, Icon: IconUsers },
  { to: '/audit', label: t.audit.title, Icon: IconHistory },
]

function dealerItems(tenantId: string): NavigationItem[] {
  const own = `/tenants/${tenantId}`
  return [
    { to: '/', label: t.dashboard.title, Icon: IconDashboard },
    { to: '/orders', label: t.orders.title, Icon: IconShoppingCart },
    { to: '/profiles', label: t.esims.title, Icon: IconDeviceMobile },
    { to: `${own}/wallet`, label: t.wallet.title, Icon: IconWallet },
    { to: `${own}/prices`, label: t.prices.title, Icon: IconPackage },
    { to: `${own}/credentials`, label: t.credentials.title, Icon: IconKey },
    { to: `${own}/settings`, label: t.settings.title, Icon: IconAdjustments },
    { to: '/webhooks', label: t.webhooks.title, Icon: IconWebhook },
    { to: '/explorer', label: t.explorer.title, Icon: IconFlask },
    { to: '/notices', label: t.alerts.title, Icon: IconBell },
    { to: `${own}/people`, label: t.people.title, Icon: IconUsers },
    { to: '/audit', label: t.audit.title, Icon: IconHistory },
  ]
}
