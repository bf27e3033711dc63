import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addConsoleApi } from '#http/console/console-server.ts'
import type { BuyablePackage, Place } from '#http/console/orders/buyable-packages.ts'
import { createBodyBudget } from '#http/load-shedding/byte-budget.ts'
import { SENDS_PER_RECIPIENT_MAX } from '#orders/recipient-limit.ts'
import type { Role } from '#people/person.ts'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import {
  createTopUpTestbed,
  DAY_PRICE,
  type Esim,
  PRICE,
  type TopUpTestbed,
} from '#test/orders/topups/topup-testbed.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { issueDueStatements } from '#wallet/statement/issue-loop.ts'
import { type ConsoleTestbed, ORIGIN, PASSWORD, signedInAs } from './console-testbed.ts'

/* A dealer without an integration works in the console, on a node that fulfils orders. */

let bed: TopUpTestbed
let app: FastifyInstance
let esim: Esim
beforeAll(async () => {
  bed = await createTopUpTestbed()
  app = Fastify()
  const { deps } = bed.node
  const config = { ...deps.config, smtpUrl: 'smtp://mail.test:587' }
  addConsoleApi(
    app,
    { ...deps, config, provider: undefined, consoleUrl: () => `${ORIGIN}/console` },
    {
      origins: [ORIGIN],
      loopback: false,
      addressOf: (request) => request.ip,
      bodies: createBodyBudget(64 * 1024 * 1024),
      bodyRefusals: { pace: (write) => write() },
      cookieName: '__Host-console',
    },
  )
  await app.ready()
  esim = await bed.delivered()
})
afterAll(async () => {
  await app.close()
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const signIn = (role: Role, tenantId: string | null) =>
  signedInAs({ app, ...bed.node, db: bed.node.deps.db } as unknown as ConsoleTestbed, role, tenantId)
const query = <Row>(text: string, ...values: unknown[]) => bed.node.deps.db.query<Row & object>({ text, values })

/** A dealer with this balance in whole units, and one of its people. */
async function dealerWith(units: number, role: Role = 'DEALER_STAFF') {
  const dealer = await addDealer(bed.node.deps, units)
  const person = await signIn(role, dealer.tenantId)
  const home = `/tenants/${dealer.tenantId}`
  const balance = async () => (await person.call('GET', `${home}/wallet`)).body.balance as number
  return { dealer, person, home, balance }
}

const order = (
  transactionId: string,
  { amount = PRICE, ...more }: { amount?: number; [member: string]: unknown } = {},
) => {
  return { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1, ...more }], amount }
}

it('an order from the list is debited once, however often it is submitted', async () => {
  const { dealer, person, home, balance } = await dealerWith(100)
  const { body } = await person.call('GET', `${home}/buyable-packages?locationCode=JP`)
  const offer = body.packages.find(({ packageCode }: { packageCode: string }) => packageCode === 'JP_1_7')
  expect(offer).toMatchObject({ price: PRICE, currencyCode: 'USD' })
  const request = order('console-1', { count: 2, amount: 2 * PRICE })
  const answers = await Promise.all(Array.from({ length: 10 }, () => person.call('POST', `${home}/orders`, request)))
  answers.push(await person.call('POST', `${home}/orders`, request))
  expect(new Set(answers.map(({ body }) => body.orderNo)).size).toBe(1)
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(await balance()).toBe(1_000_000 - 2 * PRICE)
  expect(await bed.order(dealer, 'console-1', 'DELIVERED')).toMatchObject({ amount: 2 * PRICE })
  const entries = await query<{ actor: string }>(
    `select actor from audit_log where tenant_id = $1 and action = 'order.place'`,
    dealer.tenantId,
  )
  expect(entries[0]!.actor).toBe(`person:${person.personId}`)
})

it('each place shows its lowest price, and offers all its packages, the cheapest first', async () => {
  const { person, home } = await dealerWith(0)
  const { places } = (await person.call('GET', `${home}/buyable-packages/places`)).body as { places: Place[] }
  const names = places.map(({ place }) => place)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toContain('JP')
  for (const { place, from, packages: count } of places) {
    const { packages } = (await person.call('GET', `${home}/buyable-packages/at?place=${place}`)).body
    expect(packages).toHaveLength(count)
    const own = (packages as BuyablePackage[]).filter((one) => one.place === place)
    expect(from).toBe(Math.min(...own.map(({ price }) => price)))
    expect(own.map(({ price }) => price)).toEqual(own.map(({ price }) => price).sort((left, right) => left - right))
  }
  const nowhere = await person.call('GET', `${home}/buyable-packages/at?place=Atlantis`)
  expect(nowhere.body).toEqual({ packages: [] })
})

