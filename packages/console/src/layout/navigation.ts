import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import {
  IconBuildingStore,
  IconCode,
  IconCreditCard,
  IconDeviceMobile,
  IconHome,
  IconMail,
  IconReceipt,
  IconSettings,
  IconShoppingBag,
  IconTag,
  IconTruckDelivery,
  IconUsers,
  IconWallet,
} from '@tabler/icons-react'
import type { ComponentType } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { isOperator, mayAudit, usesApi } from '#people/sign-in/session.ts'
import { PLANS } from '#prices/price-paths.ts'
import { PRODUCTS, RULES } from '#products/product-paths.ts'
import { t } from '#strings/strings.ts'
import { OpenRequests } from '#wallet/open-requests.tsx'

interface NavigationPage {
  to: string
  label: string
}

export interface NavigationItem extends NavigationPage {
  Icon: typeof IconUsers
  /** The pages of the entry, as tabs. The first is its own page. */
  tabs?: NavigationPage[]
  /** Shows how much is waiting on the entry's pages. */
  Badge?: ComponentType
  /** Its tabs keep the filters: all are about one dealer. */
  keepFilters?: boolean
  /** Placed at the bottom. */
  isLast?: boolean
}

export const ALERTS_PATH = '/notices'
const TEST_MAILS = '/test-mails'

/** Every page in a person's navigation, plus the alerts page, which the bell opens. */
export function navigationFor(me: Me): NavigationPage[] {
  const pages = navigationItems(me).flatMap(({ to, label, tabs }) => tabs ?? [{ to, label }])
  return [...pages, { to: ALERTS_PATH, label: t.alerts.title }]
}

/** A person's navigation, grouped by task. A dealer's people see their own tenant's pages. */
export function navigationItems(me: Me): NavigationItem[] {
  if (isOperator(me)) return operatorItems(me)
  return (isTestMode ? testItems : dealerItems)(me, me.tenant?.tenantId ?? '')
}

/** The entry that a page belongs to. */
export function itemOf(path: string, items: NavigationItem[]): NavigationItem | undefined {
  const at = listOf(path)
  const pages = items.flatMap((item) => [item, ...(item.tabs ?? [])].map(({ to }) => ({ to, item })))
  const fitting = pages.filter(({ to }) => at === to || (to !== '/' && at.startsWith(`${to}/`)))
  return fitting.sort((a, b) => b.to.length - a.to.length)[0]?.item
}

