import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { queueTravellerMail } from '#alerts/mail/mail-queue.ts'
import { putBrand } from '#brands/put-brand.ts'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { routes } from '#http/console/console-routes.ts'
import { addConsoleApi } from '#http/console/console-server.ts'
import type { Context } from '#http/console/kernel/route.ts'
import { createBodyBudget } from '#http/load-shedding/byte-budget.ts'
import { createTwin } from '#operations/twins/manage-twins.ts'
import { enforceRetention } from '#platform/retention/retention-loop.ts'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { startWorker } from '#worker.ts'
import { type ConsoleTestbed, ORIGIN, REAUTHENTICATION, signedInAs } from '../console-testbed.ts'

let database: TestDatabase
let node: Node
let worker: Running
let app: FastifyInstance
let bed: ConsoleTestbed
let dealer: Dealer
let twin: Dealer

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  worker = await startWorker(node.deps)
  await putPackages(
    node.deps,
    [
      packageInput({
        ...{ packageCode: 'JP_1_7', status: 'ON_SALE' },
        prices: [{ currencyCode: 'USD', price: 45_000, retailPrice: null }],
        suppliers: [{ supplier: 'sandbox', productCode: 'P-1' }],
      }),
    ],
    OPERATOR,
  )
  app = await startConsoleApi()
  bed = { app, db: node.deps.db, deps: node.deps } as unknown as ConsoleTestbed
  ;[dealer, twin] = await addDealerWithTwin()
})
afterAll(async () => {
  await app.close()
  await worker.stop(5_000)
  await node.stop()
  await database.drop()
})

async function startConsoleApi(): Promise<FastifyInstance> {
  const api = Fastify()
  const deps = { ...node.deps, provider: undefined, consoleUrl: () => `${ORIGIN}/console` }
  addConsoleApi(api, deps, {
    ...{ origins: [ORIGIN], loopback: false, cookieName: '__Host-console' },
    addressOf: (request) => request.ip,
    bodies: createBodyBudget(1024 * 1024),
    bodyRefusals: { pace: (write) => write() },
  })
  await api.ready()
  return api
}

async function addDealerWithTwin(): Promise<[Dealer, Dealer]> {
  const live = await addDealer(node.deps)
  return [live, await createTwin(node.deps, () => node.deps.twins.create(), live.tenantId, OPERATOR)]
}

const inTestMode = (path: string) => `/test${path}`

let orders = 0
function orderOf(amount = 45_000) {
  return { transactionId: `T-${++orders}`, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }], amount }
}

test('every route is served from the twin, answers the same in both modes, or is refused in test mode', async () => {
  const { cookie } = await signedInAs(bed, 'DEALER_ADMIN', dealer.tenantId).then(({ window }) => window)
  const declared = routes.map((route) => ({ ...route }))
  for (const route of routes) {
    for (const checked of ['body', 'query', 'params', 'ratePerMinute', 'beforeBody', 'bodyType'] as const)
      delete route[checked]
    route.handle = async (context, { params }) => ({ served: servedBy(context as Context, params) })
  }
  const probed = await startConsoleApi()
  try {
    const lines: string[] = []
    for (const { method, path } of routes) {
      const url = `/console/api${inTestMode(path).replace(':tenantId', dealer.tenantId).replaceAll(/:\w+/g, 'x')}`
      const answer = await probed.inject({
        ...{ method, url, headers: { origin: ORIGIN, cookie } },
        ...(method !== 'GET' && { payload: {} }),
      })
      lines.push(`${method} ${path}: ${answer.json().served ?? answer.json().code}`)
    }
    // Stored in a file, so that reviewers see what a new route does in test mode.
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('test-mode.txt')
    expect(lines.filter((line) => line.endsWith(LIVE_DATA))).toEqual([])
  } finally {
    await probed.close()
    routes.forEach((route, index) => void Object.assign(route, declared[index]))
  }
})

const LIVE_DATA = 'LIVE DATA'
/** What is not about a dealer's orders, eSIMs, money or credentials: the person, the twin itself, the operator, the clock. */
const NOT_OF_LIVE = /^\/(account|session|me|clock|my-address|operator-contact)\b|^\/tenants\/:tenantId\/twin/

/** From what a handler would answer. */
function servedBy(context: Context, params: unknown): string {
  const { deps, person, onlyTenant } = context
  if (person === undefined) return 'everybody'
  const { tenantId = twin.tenantId } = params as { tenantId?: string }
  const isOfTwin = [tenantId, person.tenantId, onlyTenant].every((id) => id === twin.tenantId)
  if (deps.config.mode === 'TEST' && isOfTwin) return 'twin'
  const { url = '' } = context.request.routeOptions
  return NOT_OF_LIVE.test(url.replace('/console/api/test', '')) ? 'same' : LIVE_DATA
}