it('several packages form one purchase, which cannot contain a package twice', async () => {
  const { dealer, person, home, balance } = await dealerWith(100)
  const { packages } = (await person.call('GET', `${home}/buyable-packages/at?place=JP`)).body
  const other = (packages as BuyablePackage[]).find(({ packageCode }) => packageCode !== 'JP_1_7')!
  const lines = [
    { packageCode: 'JP_1_7', count: 2 },
    { packageCode: other.packageCode, count: 1, periodNum: 3 },
  ]
  const amount = 2 * PRICE + 3 * other.price
  const twice = { transactionId: 'console-1', packageInfoList: [lines[0], lines[0]], amount: 4 * PRICE }
  expect((await person.call('POST', `${home}/orders`, twice)).body.code).toBe('000108')
  const bought = await person.call('POST', `${home}/orders`, {
    transactionId: 'console-1',
    packageInfoList: lines,
    amount,
  })
  expect(bought.status).toBe(200)
  expect(await balance()).toBe(1_000_000 - amount)
  expect((await bed.order(dealer, 'console-1', 'DELIVERED')).packageInfoList).toHaveLength(2)
})

it('a transactionId used for one purchase cannot be used for another', async () => {
  const { person, home, balance } = await dealerWith(100)
  await person.call('POST', `${home}/orders`, order('console-1'))
  const other = await person.call('POST', `${home}/orders`, order('console-1', { count: 2, amount: 2 * PRICE }))
  expect(other.body.code).toBe('200012')
  expect(await balance()).toBe(1_000_000 - PRICE)
})

it.each([
  ['a total that is not the shown one', { amount: PRICE - 1 }, '200006'],
  ['more than the balance', { count: 3, amount: 3 * PRICE }, '200007'],
  ['more than the daily limit', { count: 2, amount: 2 * PRICE }, '200014'],
  ['an unknown package', { packageCode: 'NONE' }, '310241'],
  ['a package that only tops up', { packageCode: 'JP_1_7_TOPUP' }, '310241'],
  ['days of a package without days', { periodNum: 3, amount: 3 * PRICE }, '000108'],
])('%s is refused as in the dealer API, and nothing is debited', async (_, more, code) => {
  const { dealer, person, home, balance } = await dealerWith(10)
  await changeSettings(bed.node.deps, dealer.tenantId, { dailySpendLimit: BigInt(PRICE) }, OPERATOR)
  if (code === '200007') await changeSettings(bed.node.deps, dealer.tenantId, { dailySpendLimit: null }, OPERATOR)
  const refused = await person.call('POST', `${home}/orders`, order('console-1', more))
  expect(refused.body).toMatchObject({ code })
  expect(await balance()).toBe(100_000)
})

it('a day pass is sold for the chosen number of days', async () => {
  const { dealer, person, home, balance } = await dealerWith(100)
  const [pass] = (await person.call('GET', `${home}/buyable-packages`)).body.packages.filter(
    ({ periodNumMin }: { periodNumMin: number | null }) => periodNumMin !== null,
  )
  const bought = { packageCode: pass.packageCode, periodNum: 5, amount: 5 * DAY_PRICE }
  expect((await person.call('POST', `${home}/orders`, order('console-1', bought))).status).toBe(200)
  expect(await balance()).toBe(1_000_000 - 5 * DAY_PRICE)
  await bed.order(dealer, 'console-1', 'DELIVERED')
})

it('a suspended dealer cannot buy, and sees the reason for the suspension', async () => {
  const { dealer, person, home, balance } = await dealerWith(100, 'DEALER_ADMIN')
  const operator = await signIn('OPERATOR_STAFF', null)
  expect((await operator.call('POST', `${home}/suspend`, {})).status).toBe(400)
  expect((await operator.call('POST', `${home}/suspend`, { reason: 'unpaid invoices' })).status).toBe(200)
  expect((await person.call('POST', `${home}/orders`, order('console-1'))).body.code).toBe('101005')
  expect(await balance()).toBe(1_000_000)
  const { body } = await person.call('GET', '/audit?action=tenant.suspend')
  expect(JSON.stringify(body)).toContain('unpaid invoices')
  await suspendTenant(bed.node.deps, dealer.tenantId, OPERATOR)
})

