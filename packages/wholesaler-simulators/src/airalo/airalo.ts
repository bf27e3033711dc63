import { createHmac, randomBytes } from 'node:crypto'
import type { Product } from '#simulated-catalogue.ts'
import { type Change, Refused } from '#simulated-order.ts'
import type { Answer, Call, Description, Operation, RawRequest, Wholesaler, World } from '#wholesaler.ts'
import * as answers from './answers.ts'
import * as shapes from './shapes.ts'

/** Airalo Partner API v2: it accepts no key. A buyer's description is stored with the order, and can be searched for. */
export function describeAiralo(): Description {
  return {
    codeOf: ({ serial, kind, coverage, volume, days }) =>
      `${answers.slugOf(coverage.name)}-${days}days-${volume === null ? 'unlimited' : `${volume / 1_000_000_000}gb`}-${serial}${kind === 'topUp' ? '-topup' : ''}`,
    smdpAddress: 'smdp.airalo.example',
    createReference: (kind, serial) =>
      kind === 'order' ? `20261101-${serial.toString().padStart(6, '0')}` : `${serial}`,
    repeatedKey: 'bought-again',
    needsHead: true,
    createWholesaler,
  }
}

/** Operations: token, catalogue, order, topUp, list (with the filter), query, usage, balance. */
function createWholesaler(world: World): Wholesaler {
  const credentials = {
    clientId: randomBytes(16).toString('hex'),
    clientSecret: randomBytes(20).toString('hex'),
    ...world.options.credentials,
  }
  const tokens = new Tokens(world, credentials)
  let others = 0
  return {
    basePath: '/v2',
    credentials,
    operations: listOperations(world, tokens),
    authenticate: (request) => tokens.check(request),
    refuse(reason, text, code) {
      const isOther = reason === 'out-of-stock' && world.options.forms.has('other-refusals')
      return isOther ? answers.otherRefusal(others++, text) : answers.refusal(reason, text, code)
    },
    refuseShape: answers.shapeRefusal,
    eventsOf: (change) =>
      eventsOf(world, change).map((body) => ({
        headers: {
          'airalo-signature': createHmac('sha512', credentials.clientSecret).update(JSON.stringify(body)).digest('hex'),
        },
        body,
        ...(world.options.forms.has('spaced-events') && { text: JSON.stringify(body, null, 2) }),
      })),
  }
}

/** The events for a change: Airalo reports delivered orders and low data. */
function eventsOf({ account, options }: World, change: Change): unknown[] {
  if ('order' in change) {
    const shown = { currency: account.currencyCode, include: [], forms: options.forms }
    return change.kind === 'delivered' ? [answers.orderBody(change.order, shown, true)] : []
  }
  const total = account.totalBytes(change.esim)
  const share = total === null ? 0 : change.esim.usedBytes / total
  if (change.kind !== 'usage' || share < 0.5) return []
  const level = share >= 0.9 ? '90%' : share >= 0.75 ? '75%' : '50%'
  const remaining_percentage = Math.max(0, Math.floor((1 - share) * 100))
  return [{ level, package_name: change.esim.order.product.code, remaining_percentage, iccid: change.esim.iccid }]
}

class Tokens {
  readonly #expiresMs = new Map<string, number>()
  #issuedMs: number[] = []
  readonly #world: World
  readonly #credentials: { clientId: string; clientSecret: string }

  constructor(world: World, credentials: { clientId: string; clientSecret: string }) {
    this.#world = world
    this.#credentials = credentials
  }