test('a purchase in test mode is seen in test mode only, and debits the twin', async () => {
  const buyer = await signedInAs(bed, 'DEALER_STAFF', dealer.tenantId)
  const own = `/tenants/${dealer.tenantId}`
  const placed = await buyer.call('POST', inTestMode(`${own}/orders`), orderOf())
  expect(placed.body).toMatchObject({ amount: 45_000 })
  const { orderNo } = placed.body
  await waitUntil(async () => {
    const { body } = await buyer.call('GET', inTestMode(`${own}/orders/${orderNo}`))
    return body.orderStatus === 'DELIVERED'
  })
  const list = await buyer.call('GET', inTestMode('/orders'))
  expect(list.body.orders).toMatchObject([{ orderNo, tenantId: twin.tenantId }])
  // Rows have the id of the twin, and pages link with it.
  expect((await buyer.call('GET', inTestMode(`/tenants/${twin.tenantId}/orders/${orderNo}`))).status).toBe(200)
  expect((await buyer.call('GET', inTestMode('/profiles'))).body.profiles).toHaveLength(1)
  expect((await buyer.call('GET', inTestMode(`${own}/wallet`))).body.balance).toBe(10_000_000 - 45_000)

  expect((await buyer.call('GET', '/orders')).body.orders).toEqual([])
  expect((await buyer.call('GET', '/profiles')).body.profiles).toEqual([])
  expect((await buyer.call('GET', `${own}/wallet`)).body.balance).toBe(10_000_000_000)
  expect((await buyer.call('GET', `/tenants/${twin.tenantId}/wallet`)).status).toBe(404)
  expect((await buyer.call('GET', `${own}/orders/${orderNo}`)).status).toBe(404)
})

test('an administrator sees and resets the AppSecret of the twin with the own password, and is named in its audit log', async () => {
  const admin = await signedInAs(bed, 'DEALER_ADMIN', dealer.tenantId)
  const path = `/tenants/${dealer.tenantId}`
  expect((await admin.call('GET', inTestMode(path))).body.appKey).toBe(twin.appKey)
  const { status, body } = await admin.call('POST', inTestMode(`${path}/secret/reset`), REAUTHENTICATION)
  expect(status).toBe(200)
  expect((await call(node, { ...twin, appSecret: body.appSecret }, 'health')).data).toMatchObject({ mode: 'TEST' })
  twin = { ...twin, appSecret: body.appSecret }
  expect((await call(node, dealer, 'health')).code).toBe('000000')
  const audited = await admin.call('GET', inTestMode('/audit'))
  expect(audited.body.entries[0]).toMatchObject({ actor: admin.email, tenantId: twin.tenantId })
})

test('another dealer, an operator and a dealer without a twin are refused', async () => {
  const stranger = await signedInAs(bed, 'DEALER_ADMIN', (await addDealerWithTwin())[0].tenantId)
  for (const tenantId of [dealer.tenantId, twin.tenantId])
    expect((await stranger.call('GET', inTestMode(`/tenants/${tenantId}/wallet`))).status).toBe(404)
  const operator = await signedInAs(bed, 'OPERATOR_ADMIN', null)
  expect((await operator.call('GET', inTestMode('/orders'))).body.code).toBe('TEST_MODE_OF_DEALERS')
  const alone = await signedInAs(bed, 'DEALER_ADMIN', (await addDealer(node.deps)).tenantId)
  expect((await alone.call('GET', inTestMode('/orders'))).body.code).toBe('NO_TWIN')
})

test('an operator who views as the dealer sees test mode, and changes nothing in it', async () => {
  const [viewed, its] = await addDealerWithTwin()
  const operator = await signedInAs(bed, 'OPERATOR_ADMIN', null)
  expect((await operator.call('POST', `/tenants/${viewed.tenantId}/view`)).status).toBe(200)
  expect((await operator.call('GET', inTestMode(`/tenants/${viewed.tenantId}`))).body.appKey).toBe(its.appKey)
  const answer = await operator.call('POST', inTestMode(`/tenants/${viewed.tenantId}/secret/view`), REAUTHENTICATION)
  expect(answer.body.code).toBe('VIEW_ONLY')
})

test('a suspended dealer buys nothing in test mode', async () => {
  const [suspended] = await addDealerWithTwin()
  const buyer = await signedInAs(bed, 'DEALER_STAFF', suspended.tenantId)
  await suspendTenant(node.deps, suspended.tenantId, OPERATOR)
  const path = inTestMode(`/tenants/${suspended.tenantId}/orders`)
  expect((await buyer.call('POST', path, orderOf())).body.code).toBe('101005')
})