it('an operator cannot order on behalf of a dealer', async () => {
  const { home, balance } = await dealerWith(100)
  for (const role of ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY'] as const) {
    const operator = await signIn(role, null)
    const answer = await operator.call('POST', `${home}/orders`, order('console-1'))
    expect([role, answer.status]).toEqual([role, 403])
  }
  expect(await balance()).toBe(1_000_000)
})

it('the price list contains the packages that the dealer can buy, at its own prices', async () => {
  const { person, home } = await dealerWith(0)
  const operator = await signIn('OPERATOR_STAFF', null)
  await operator.call('PUT', `${home}/own-prices/JP_1_7`, { price: 12_345 })
  const { body, headers } = await person.call('GET', `${home}/prices.csv`)
  const [head, ...rows] = String(body).trim().split('\n')
  expect(head).toMatch(/^package_code,name,.*,price,retail_price,currency_code$/)
  expect(rows.find((row) => row.startsWith('JP_1_7,'))).toContain(',1.2345,')
  expect(headers['content-disposition']).toBe('attachment; filename="prices-test-dealer.csv"')
  const { prices } = (await person.call('GET', `${home}/prices`)).body
  expect(rows.map((row) => row.split(',')[0]).sort()).toEqual(
    prices.map(({ packageCode }: { packageCode: string }) => packageCode),
  )
})

it('a top-up appears in the eSIM’s history', async () => {
  const person = await signIn('DEALER_STAFF', esim.dealer.tenantId)
  const path = `/tenants/${esim.dealer.tenantId}/profiles/${esim.esimTranNo}/top-ups`
  expect((await person.call('GET', path)).body).toEqual({ topUps: [] })
  const request = { packageCode: 'JP_1_7_TOPUP', transactionId: 'console-history', amount: PRICE }
  const { orderNo } = (await person.call('POST', path, request)).body
  await bed.order(esim.dealer, 'console-history', 'DELIVERED')
  expect((await person.call('GET', path)).body.topUps).toMatchObject([
    { orderNo, orderStatus: 'DELIVERED', amount: PRICE, currencyCode: 'USD' },
  ])
})

it('an eSIM link can be shown and mailed, with an audit entry each time and a limit on mails', async () => {
  const { tenantId } = esim.dealer
  const person = await signIn('DEALER_STAFF', tenantId)
  const path = `/tenants/${tenantId}/profiles/${esim.esimTranNo}/share-link`
  const shown = await person.call('POST', path)
  const { shareUrl } = await bed.profile(esim)
  expect(shown.body).toEqual({ shareUrl, isMailPossible: true, qr: expect.stringMatching(/^<svg/) })
  const send = (email: string) => person.call('POST', `${path}/mail`, { email })
  expect((await send('no address')).body.code).toBe('EMAIL_INVALID')
  expect((await send('   ')).body).toMatchObject({ code: 'EMAIL_INVALID', message: '“” is not an e-mail address.' })
  const attempts = SENDS_PER_RECIPIENT_MAX + 3
  const answers = await Promise.all(Array.from({ length: attempts }, () => send('Traveller@Example.test')))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(SENDS_PER_RECIPIENT_MAX)
  expect(answers.filter(({ body }) => body.code === '101007')).toHaveLength(3)
  expect((await send('another@example.test')).status).toBe(200)
  const mails = await query<{ recipient: string; content: Buffer }>(
    `select recipient, content from mails where tenant_id = $1 and kind = 'SHARE_LINK'`,
    tenantId,
  )
  expect(mails).toHaveLength(SENDS_PER_RECIPIENT_MAX + 1)
  expect(mails.map(({ recipient }) => recipient).join()).not.toContain('example')
  const mail = JSON.parse(bed.node.deps.cipher.decrypt(mails[0]!.content, tenantId).toString())
  expect(mail.to).toBe('Traveller@Example.test')
  expect(mail.text).toContain(shareUrl)
  const audited = await query<{ action: string; n: number }>(
    `select action, count(*)::int as n from audit_log where tenant_id = $1 and action like 'profile.%share_link' group by 1`,
    tenantId,
  )
  expect(audited).toEqual(
    expect.arrayContaining([
      { action: 'profile.view_share_link', n: 1 },
      { action: 'profile.send_share_link', n: SENDS_PER_RECIPIENT_MAX + 1 },
    ]),
  )
})

