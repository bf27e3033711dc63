import { randomBytes } from 'node:crypto'
import { STATUS_OF_PROBLEM } from '#parse-body.ts'
import { randomReference } from '#simulated-account.ts'
import { type Order, Refused } from '#simulated-order.ts'
import type { Answer, Call, Description, Operation, Wholesaler, World } from '#wholesaler.ts'
import * as answers from './answers.ts'
import * as shapes from './shapes.ts'

/** eSIM Go v2.5: it accepts no key. Two equal orders differ only in their reference and time. */
export function describeEsimGo(): Description {
  return {
    codeOf: ({ coverage, volume, days }) =>
      `esim_${volume === null ? 'UL' : `${volume / 1_000_000_000}GB`}_${days}D_${coverage.label}_V2`,
    hasTopUps: false,
    smdpAddress: 'smdp.esim-go.example',
    createReference: randomReference,
    repeatedKey: 'bought-again',
    createWholesaler,
  }
}

/** Operations: catalogue, order, topUp (an order with ICCIDs), query, list, usage, cancel, sms, balance. */
function createWholesaler(world: World): Wholesaler {
  const credentials = { apiKey: randomBytes(24).toString('base64url'), ...world.options.credentials }
  return {
    basePath: '/v2.5',
    credentials,
    operations: listOperations(world),
    authenticate: ({ headers }) =>
      headers['x-api-key'] === credentials.apiKey ? undefined : answers.failure(403, 'access denied'),
    refuse(reason, message, code) {
      if (code !== undefined) return answers.failure(Number(code), message)
      if (reason === 'down') return answers.PROCESSING
      const isDeactivated = reason === 'unauthorized' && world.options.forms.has('deactivated-account')
      return answers.failure(isDeactivated ? answers.DEACTIVATED : answers.STATUS_OF_REFUSAL[reason], message)
    },
    refuseShape: ({ kind, path }) => answers.failure(STATUS_OF_PROBLEM[kind] ?? 400, `${path}: ${kind}`),
    eventsOf: (change) => answers.eventsOf(world, change, credentials.apiKey),
  }
}

function listOperations(world: World): Operation[] {
  const { account, options } = world
  const get = (name: string, path: string, run: Operation['run'], query?: Operation['query']): Operation => ({
    name,
    at: `GET /v2.5/${path}`,
    ...(query && { query }),
    run,
  })
  return [
    get('catalogue', 'catalogue', (call) => listBundles(call, options.forms), shapes.CATALOGUE),
    { name: nameOfOrder, at: 'POST /v2.5/orders', body: shapes.ORDER, run: (call) => order(world, call) },
    get('list', 'orders', (call) => listOrders(world, call), shapes.ORDERS),
    get('query', 'orders/{reference}', (call) => findOrder(world, call), shapes.ONE_ORDER),
    get(
      'usage',
      'esims/{iccid}/bundles',
      ({ params }) => {
        const esim = account.getEsim(params.iccid!)
        return answers.ok({ bundles: esim.plans.map((plan) => answers.assignmentEntry(account, esim, plan)) })
      },
      shapes.BUNDLES,
    ),
    {
      ...{ name: 'cancel', at: 'DELETE /v2.5/esims/{iccid}/bundles/{name}', query: shapes.REVOKE },
      run: (call) => revoke(world, call),
    },
    {
      ...{ name: 'sms', at: 'POST /v2.5/esims/{iccid}/sms', body: shapes.SMS },
      run({ params }) {
        account.getEsim(params.iccid!)
        return answers.ok({ status: 'sent' })
      },
    },
    get('balance', 'organisation', () => {
      const { balance, currencyCode } = account
      const organisation = { name: 'Trial', balance: balance / 10_000, currency: currencyCode }
      return answers.ok(options.forms.has('organisation-object') ? organisation : { organisations: [organisation] })
    }),
  ]
}