  issue({ body }: Call): Answer {
    const { client_id, client_secret } = body as { client_id: string; client_secret: string }
    const { clientId, clientSecret } = this.#credentials
    if (client_id !== clientId || client_secret !== clientSecret)
      return answers.message(401, 'The client id or the client secret is wrong.')
    const now = this.#world.clock.now()
    this.#issuedMs = this.#issuedMs.filter((ms) => ms > now - 60_000)
    if (this.#issuedMs.length >= this.#world.options.tokensPerMinute) return answers.message(429, 'Too Many Attempts.')
    this.#issuedMs.push(now)
    const token = randomBytes(30).toString('base64url')
    this.#expiresMs.set(token, now + TOKEN_S * 1_000)
    return answers.ok({ token_type: 'Bearer', expires_in: TOKEN_S, access_token: token })
  }

  check({ headers }: RawRequest): Answer | undefined {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    const isValid = (this.#expiresMs.get(token) ?? 0) > this.#world.clock.now()
    return isValid ? undefined : answers.message(401, 'Unauthenticated.')
  }
}
const TOKEN_S = 24 * 3_600

function listOperations(world: World, tokens: Tokens): Operation[] {
  const { account, options } = world
  const { forms } = options
  const get = (name: string, path: string, run: Operation['run'], query?: Operation['query']): Operation => ({
    name,
    at: `GET /v2/${path}`,
    ...(query && { query }),
    run,
  })
  const post = (
    name: string,
    path: string,
    body: NonNullable<Operation['body']>,
    run: Operation['run'],
  ): Operation => ({
    ...{ name, at: `POST /v2/${path}`, body, form: 'accepted' },
    run,
  })
  return [
    { ...post('token', 'token', shapes.TOKEN, (call) => tokens.issue(call)), form: 'only', isOpen: true },
    get('catalogue', 'packages', (call) => listPackages(call, account.currencyCode, forms), shapes.PACKAGES),
    post('order', 'orders', shapes.ORDER, (call) => order(world, call)),
    post('topUp', 'orders/topups', shapes.TOP_UP, (call) => topUp(world, call)),
    get('list', 'orders', (call) => listOrders(world, call), shapes.ORDERS),
    get('query', 'orders/{id}', (call) => findOrder(world, call), shapes.INCLUDE),
    get('usage', 'sims/{iccid}/usage', ({ params }) =>
      answers.ok(answers.usageBody(account, account.getEsim(params.iccid!), forms)),
    ),
    get('topUps', 'sims/{iccid}/topups', (call) => listTopUpsOf(world, call)),
    get('balance', 'balance', () => {
      const amount = account.balance / 10_000
      return answers.ok({ balances: { name: 'balance', availableBalance: { amount, currency: account.currencyCode } } })
    }),
  ]
}

/** One row for each coverage, in pages. */
function listPackages({ query, catalogue }: Call, currency: string, forms: World['options']['forms']): Answer {
  const { include = '', 'filter[type]': type, 'filter[country]': country } = query
  const groups = new Map<string, Product[]>()
  for (const product of catalogue().products) {
    const { coverage, kind } = product
    const isLocal = !coverage.code.startsWith('!')
    if (type !== undefined && isLocal !== (type === 'local')) continue
    if (country !== undefined && coverage.code !== country) continue
    if (kind === 'topUp' && !include.split(',').includes('topup')) continue
    groups.set(coverage.code, [...(groups.get(coverage.code) ?? []), product])
  }
  const rows = [...groups.values()].map((products) =>
    answers.coverageEntry(products[0]!.coverage, products, { currency, forms }),
  )
  const pricing = { model: 'discount_pricing', discount_percentage: answers.DISCOUNT_PERCENT }
  return paged(rows, query, 25, forms.has('discount-pricing') ? { pricing } : {})
}

function paged(rows: unknown[], query: Record<string, string>, defaultLimit: number, head: object = {}): Answer {
  const limit = Number(query.limit ?? defaultLimit)
  const page = Number(query.page ?? 1)
  const last = Math.max(1, Math.ceil(rows.length / limit))
  const link = (number: number) => (number < 1 || number > last ? null : `?page=${number}`)
  const from = (page - 1) * limit
  return answers.ok(keyedFromPageTwo(rows.slice(from, page * limit), from), {
    ...head,
    links: { first: link(1), last: link(last), prev: link(page - 1), next: link(page + 1) },
    meta: { message: 'success', current_page: page, last_page: last, per_page: limit, total: rows.length },
  })
}

/** Airalo keys the rows of every page except the first by their number in the whole list. */
function keyedFromPageTwo(rows: unknown[], from: number): unknown {
  return from === 0 ? rows : Object.fromEntries(rows.map((row, index) => [String(from + index), row]))
}

interface OrderBody {
  quantity: number | string
  package_id: string
  description?: string
}

/** Places an order. There is no key, so a repeated order is another order. */
function order({ account, options }: World, { body, effects }: Call): Answer {
  const { quantity, package_id, description } = body as OrderBody
  const product = account.getProduct(package_id)
  if (product.kind !== 'eSIM') throw new Refused('unknown-package', `${package_id} is a top-up.`)
  const bought = account.buy({ product, key: description ?? null, count: Number(quantity) }, effects)
  return answers.ok(answers.orderBody(bought, shownOf(account, options, ''), true))
}

function shownOf(account: World['account'], { forms }: World['options'], include: string) {
  return { currency: account.currencyCode, include: include.split(','), forms }
}

function topUp({ account, options }: World, { body, effects }: Call): Answer {
  const { package_id, iccid, description } = body as { package_id: string; iccid: string; description?: string }
  const target = account.getEsim(iccid)
  const product = account.getProduct(package_id)
  if (product.kind !== 'topUp' || product.coverage.code !== target.order.product.coverage.code)
    throw new Refused('unknown-package', `${package_id} does not fit eSIM ${iccid}.`)
  const bought = account.buy({ product, key: description ?? null, target }, effects)
  return answers.ok(answers.orderBody(bought, shownOf(account, options, ''), true))
}

/** The packages that an eSIM accepts, in one list without pages. */
function listTopUpsOf({ account, options: { forms } }: World, { params, catalogue }: Call): Answer {
  const { coverage } = account.getEsim(params.iccid!).order.product
  const { products } = catalogue()
  const fitting = products.filter((product) => product.kind === 'topUp' && product.coverage.code === coverage.code)
  return answers.ok(fitting.map((product) => answers.packageEntry(product, account.currencyCode, forms)))
}

/** The filter is a LIKE: it also finds orders whose description merely contains the text. The newest come first. */
function listOrders({ account, options }: World, { query }: Call): Answer {
  const { include = '', 'filter[description]': description, 'filter[code]': code } = query
  const found = account
    .listOrders()
    .filter((one) => description === undefined || one.key?.toLowerCase().includes(description.toLowerCase()))
    .filter((one) => code === undefined || one.reference.includes(code))
    .reverse()
  return paged(
    found.map((one) => answers.orderBody(one, shownOf(account, options, include), false)),
    query,
    25,
  )
}

function findOrder({ account, options }: World, { params, query }: Call): Answer {
  const found = [...account.orders.values()].find(
    ({ reference }) => Number(reference.split('-')[1]) === Number(params.id),
  )
  if (!found) throw new Refused('unknown-order', `There is no order ${params.id}.`)
  return answers.ok(answers.orderBody(found, shownOf(account, options, query.include ?? ''), false))
}