it('a traveller is found by the exact address and is in lists and files, only for people who may send', async () => {
  const { tenantId } = esim.dealer
  const [email, name] = ['found@traveller.test', 'Found Traveller']
  const dealer = await signIn('DEALER_STAFF', tenantId)
  const path = `/tenants/${tenantId}/profiles/${esim.esimTranNo}/share-link/mail`
  expect((await dealer.call('POST', path, { email, name, brand: 'unknown' })).body.code).toBe('200018')
  expect((await dealer.call('POST', path, { email, name })).body).toEqual({ sendStatus: 'QUEUED' })
  const again = await dealer.call('POST', path, { email: 'other@traveller.test', onlyUnsent: true })
  expect(again).toMatchObject({ status: 409, body: { code: 'ALREADY_SENT' } })
  const other = await dealerWith(1)
  const may = [dealer, await signIn('OPERATOR_STAFF', null)]
  const viewer = await signIn('OPERATOR_ADMIN', null)
  expect((await viewer.call('POST', `/tenants/${tenantId}/view`)).status).toBe(200)
  const mayNot = [await signIn('OPERATOR_READ_ONLY', null), other.person, viewer]
  for (const person of may) {
    // In a header, because proxies log URLs.
    person.window.headers['x-query'] = `email=${email.toUpperCase()}`
    const { profiles } = (await person.call('GET', '/profiles')).body
    delete person.window.headers['x-query']
    expect(profiles).toMatchObject([{ profileId: esim.esimTranNo, traveller: { email, name }, sendStatus: 'QUEUED' }])
    expect((await person.call('GET', `/search?q=${email}`)).body.results).toMatchObject([
      { kind: 'PROFILE', to: `/tenants/${tenantId}/profiles/${esim.esimTranNo}` },
    ])
    expect((await person.call('GET', '/search?q=found@')).body.results).toEqual([])
  }
  for (const person of mayNot) {
    expect((await person.call('GET', `/profiles?email=${email}`)).body.profiles).toEqual([])
    expect((await person.call('GET', `/search?q=${email}`)).body.results).toEqual([])
    for (const list of ['/profiles', '/profiles.csv', `/tenants/${tenantId}/profiles/${esim.esimTranNo}`])
      expect(JSON.stringify((await person.call('GET', list)).body)).not.toMatch(/found@|Found Traveller/i)
  }
})

it('an order says to whom it is sent before its eSIM is there, only to people who may send it', async () => {
  const { dealer, person, home } = await dealerWith(100)
  const deliverTo = { email: 'mei@traveller.test', name: 'Mei Tanaka' }
  const place = (more: object) => person.call('POST', `${home}/orders`, { ...order('to-mei'), ...more })
  expect((await place({ deliverTo: { ...deliverTo, brand: 'unknown' } })).body.code).toBe('200018')
  const path = `${home}/orders/${(await place({ deliverTo })).body.orderNo}`
  // A repeat with another address changes nothing.
  await place({ deliverTo: { email: 'other@traveller.test' } })
  expect((await person.call('GET', path)).body.deliverTo).toEqual([deliverTo])
  expect((await (await signIn('OPERATOR_READ_ONLY', null)).call('GET', path)).body.deliverTo).toEqual([])
  await bed.order(dealer, 'to-mei', 'DELIVERED')
})

it('the codes of an eSIM include its QR code as a PNG image', async () => {
  const person = await signIn('DEALER_STAFF', esim.dealer.tenantId)
  const path = `/tenants/${esim.dealer.tenantId}/profiles/${esim.esimTranNo}/codes`
  const { qrPng } = (await person.call('POST', path)).body
  expect(Buffer.from(qrPng, 'base64').subarray(1, 4).toString()).toBe('PNG')
})

it('a receipt is downloaded exactly as uploaded, and never rendered', async () => {
  const { dealer, person, home } = await dealerWith(0)
  const content = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(2_000_000, 7)])
  const { cookie } = person.window
  const query = new URLSearchParams({ amount: '10', reference: 'R-1', fileName: 'a "b".html' })
  const asked = await app.inject({
    method: 'POST',
    url: `/console/api${home}/top-up-requests/with-receipt?${query}`,
    headers: { cookie, origin: ORIGIN, 'content-type': 'application/octet-stream' },
    payload: content,
  })
  const path = `${home}/top-up-requests/${asked.json().requestId}/receipt`
  const answer = await app.inject({ url: `/console/api${path}`, headers: { cookie } })
  expect(answer.rawPayload.equals(content)).toBe(true)
  expect(answer.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="a-b.pdf"',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'content-security-policy': expect.stringContaining('sandbox'),
  })
  const others = await signIn('DEALER_ADMIN', (await addDealer(bed.node.deps, 0)).tenantId)
  expect((await others.call('GET', path)).status).toBe(404)
  const own = await others.call('GET', path.replace(dealer.tenantId, others.personId))
  expect(own.status).toBe(404)
})