test('e-mails of test mode are written, marked as sent, shown, and deleted by a reset; nobody receives them', async () => {
  const [live, tried] = await addDealerWithTwin()
  const admin = await signedInAs(bed, 'DEALER_ADMIN', live.tenantId)
  const path = `/tenants/${live.tenantId}/test-mails`
  const deliverTo = { name: 'Mei', email: 'mei@traveller.test' }
  const { orderNo } = (
    await admin.call('POST', inTestMode(`/tenants/${live.tenantId}/orders`), { ...orderOf(), deliverTo })
  ).body
  await admin.call('PATCH', inTestMode(`/tenants/${live.tenantId}/settings`), { lowBalanceThreshold: 9_000_000_000 })
  const mails = await waitUntil(async () => {
    const { body } = await admin.call('GET', inTestMode(path))
    return body.mails.length === 2 && body.mails
  })
  const [ofEsim, ofAlert] = ['DELIVERY', 'LOW_BALANCE'].map((kind) =>
    mails.find((mail: object & { kind: string }) => mail.kind === kind),
  )
  expect([ofEsim.to, ofAlert.to]).toEqual([deliverTo.email, admin.email])
  const { sendList } = (await call(node, tried, 'esim/query', { body: JSON.stringify({ orderNo }) })).data
  expect(sendList).toMatchObject([{ sendStatus: 'SENT' }])

  const { body: mail } = await admin.call('GET', inTestMode(`${path}/${ofEsim.mailId}`))
  expect(mail.text).toMatch(/^Hello Mei, .*\/share\//s)
  expect((await admin.call('GET', inTestMode(`${path}/${ofAlert.mailId}`))).body.text).toContain('/console/test/')
  const page = await admin.call('GET', inTestMode(`${path}/${ofEsim.mailId}/page`))
  expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; .*sandbox/)
  expect(page.body).toContain('src="data:image/png;base64,')
  expect(page.body).not.toContain('cid:')

  expect((await admin.call('GET', path)).body.code).toBe('ONLY_IN_TEST_MODE')
  const stranger = await signedInAs(bed, 'DEALER_ADMIN', dealer.tenantId)
  const foreign = `/tenants/${dealer.tenantId}/test-mails/${ofEsim.mailId}`
  for (const part of ['', '/page']) expect((await stranger.call('GET', inTestMode(foreign + part))).status).toBe(404)
  const operator = await signedInAs(bed, 'OPERATOR_STAFF', null)
  await operator.call('POST', `/tenants/${live.tenantId}/view`)
  expect((await operator.call('GET', inTestMode(path))).body.mails[0].to).toBeNull()
  expect((await operator.call('GET', inTestMode(`${path}/${ofEsim.mailId}`))).body.code).toBe('VIEW_ONLY')

  expect((await admin.call('POST', `/tenants/${live.tenantId}/twin/reset`)).status).toBe(200)
  expect((await admin.call('GET', inTestMode(path))).body.mails).toEqual([])
})

const PICTURE = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="#b8336a"/></svg>',
)

