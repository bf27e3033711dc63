import { randomBytes } from 'node:crypto'
import { STATUS_OF_PROBLEM } from '#parse-body.ts'
import { randomReference } from '#simulated-account.ts'
import { type Order, Refused } from '#simulated-order.ts'
import type { Answer, Call, Description, Operation, Wholesaler, World } from '#wholesaler.ts'
import * as answers from './answers.ts'
import * as shapes from './shapes.ts'

/** Zendit: one key for a purchase, and a look-up by it. */
export function describeZendit(): Description {
  return {
    codeOf: ({ serial, coverage, volume, days }) =>
      `ESIM-${coverage.label}-${days}D-${volume === null ? 'UNL' : `${volume / 1_000_000_000}GB`}-${serial}`,
    hasTopUps: false,
    smdpAddress: 'smdp.zendit.example',
    createReference: randomReference,
    repeatedKey: 'refused',
    createWholesaler,
  }
}

/** Operations: catalogue, order, topUp (an order with an ICCID), query, list, usage, cancel (a refund), refund, balance. */
function createWholesaler(world: World): Wholesaler {
  const credentials = { apiKey: randomBytes(16).toString('hex'), ...world.options.credentials }
  return {
    basePath: '/v1',
    credentials,
    operations: listOperations(world),
    authenticate: ({ headers }) =>
      headers.authorization === `Bearer ${credentials.apiKey}`
        ? undefined
        : answers.failure(401, 'unauthorized', 'The API key is wrong.'),
    refuse: (reason, message, code) =>
      answers.failure(answers.STATUS_OF_REFUSAL[reason], code ?? reason.replaceAll('-', '_'), message),
    refuseShape: ({ kind, path }) =>
      answers.failure(STATUS_OF_PROBLEM[kind] ?? 400, 'invalid_request', `${path}: ${kind}`),
    eventsOf: (change) =>
      'order' in change ? [{ body: answers.purchaseBody(world.account, change.order, world.options.forms) }] : [],
  }
}

function listOperations(world: World): Operation[] {
  const { account, options } = world
  const purchases = '/v1/esim/purchases'
  const balance = () =>
    answers.ok({ availableBalance: account.balance / 100, currency: account.currencyCode, currencyDivisor: 100 })
  return [
    {
      ...{ name: 'catalogue', at: 'GET /v1/esim/offers', query: shapes.OFFERS },
      run: (call) => listOffers(call, options.forms),
    },
    { name: nameOfPurchase, at: `POST ${purchases}`, body: shapes.PURCHASE, run: (call) => purchase(world, call) },
    { name: 'list', at: `GET ${purchases}`, query: shapes.PURCHASES, run: (call) => listPurchases(world, call) },
    {
      ...{ name: 'query', at: `GET ${purchases}/{transactionId}` },
      run: ({ params }) => answers.ok(answers.purchaseBody(account, getPurchase(world, params), options.forms)),
    },
    {
      ...{ name: 'cancel', at: `POST ${purchases}/{transactionId}/refund`, body: shapes.NOTHING, isBodyOptional: true },
      run: ({ params }) => refund(world, params),
    },
    { name: 'refund', at: `GET ${purchases}/{transactionId}/refund`, run: ({ params }) => showRefund(world, params) },
    { name: 'usage', at: 'GET /v1/esim/{iccId}/plans', run: ({ params }) => listPlans(world, params) },
    { name: 'balance', at: 'GET /v1/balance', run: balance },
  ]
}

const nameOfPurchase = (body: unknown) => ((body as { iccid?: unknown }).iccid === undefined ? 'order' : 'topUp')

function listOffers({ query, catalogue }: Call, forms: World['options']['forms']): Answer {
  const { products, currencyCode } = catalogue()
  const { _limit, _offset, country } = query
  const offers = products.filter(({ coverage }) => country === undefined || coverage.code === country)
  return answers.ok(page(offers, _limit, _offset, (product) => answers.offerEntry(product, currencyCode, forms)))
}

function page<Row>(rows: Row[], limitText = '', offsetText = '', entry: (row: Row) => unknown) {
  const [limit, offset] = [Number(limitText), Number(offsetText)]
  return { limit, offset, total: rows.length, list: rows.slice(offset, offset + limit).map(entry) }
}

function purchase({ account, options }: World, { body, effects }: Call): Answer {
  const { transactionId, offerId, iccid } = body as { transactionId: string; offerId: string; iccid?: string }
  const earlier = account.findOrderByKey(transactionId)
  if (earlier && options.repeatedKey === 'refused') throw new Refused('repeated-key', 'The transactionId was used.')
  if (!earlier || options.repeatedKey === 'bought-again') {
    const target = iccid === undefined ? undefined : account.getEsim(iccid)
    const product = account.getProduct(offerId)
    if (target && target.order.product.coverage.code !== product.coverage.code)
      throw new Refused('unknown-package', `${offerId} does not fit eSIM ${iccid}.`)
    account.buy({ product, key: transactionId, target }, effects)
  }
  return answers.ok({ transactionId, status: 'ACCEPTED' })
}

function getPurchase({ account }: World, { transactionId = '' }: Record<string, string>): Order {
  const order = account.findOrderByKey(transactionId)
  if (!order) throw new Refused('unknown-order', `There is no purchase ${transactionId}.`)
  return order
}

/** `createdAt` is a time with an optional comparison before it, such as `gte2026-01-01T00:00:00Z`; `gte` without one. */
function listPurchases({ account, options }: World, { query }: Call): Answer {
  const { _limit, _offset, createdAt, status } = query
  const [, comparison = 'gte', time = ''] = /^(gte|lte|gt|lt|eq)?[:]?(.*)$/.exec(createdAt ?? '') ?? []
  const atMs = Date.parse(time)
  if (createdAt !== undefined && Number.isNaN(atMs)) return answers.failure(400, 'invalid_request', 'createdAt: value')
  const isInTime = ({ createdMs }: Order) => createdAt === undefined || COMPARE[comparison]!(createdMs, atMs)
  const bodies = account
    .listOrders()
    .filter(isInTime)
    .map((order) => answers.purchaseBody(account, order, options.forms))
    .filter((body) => status === undefined || body.status === status)
  return answers.ok(page(bodies, _limit, _offset, (body) => body))
}

const COMPARE: Record<string, (left: number, right: number) => boolean> = {
  gte: (left, right) => left >= right,
  gt: (left, right) => left > right,
  lte: (left, right) => left <= right,
  lt: (left, right) => left < right,
  eq: (left, right) => left === right,
}

/** Refunds a purchase immediately if its eSIM is not installed, and otherwise refuses. */
function refund(world: World, params: Record<string, string>): Answer {
  const order = getPurchase(world, params)
  const [esim] = order.esims
  if (!esim) throw new Refused('wrong-state', 'Only a delivered eSIM is refunded.')
  world.account.cancel(esim)
  return answers.ok({ transactionId: order.key, status: 'ACCEPTED' })
}

function showRefund(world: World, params: Record<string, string>): Answer {
  const order = getPurchase(world, params)
  if (order.state !== 'cancelled') throw new Refused('unknown-order', `There is no refund of ${order.key}.`)
  return answers.ok({ transactionId: order.key, status: 'DONE' })
}

function listPlans({ account, options }: World, { iccId = '' }: Record<string, string>): Answer {
  const esim = account.getEsim(iccId)
  return answers.ok({ iccId, list: esim.plans.map((plan) => answers.planEntry(account, esim, plan, options.forms)) })
}