it('a dealer sees that a payment was confirmed, but not by whom', async () => {
  const { person, home, balance } = await dealerWith(0, 'DEALER_ADMIN')
  const [first, second] = [await signIn('OPERATOR_ADMIN', null), await signIn('OPERATOR_STAFF', null)]
  const limit = { bankDetails: 'IBAN 1\nBIC 2', paymentUrl: 'https://pay.test/', secondPersonAbove: 1 }
  const withoutPassword = await first.call('PUT', '/payment-settings/USD', limit)
  expect(withoutPassword.status).toBeGreaterThanOrEqual(400)
  expect((await first.call('PUT', '/payment-settings/USD', { ...limit, password: PASSWORD })).status).toBe(200)
  expect((await person.call('GET', `${home}/payment-details`)).body).toEqual({
    currencyCode: 'USD',
    bankDetails: 'IBAN 1\nBIC 2',
    paymentUrl: 'https://pay.test/',
  })
  const { requestId } = (await person.call('POST', `${home}/top-up-requests`, { amount: 77, reference: 'R' })).body
  const confirm = `${home}/top-up-requests/${requestId}/confirm`
  expect((await first.call('POST', confirm)).body).toEqual({ status: 'REQUESTED', isWaitingForSecond: true })
  expect((await first.call('POST', confirm)).body.code).toBe('SECOND_PERSON_NEEDED')
  expect(await balance()).toBe(0)
  expect((await second.call('GET', '/top-up-requests/open')).body.open).toBeGreaterThan(0)
  const seen = await second.call('GET', '/top-up-requests?status=REQUESTED')
  expect(seen.body.requests[0]).toMatchObject({ confirmedBy: first.email, confirmedByMe: false })
  expect((await second.call('POST', confirm)).body).toEqual({ status: 'PAID', isWaitingForSecond: false })
  expect(await balance()).toBe(77)
  const { body } = await person.call('GET', '/top-up-requests')
  expect(body.requests).toMatchObject([{ status: 'PAID', confirmedBy: null, decidedBy: 'Operator' }])
  const audited = JSON.stringify((await person.call('GET', '/audit')).body)
  expect(audited).toContain('wallet.confirm_request')
  expect(audited).not.toContain('wallet.confirm_request_first')
  expect(audited).not.toContain(first.personId)
})

it('the balance matches the last entry in the same answer, even while payments are being credited', async () => {
  const { dealer, person, home } = await dealerWith(5)
  const month = new Date().toISOString().slice(0, 7)
  let isCrediting = true
  const crediting = (async () => {
    for (let n = 1; n <= 30; n++) {
      const input = { tenantId: dealer.tenantId, amount: BigInt(n), reference: `PAYMENT-${n}` }
      await topUp(bed.node.deps, input, { actor: 'cli:tester' })
    }
    isCrediting = false
  })()
  for (let reads = 0; isCrediting || reads < 4; reads++) {
    const { body } = await person.call('GET', `${home}/wallet/entries${reads % 2 === 0 ? '' : `?month=${month}`}`)
    expect(body.entries[0].balanceAfter).toBe(body.wallet.balance)
    if (body.month !== null) expect(body.month.closing).toBe(body.wallet.balance)
  }
  await crediting
})

it('a statement is a printable page whose content security policy allows only its own style', async () => {
  const { dealer, person, home } = await dealerWith(5)
  const operator = await signIn('OPERATOR_ADMIN', null)
  await operator.call('PUT', '/operator-details', { legalName: 'Operator Ltd', taxId: null, address: null })
  await query(`update tenants set created_at = now() - interval '70 days' where tenant_id = $1`, dealer.tenantId)
  const now = new Date()
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7)
  const pending = await person.call('GET', `${home}/wallet/entries?month=${month}`)
  expect(pending.body.month).toMatchObject({ isPrintable: false })
  await issueDueStatements({ ...bed.node.deps, checkpointWaitMs: 0 })
  const first = await person.call('GET', `${home}/wallet/statement?month=${month}`)
  const second = await operator.call('GET', `${home}/wallet/statement?month=${month}`)
  expect(first.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(first.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/)
  expect(first.body).toContain('Operator Ltd')
  expect(second.body).toBe(first.body)
  const entries = await person.call('GET', `${home}/wallet/entries?month=${month}`)
  expect(entries.body.month).toMatchObject({ isPrintable: true })
})