/** Records whose path does not begin with that of their list. */
const LISTS: [record: RegExp, list: string][] = [
  [/^\/tenants\/[^/]+\/orders\//, '/orders'],
  [/^\/tenants\/[^/]+\/profiles\//, '/profiles'],
  [/^\/tenants\/[^/]+\/events\//, '/webhooks'],
  [/^\/(packages\/|add-package$)/, '/catalogue'],
  [/^\/(add-sale-rule|sale-rules-preview)$/, RULES],
  [/^\/(add-supplier|supplier-reports)$/, '/suppliers'],
]

function listOf(path: string): string {
  return LISTS.find(([record]) => record.test(path))?.[1] ?? path
}

const { entries } = t.navigation

const HOME = { to: '/', label: t.dashboard.title, Icon: IconHome }
const BUY = { to: '/buy', label: t.portal.title, Icon: IconShoppingBag }
const ORDERS = { to: '/orders', label: t.orders.title, Icon: IconReceipt }
const ESIMS = { to: '/profiles', label: t.esims.title, Icon: IconDeviceMobile }
const WEBHOOKS = { to: '/webhooks', label: t.webhooks.title }
const ENDPOINT = { to: '/webhooks/endpoint', label: t.endpoint.title }
const EXPLORER = { to: '/explorer', label: t.explorer.title }
const DEBUGGER = { to: '/debugger', label: t.debugger.title }
const TOP_UP_REQUESTS = { to: '/top-up-requests', label: t.topUpRequests.title }
const AUDIT = { to: '/audit', label: t.audit.title }

function entry(label: string, Icon: typeof IconHome, tabs: NavigationPage[]): NavigationItem {
  return { to: tabs[0]?.to ?? '/', label, Icon, tabs }
}

const operatorItems = (me: Me): NavigationItem[] => [
  HOME,
  ORDERS,
  ESIMS,
  { to: '/tenants', label: t.dealers.title, Icon: IconBuildingStore },
  entry(entries.products, IconTag, [
    { to: '/catalogue', label: t.catalogue.title },
    { to: PLANS, label: t.prices.title },
    { to: RULES, label: t.saleRules.title },
    { to: '/stock', label: t.stock.title },
    { to: PRODUCTS, label: t.products.title },
  ]),
  { to: '/suppliers', label: t.suppliers.title, Icon: IconTruckDelivery },
  {
    ...entry(entries.money, IconCreditCard, [
      { to: '/sales', label: t.sales.title },
      TOP_UP_REQUESTS,
      { to: '/adjustments', label: t.wallet.adjustments },
      { to: '/payment-settings', label: t.payments.title },
    ]),
    Badge: OpenRequests,
  },
  { ...entry(entries.developers, IconCode, [WEBHOOKS, ENDPOINT, EXPLORER, DEBUGGER]), keepFilters: true },
  {
    ...entry(t.operatorSettings.title, IconSettings, [
      { to: '/settings', label: t.operatorSettings.title },
      { to: '/brand', label: t.brands.title },
      { to: '/people', label: t.people.title },
      AUDIT,
      { to: '/recovery', label: t.recovery.title },
      ...(me.hasCells ? [{ to: '/cells', label: t.cells.title }] : []),
    ]),
    isLast: true,
  },
]

/** What a test twin has: no people and no payments of its own, and the brands of its dealer to look at. */
function testItems(me: Me, tenantId: string): NavigationItem[] {
  const own = `/tenants/${tenantId}`
  return [
    HOME,
    BUY,
    ORDERS,
    ESIMS,
    { to: TEST_MAILS, label: t.testMails.title, Icon: IconMail },
    entry(t.wallet.title, IconWallet, [
      { to: `${own}/wallet`, label: t.wallet.title },
      { to: `${own}/books`, label: t.books.title },
    ]),
    { to: `${own}/prices`, label: t.prices.title, Icon: IconTag },
    ...developers(me, own),
    {
      ...entry(t.settings.title, IconSettings, [
        { to: `${own}/settings`, label: t.settings.title },
        { to: `${own}/brands`, label: t.brands.dealerTitle },
        ...(mayAudit(me) ? [AUDIT] : []),
      ]),
      isLast: true,
    },
  ]
}

function developers(me: Me, own: string): NavigationItem[] {
  if (!usesApi(me)) return []
  const credentials = { to: `${own}/credentials`, label: t.credentials.title }
  return [entry(entries.developers, IconCode, [credentials, WEBHOOKS, ENDPOINT, EXPLORER, DEBUGGER])]
}

function dealerItems(me: Me, tenantId: string): NavigationItem[] {
  const own = `/tenants/${tenantId}`
  return [
    HOME,
    BUY,
    ORDERS,
    ESIMS,
    entry(t.wallet.title, IconWallet, [
      { to: `${own}/wallet`, label: t.wallet.title },
      TOP_UP_REQUESTS,
      { to: `${own}/books`, label: t.books.title },
    ]),
    { to: `${own}/prices`, label: t.prices.title, Icon: IconTag },
    { to: `${own}/people`, label: t.people.title, Icon: IconUsers },
    ...developers(me, own),
    {
      ...entry(t.settings.title, IconSettings, [
        { to: `${own}/settings`, label: t.settings.title },
        { to: `${own}/brands`, label: t.brands.dealerTitle },
        ...(mayAudit(me) ? [AUDIT] : []),
      ]),
      isLast: true,
    },
  ]
}