const nameOfOrder = (body: unknown) => {
  const { order: lines } = body as { order?: { iccids?: unknown }[] }
  return Array.isArray(lines) && lines[0]?.iccids !== undefined ? 'topUp' : 'order'
}

function listBundles({ query, catalogue }: Call, forms: World['options']['forms']): Answer {
  const { products } = catalogue()
  const { countries } = query
  const wanted = countries?.split(',')
  const listed = products.filter(({ coverage }) => !wanted || coverage.countries.some((iso) => wanted.includes(iso)))
  const perPage = Number(query.perPage ?? 50)
  const page = Number(query.page ?? 1)
  return answers.ok({
    bundles: listed.slice((page - 1) * perPage, page * perPage).map((product) => answers.bundleEntry(product, forms)),
    pageCount: Math.ceil(listed.length / perPage),
    rows: listed.length,
    pageSize: perPage,
  })
}

interface OrderBody {
  type: 'transaction' | 'validate'
  order: [{ quantity: number; item: string; iccids?: string[] }]
}

/** A top-up is for one eSIM: an order for several, which the gateway never sends, is refused. */
function order({ account }: World, { body, effects }: Call): Answer {
  const { type, order: lines } = body as OrderBody
  const [{ quantity, item, iccids }] = lines
  const product = account.getProduct(item)
  if (iccids && (iccids.length > 1 || quantity > 1)) return answers.failure(400, 'Top up one eSIM at a time.')
  const target = iccids ? account.getEsim(iccids[0]!) : undefined
  if (type === 'validate') {
    const total = (product.price * quantity) / 10_000
    return answers.ok({ order: lines, total, currency: account.currencyCode, valid: product.inStock })
  }
  const bought = account.buy({ product, key: null, count: quantity, target }, effects)
  return answers.ok({
    ...answers.orderBody(account, bought),
    runningBalance: account.balance / 10_000,
  })
}

function listOrders({ account }: World, { query }: Call): Answer {
  const { createdAt } = query
  const [, comparison = 'gte', time = ''] = /^(gte|gt|lte|lt):(.*)$/.exec(createdAt ?? '') ?? []
  const atMs = Date.parse(time)
  if (createdAt !== undefined && Number.isNaN(atMs)) return answers.failure(400, 'createdAt: value')
  const isInTime = ({ createdMs }: Order) => createdAt === undefined || COMPARE[comparison]!(createdMs, atMs)
  const found = account.listOrders().filter(isInTime).reverse()
  const limit = Number(query.limit ?? 50)
  const page = Number(query.page ?? 1)
  const withIccids = query.includeIccids !== undefined && query.includeIccids !== 'false'
  const rows = found.slice((page - 1) * limit, page * limit)
  return answers.ok({
    orders: rows.map((one) => answers.orderBody(account, one, { withIccids })),
    pageCount: Math.ceil(found.length / limit),
    rows: found.length,
    pageSize: limit,
  })
}

const COMPARE: Record<string, (left: number, right: number) => boolean> = {
  gte: (left, right) => left >= right,
  gt: (left, right) => left > right,
  lte: (left, right) => left <= right,
  lt: (left, right) => left < right,
}

function findOrder({ account }: World, { params }: Call): Answer {
  const found = account.getOrder(params.reference!)
  if (found.state === 'pending') return answers.PROCESSING
  return answers.ok(answers.orderBody(account, found))
}

/** Removes the latest bundle with that name from the eSIM, if it has not started. */
function revoke({ account }: World, { params, query }: Call): Answer {
  const esim = account.getEsim(params.iccid!)
  const plan = esim.plans.findLast(({ product, isRevoked }) => product.code === params.name && !isRevoked)
  if (!plan) throw new Refused('wrong-state', `eSIM ${params.iccid} has no bundle ${params.name}.`)
  if (query.type === 'transaction') account.revokePlan(esim, plan)
  return answers.ok({ status: 'Successfully Revoked Bundle' })
}