test('a twin sells under the brands of its dealer, on its pages and in its e-mails, and cannot change them', async () => {
  const [live, tried] = await addDealerWithTwin()
  const { tenantId } = live
  const set = (owner: Dealer, brand: string, name: string) =>
    putBrand(node.deps, { tenantId: owner.tenantId, brand }, { input: { name }, pictures: { icon: PICTURE } }, OPERATOR)
  await set(dealer, 'harbour', 'Harbour of another')
  await set(live, 'lotus', 'Lotus Travel')
  await set(live, 'outlet', 'Lotus Outlet')
  const asTwin = async (operation: string, body: object) =>
    (await call(node, tried, operation, { body: JSON.stringify(body) })).data
  const { brandList } = await asTwin('brand/list', {})
  expect(brandList.map(({ brand }: { brand: string }) => brand)).toEqual(['lotus', 'outlet'])

  const deliverTo = { email: 'mei@traveller.test' }
  const buy = (brand?: string) =>
    asTwin('esim/order', {
      transactionId: `B-${brand}`,
      packageInfoList: [{ packageCode: 'JP_1_7', count: 1, deliverTo: { ...deliverTo, ...(brand && { brand }) } }],
    })
  expect(await buy('harbour')).toMatchObject({ brand: 'harbour' })
  const { orderNo } = await buy('outlet')
  const admin = await signedInAs(bed, 'DEALER_ADMIN', tenantId)
  const path = inTestMode(`/tenants/${tenantId}/test-mails`)
  const [kept] = await waitUntil(async () => {
    const { body } = await admin.call('GET', path)
    return body.mails.length === 1 && body.mails
  })
  const { body: mail } = await admin.call('GET', `${path}/${kept.mailId}`)
  expect(mail.from).toMatch(/^Lotus Outlet </)
  const { body: page } = await admin.call('GET', `${path}/${kept.mailId}/page`)
  expect(page).toContain('Lotus Outlet')
  expect(page.match(/src="data:image\/png/g)).toHaveLength(2) // the QR code and the icon
  const [esim] = (await asTwin('esim/query', { orderNo })).profileList
  const share = await fetch(esim.shareUrl.replace(/^https?:\/\/[^/]+/, node.baseUrl))
  const [icon] = /[^"]*\/brand\/[0-9a-f]+\.png/.exec(await share.clone().text()) ?? []
  expect(await share.text()).toContain('Lotus Outlet')
  expect((await fetch(icon!.replace(/^https?:\/\/[^/]+/, node.baseUrl))).status).toBe(200)
  const send = { transactionId: 'S-1', esimTranNo: esim.esimTranNo, email: deliverTo.email, brand: 'harbour' }
  expect(await asTwin('esim/profile/send', send)).toMatchObject({ brand: 'harbour' })

  const own = inTestMode(`/tenants/${tenantId}/brands`)
  expect((await admin.call('GET', own)).body.brandList).toMatchObject([{ brand: 'lotus' }, { brand: 'outlet' }])
  for (const [method, body] of [
    ['PUT', { name: 'Other' }],
    ['DELETE', undefined],
  ] as const)
    expect((await admin.call(method, `${own}/outlet`, body)).body.code).toBe('NOT_IN_TEST_MODE')
  const twins = (await node.deps.twins.open())!
  expect(await twins.db.query({ text: 'select from brands' })).toEqual([])
})

test('of the e-mails of a twin only the newest fifty keep their text, and none of a forgotten traveller', async () => {
  const [live, tried] = await addDealerWithTwin()
  const twins = (await node.deps.twins.open())!
  const queue = (count: number) =>
    twins.db.tx(async (tx) => {
      for (let at = 0; at < count; at++) {
        const to = { tenantId: tried.tenantId, kind: 'DELIVERY', email: 'mei@traveller.test', brand: null }
        queueTravellerMail(tx, twins, { ...to, sendId: twins.ids.uuid(), subject: 'S', text: 'T', html: '<p>T</p>' })
      }
    })
  await queue(52)
  await waitUntil(async () => (await statesOf(twins, tried)).due === 0)
  expect(await statesOf(twins, tried)).toEqual({ due: 0, kept: 50 })
  expect(await statesOf(node.deps, live)).toEqual({ due: 0, kept: 0 })

  const admin = await signedInAs(bed, 'DEALER_ADMIN', live.tenantId)
  const deliverTo = { email: 'li@traveller.test' }
  await admin.call('POST', inTestMode(`/tenants/${live.tenantId}/orders`), { ...orderOf(), deliverTo })
  const path = inTestMode(`/tenants/${live.tenantId}/test-mails`)
  const isKept = async () =>
    (await admin.call('GET', path)).body.mails.some((mail: { to: string }) => mail.to === deliverTo.email)
  await waitUntil(isKept)
  const later = { now: () => Date.now() + 2 * 86_400_000 }
  const retention = {
    db: twins.db,
    config: { travellerDays: 1 },
    databaseClock: later as typeof twins.databaseClock,
  }
  // Each step is of one twin.
  await waitUntil(async () => !(await enforceRetention(retention)).some(({ more }) => more))
  expect(await isKept()).toBe(false)
})

async function statesOf({ db }: Pick<Node['deps'], 'db'>, { tenantId }: Dealer) {
  const [row] = await db.query<{ due: number; kept: number }>({
    text: `select (count(*) filter (where due_at is not null))::int as due,
             (count(*) filter (where due_at is null and content is not null))::int as kept
           from mails where tenant_id = $1`,
    values: [tenantId],
  })
  return row!
}

test('a dealer creates its twin unless the operator has decided otherwise', async () => {
  const { tenantId } = await addDealer(node.deps)
  const admin = await signedInAs(bed, 'DEALER_ADMIN', tenantId)
  const operator = await signedInAs(bed, 'OPERATOR_ADMIN', null)
  const { body: settings } = await operator.call('GET', '/operator-settings')
  expect(settings.twinsByDealers).toBe(true)
  const create = () => admin.call('POST', `/tenants/${tenantId}/twin`, REAUTHENTICATION)
  await operator.call('PUT', '/operator-settings', { ...settings, twinsByDealers: false })
  try {
    expect((await create()).body.code).toBe('TWINS_BY_OPERATOR')
    expect((await admin.call('GET', '/session')).body).toMatchObject({ hasTwin: false, mayCreateTwin: false })
  } finally {
    await operator.call('PUT', '/operator-settings', settings)
  }
  expect((await create()).status).toBe(200)
  expect((await admin.call('GET', '/session')).body).toMatchObject({ hasTwin: true, mayCreateTwin: true })
})
