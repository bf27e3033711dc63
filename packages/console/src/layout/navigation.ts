import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import {
  IconAdjustments,
  IconBell,
  IconBuilding,
  IconBuildingWarehouse,
  IconCalculator,
  IconCash,
  IconChartBar,
  IconChartDots3,
  IconDashboard,
  IconDeviceMobile,
  IconFileInvoice,
  IconFlask,
  IconHistory,
  IconKey,
  IconListDetails,
  IconPackage,
  IconScale,
  IconSettings,
  IconShoppingBag,
  IconShoppingCart,
  IconTag,
  IconTruckDelivery,
  IconUsers,
  IconWallet,
  IconWebhook,
} from '@tabler/icons-react'
import type { ComponentType } from 'react'
import { isOperator, mayAudit } from '#people/sign-in/session.ts'
import { PLANS } from '#prices/price-paths.ts'
import { PRODUCTS, RULES } from '#products/product-paths.ts'
import { t } from '#strings/strings.ts'
import { OpenRequests } from '#wallet/open-requests.tsx'

export interface NavigationItem {
  to: string
  label: string
  Icon: typeof IconUsers
  /** Shows how much is waiting on the page. */
  Badge?: ComponentType
}

export interface NavigationGroup {
  /** undefined: its items need no heading. */
  label?: string
  items: NavigationItem[]
}

/** Every page in the navigation of a person. */
export function navigationFor(me: Me): NavigationItem[] {
  return navigationGroups(me).flatMap((group) => group.items)
}

/** The navigation of a person. A dealer's people see their own tenant's pages. */
export function navigationGroups(me: Me): NavigationGroup[] {
  return isOperator(me) ? operatorGroups(me) : dealerGroups(me, me.tenant?.tenantId ?? '')
}

const { groups } = t.navigation

const DASHBOARD = { items: [{ to: '/', label: t.dashboard.title, Icon: IconDashboard }] }
const ORDERS = { to: '/orders', label: t.orders.title, Icon: IconShoppingCart }
const ESIMS = { to: '/profiles', label: t.esims.title, Icon: IconDeviceMobile }
const WEBHOOKS = { to: '/webhooks', label: t.webhooks.title, Icon: IconWebhook }
const EXPLORER = { to: '/explorer', label: t.explorer.title, Icon: IconFlask }
const ALERTS = { to: '/notices', label: t.alerts.title, Icon: IconBell }
const TOP_UP_REQUESTS = { to: '/top-up-requests', label: t.topUpRequests.title, Icon: IconCash }
const AUDIT = { to: '/audit', label: t.audit.title, Icon: IconHistory }

const operatorGroups = (me: Me): NavigationGroup[] => [
  DASHBOARD,
  {
    label: groups.sales,
    items: [
      { to: '/tenants', label: t.dealers.title, Icon: IconBuilding },
      ORDERS,
      ESIMS,
      { to: '/sales', label: t.sales.title, Icon: IconChartBar },
      { to: '/adjustments', label: t.wallet.adjustments, Icon: IconScale },
      { ...TOP_UP_REQUESTS, Badge: OpenRequests },
    ],
  },
  {
    label: groups.supply,
    items: [
      { to: '/catalogue', label: t.catalogue.title, Icon: IconPackage },
      { to: PLANS, label: t.prices.title, Icon: IconTag },
      { to: '/stock', label: t.stock.title, Icon: IconBuildingWarehouse },
      { to: '/suppliers', label: t.suppliers.title, Icon: IconTruckDelivery },
      { to: PRODUCTS, label: t.products.title, Icon: IconListDetails },
      { to: RULES, label: t.saleRules.title, Icon: IconCalculator },
    ],
  },
  { label: groups.integration, items: [WEBHOOKS, EXPLORER] },
  {
    label: groups.administration,
    items: [
      ALERTS,
      { to: '/people', label: t.people.title, Icon: IconUsers },
      ...(me.hasCells ? [{ to: '/cells', label: t.cells.title, Icon: IconChartDots3 }] : []),
      { to: '/settings', label: t.operatorSettings.title, Icon: IconSettings },
      { to: '/payment-settings', label: t.payments.title, Icon: IconFileInvoice },
      AUDIT,
    ],
  },
]

function dealerGroups(me: Me, tenantId: string): NavigationGroup[] {
  const own = `/tenants/${tenantId}`
  return [
    DASHBOARD,
    {
      label: groups.sales,
      items: [
        { to: '/buy', label: t.portal.title, Icon: IconShoppingBag },
        ORDERS,
        ESIMS,
        { to: `${own}/wallet`, label: t.wallet.title, Icon: IconWallet },
        TOP_UP_REQUESTS,
        { to: `${own}/prices`, label: t.prices.title, Icon: IconTag },
      ],
    },
    {
      label: groups.integration,
      items: [
        { to: `${own}/credentials`, label: t.credentials.title, Icon: IconKey },
        { to: `${own}/settings`, label: t.settings.title, Icon: IconAdjustments },
        WEBHOOKS,
        EXPLORER,
      ],
    },
    {
      label: groups.administration,
      items: [
        ALERTS,
        { to: `${own}/people`, label: t.people.title, Icon: IconUsers },
        ...(mayAudit(me) ? [AUDIT] : []),
      ],
    },
  ]
}
