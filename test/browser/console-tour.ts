import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { type ConsoleWorld, enterAsOperator, go } from './console-world.ts'

/** A page of the console and the name that its pictures get. */
export interface Stop {
  name: string
  path: string
  /** Brings the page into the state that is worth seeing. */
  act?(page: Page): Promise<void>
}

export interface Tour {
  /** Where somebody who may see everything is signed in. */
  page: Page
  stops: Stop[]
  close(): void
}

/** Signs in, fills the demo tenant with things to see, and says where every page is. */
export async function prepareTour(world: ConsoleWorld): Promise<Tour> {
  const receiver = await startReceiver()
  const client = world.client(world.access)
  await client.setWebhook({ callbackUrl: receiver.url })
  const { packageList } = await client.packages({ pageSize: 12 })
  for (const [index, { packageCode }] of packageList.entries())
    await client.order({ transactionId: `TRIP-${index + 1}`, packageInfoList: [{ packageCode, count: 1 }] })
  for (const packageCode of ['SANDBOX_REFUSED', 'SANDBOX_PARTIAL', 'SANDBOX_UNKNOWN'])
    await client.order({ transactionId: packageCode.toLowerCase(), packageInfoList: [{ packageCode, count: 2 }] })
  const page = await world.open('/', { viewport: { width: 1280, height: 860 } })
  await enterAsOperator(world, page)
  const api = async <Answer>(path: string) =>
    (await (await page.request.get(`${world.access.consoleUrl}/api${path}`)).json()) as Answer
  const { tenants } = await api<{ tenants: { tenantId: string }[] }>('/tenants')
  const tenant = `/tenants/${tenants[0]!.tenantId}`
  await world.admin('price', 'plan', 'create', 'GOLD', '--percent', '-10')
  await world.admin('price', 'group', 'create', 'PARTNERS', '--plan', 'GOLD')
  await world.admin('price', 'group', 'add', 'PARTNERS', tenants[0]!.tenantId)
  await world.admin('price', 'set', packageList[0]!.packageCode, '1.23', '--tenant', tenants[0]!.tenantId)
  const { orders } = await settled(() =>
    api<{ orders: { orderNo: string; orderStatus: string; transactionId: string }[] }>('/orders'),
  )
  const orderNo = orders.find((order) => order.transactionId === 'sandbox_partial')!.orderNo
  const { profiles } = await api<{ profiles: { profileId: string }[] }>('/profiles')
  const { events } = await api<{ events: { notifyId: string }[] }>('/events?state=DELIVERED')
  const stops: Stop[] = [
    { name: 'dashboard', path: '/' },
    { name: 'dealers', path: '/tenants' },
    { name: 'dealer', path: tenant },
    { name: 'credentials', path: `${tenant}/credentials` },
    { name: 'settings', path: `${tenant}/settings` },
    { name: 'wallet', path: `${tenant}/wallet` },
    { name: 'dealer-prices', path: `${tenant}/prices` },
    { name: 'dealer-people', path: `${tenant}/people` },
    { name: 'dealer-notices', path: `${tenant}/notices` },
    { name: 'orders', path: '/orders' },
    { name: 'order', path: `${tenant}/orders/${orderNo}` },
    { name: 'esims', path: '/profiles' },
    { name: 'esim', path: `${tenant}/profiles/${profiles[0]!.profileId}` },
    { name: 'catalogue', path: '/catalogue' },
    { name: 'catalogue-import', path: '/catalogue/import' },
    { name: 'prices', path: '/catalogue/prices' },
    { name: 'price-groups', path: '/catalogue/prices/groups' },
    { name: 'price-plan', path: '/catalogue/prices/plans/GOLD' },
    { name: 'price-group', path: '/catalogue/prices/groups/PARTNERS' },
    { name: 'stock', path: '/stock' },
    { name: 'suppliers', path: '/suppliers' },
    { name: 'webhooks', path: `/webhooks?tenantId=${tenants[0]!.tenantId}` },
    { name: 'event', path: `${tenant}/events/${events[0]!.notifyId}` },
    { name: 'explorer', path: `/explorer?tenantId=${tenants[0]!.tenantId}`, act: (at) => explore(world, at) },
    { name: 'debugger', path: `/debugger?tenantId=${tenants[0]!.tenantId}` },
    { name: 'notices', path: '/notices' },
    { name: 'adjustments', path: '/adjustments' },
    { name: 'people', path: '/people' },
    { name: 'audit', path: '/audit' },
    { name: 'account', path: '/account' },
    { name: 'not-found', path: '/nowhere' },
  ]
  return { page, stops, close: () => void receiver.server.close() }
}

/** Goes to a stop and waits until nothing loads or moves any more. */
export async function visit(world: ConsoleWorld, page: Page, stop: Stop): Promise<void> {
  await go(world, page, stop.path)
  await settle(page)
  if (!stop.act) return
  await stop.act(page)
  await settle(page)
}

/** A picture of a loader or a transition shows neither state, and contrast is judged wrongly in it. */
async function settle(page: Page): Promise<void> {
  await page.evaluate(NOTHING_LOADS)
  await transitionsEnd(page)
}

/** After a change that loads nothing: of the window's size, of the colour scheme. */
export async function transitionsEnd(page: Page): Promise<void> {
  await page.evaluate(TRANSITIONS_END)
}

// Between a page's code and its data there is a moment in which nothing loads: so it has to last a little.
const NOTHING_LOADS = `new Promise((resolve) => {
  let since = performance.now()
  new MutationObserver(() => (since = performance.now())).observe(document.body, { subtree: true, childList: true })
  const look = () => {
    if (document.querySelector('[aria-busy=true], [role=status][aria-label], [data-loading]')) since = performance.now()
    if (performance.now() - since > 60) resolve()
    else setTimeout(look, 20)
  }
  look()
})`

// They begin with the frame after the change.
const TRANSITIONS_END = `new Promise(requestAnimationFrame)
  .then(() => new Promise(requestAnimationFrame))
  .then(() => Promise.all(document.getAnimations()
    .filter((one) => one.effect?.getComputedTiming().iterations !== Infinity)
    .map((one) => one.finished.catch(() => {}))))
  .then(() => {})`

async function explore(world: ConsoleWorld, page: Page): Promise<void> {
  const secret = page.getByRole('textbox', { name: 'AppSecret' })
  // The page keeps it until the console is left: at a second visit it is there.
  if ((await secret.count()) > 0) {
    await secret.fill(world.access.appSecret)
    await page.getByRole('button', { name: 'Save' }).click()
  }
  await page.getByRole('button', { name: 'Sign and send' }).click()
  await page.locator('[data-answer]').waitFor()
  await page.locator('button[data-loading]').waitFor({ state: 'detached' })
}

/** Orders as they are once the sandbox has answered for all but the one that it never answers. */
async function settled<Answer extends { orders: { orderStatus: string }[] }>(read: () => Promise<Answer>) {
  for (let tries = 0; ; tries++) {
    const answer = await read()
    const moving = answer.orders.filter((order) => ['PAID', 'ALLOCATING'].includes(order.orderStatus))
    if (moving.length <= 1 || tries === 100) return answer
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function startReceiver(): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) =>
    request.resume().on('end', () => response.end('{"received":true}')),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/esim-events`, server }
}
