import { makeIccid } from '@dealer-esim/contract'
import { waitUntil } from '@dealer-esim/gateway/test/harness/shop.ts'
import { startReceiver } from '@dealer-esim/gateway/test/webhooks/receiver.ts'
import type { Page } from 'playwright-core'
import { api, type ConsoleTestbed, inviteAndSignIn, PASSWORD, signInAsOperator } from './console-testbed.ts'

/** A gateway with data on every page, and the pages of two signed-in people. */
export interface Demo {
  /** A page signed in as an operator who may see everything. */
  operator: Page
  /** A page signed in as the demo dealer's administrator. */
  dealer: Page
  tenantId: string
  orderNo: string
  /** The number of an order under review. */
  reviewedOrderNo: string
  profileId: string
  notifyId: string
  /** The token of an invitation link. */
  token: string
  close(): void
}

/** Signs both people in and creates the data. */
export async function createDemo(testbed: ConsoleTestbed): Promise<Demo> {
  const operator = await testbed.open()
  await signInAsOperator(testbed, operator)
  const call = <Answer>(path: string, body?: object) => api<Answer>(testbed, operator, path, body)
  const tenantId = (await call<{ tenants: { tenantId: string }[] }>('/tenants')).tenants[0]!.tenantId
  const receiver = await startReceiver((_, response) => response.end('{"received":true}'))
  await testbed.client(testbed.access).setWebhook({ callbackUrl: receiver.url })
  const packageCode = await placeOrders(testbed)
  const dealer = await inviteAndSignIn(
    { testbed, page: operator },
    { email: 'ada@dealer.test', role: 'DEALER_ADMIN', tenantId },
  )
  const invited = { email: 'grace@operator.test', name: 'Grace', role: 'OPERATOR_STAFF', tenantId: null }
  const { link } = await call<{ link: string }>('/people', { ...invited, password: PASSWORD })
  await call('/tenants', { clientName: 'Northern Lights Travel', currencyCode: 'EUR' })
  await call(`/tenants/${tenantId}/adjustments`, { amount: -5_000, reference: 'fee 1', reason: 'a fee of the bank' })
  const asked = { amount: 5_000_000, reference: 'INV-2026-17', receipt: { fileName: 'receipt.png', content: PNG } }
  await api(testbed, dealer, `/tenants/${tenantId}/top-up-requests`, asked)
  await call('/account/tokens', { name: 'Monthly statements', scope: 'READ', days: 90, password: PASSWORD })
  await call('/stock/low', { supplier: 'sandbox', productCode: 'SANDBOX_OUT_OF_STOCK', lowAt: 5 })
  await setPrices(testbed, tenantId, packageCode)
  await importStock(testbed, operator)
  await waitForOrders(testbed, operator)
  await waitForSales(testbed, operator, 12)
  const { orders } = await call<{ orders: { orderNo: string; transactionId: string }[] }>('/orders')
  const { profiles } = await call<{ profiles: { profileId: string }[] }>('/profiles')
  const notifyId = await deliveredEvent(testbed, operator)
  await call(`/tenants/${tenantId}/replays`, {
    ...{ from: new Date(Date.now() - 3_600_000).toISOString(), outcomes: ['DELIVERED'], notifyTypes: ['ORDER_PAID'] },
  })
  return {
    operator,
    dealer,
    tenantId,
    orderNo: orders.find((order) => order.transactionId === 'sandbox_partial')!.orderNo,
    reviewedOrderNo: orders.find((order) => order.transactionId === 'sandbox_unknown')!.orderNo,
    profileId: profiles[0]!.profileId,
    notifyId,
    token: new URL(link).hash.slice(1),
    close: () => void receiver.close(),
  }
}

/** The first bytes of a PNG file. */
const PNG = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')

/** Returns the code of a package that was ordered. */
async function placeOrders(testbed: ConsoleTestbed): Promise<string> {
  const client = testbed.client(testbed.access)
  const { packageList } = await client.packages({ pageSize: 12 })
  for (const [index, { packageCode }] of packageList.entries())
    await client.order({ transactionId: `TRIP-${index + 1}`, packageInfoList: [{ packageCode, count: 1 }] })
  for (const packageCode of ['SANDBOX_REFUSED', 'SANDBOX_PARTIAL', 'SANDBOX_UNKNOWN'])
    await client.order({ transactionId: packageCode.toLowerCase(), packageInfoList: [{ packageCode, count: 2 }] })
  return packageList[0]!.packageCode
}

async function setPrices(testbed: ConsoleTestbed, tenantId: string, packageCode: string): Promise<void> {
  await testbed.admin('price', 'plan', 'create', 'GOLD', '--percent', '-10')
  await testbed.admin('price', 'group', 'create', 'PARTNERS', '--plan', 'GOLD')
  await testbed.admin('price', 'group', 'add', 'PARTNERS', tenantId)
  await testbed.admin('rule', 'set', 'EUROPE', '--currency', 'EUR', '--percent', '25', '--round', '.99')
  await testbed.admin('price', 'set', packageCode, '1.23', '--tenant', tenantId)
}

/** A batch that expires soon, and a package whose product is sold out. */
async function importStock(testbed: ConsoleTestbed, operator: Page): Promise<void> {
  await testbed.admin('supplier', 'add', 'cards', '--type', 'stock')
  await testbed.admin('package', 'set', 'FR_1_7', '--supplier', 'cards:FR1')
  const soon = new Date(Date.now() + 12 * 86_400_000).toISOString().slice(0, 10)
  const rows = Array.from({ length: 40 }, (_, n) => `${makeIccid('89001234', n)},LPA:1$smdp.example.com$D-${n}`)
  const query = `supplier=cards&productCode=JP1&batchName=Spring+delivery&expiresAt=${soon}T00:00:00.000Z`
  const url = `${testbed.access.consoleUrl}/api/stock/import?${query}`
  const headers = { origin: new URL(url).origin, 'content-type': 'text/csv' }
  await operator.request.post(url, { headers, data: `iccid,ac\n${rows.join('\n')}\n` })
}

const WAIT_MAX_MS = 60_000
const POLL_MS = 100

/** Waits until every order is delivered, failed or under review. */
async function waitForOrders(testbed: ConsoleTestbed, page: Page): Promise<void> {
  await waitUntil(
    async () => {
      const { orders } = await api<{ orders: { orderStatus: string }[] }>(testbed, page, '/orders')
      return orders.every((order) => !['PAID', 'ALLOCATING'].includes(order.orderStatus))
    },
    WAIT_MAX_MS,
    POLL_MS,
  )
}

/**
 * Waits until the daily sums contain so many eSIMs of the sandbox. After a pass of 2 s, which a busy machine may need, the next
 * one starts a minute later.
 */
export async function waitForSales(testbed: ConsoleTestbed, page: Page, sold: number): Promise<void> {
  await waitUntil(
    async () => {
      const { rows } = await api<{ rows: { key: string; items: number }[] }>(testbed, page, '/sales?by=supplier')
      return rows.some(({ key, items }) => key === 'sandbox' && items >= sold)
    },
    5 * WAIT_MAX_MS,
    POLL_MS,
  )
}

/** Waits for a delivered event, which takes longer than the orders, and returns its notifyId. */
function deliveredEvent(testbed: ConsoleTestbed, page: Page): Promise<string> {
  return waitUntil(
    async () => {
      const path = '/events?state=DELIVERED'
      const { events } = await api<{ events: { notifyId: string }[] }>(testbed, page, path)
      return events[0]?.notifyId
    },
    WAIT_MAX_MS,
    POLL_MS,
  )
}
