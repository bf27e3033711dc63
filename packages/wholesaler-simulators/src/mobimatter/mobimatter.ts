import { createSign, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { STATUS_OF_PROBLEM } from '#parse-body.ts'
import { randomReference } from '#simulated-account.ts'
import { type Change, Refused } from '#simulated-order.ts'
import type { Answer, Call, Description, EventMessage, Operation, Wholesaler, World } from '#wholesaler.ts'
import * as answers from './answers.ts'
import * as shapes from './shapes.ts'

/**
 * MobiMatter: it accepts no key, but has two steps. Creating an order holds the money; completing it captures the money and
 * delivers.
 */
export function describeMobimatter(): Description {
  return {
    codeOf: ({ serial, kind }) =>
      `${kind === 'topUp' ? 'a' : 'e'}0000000-0000-4000-8000-${String(serial).padStart(12, '0')}`,
    smdpAddress: 'smdp.mobimatter.example',
    createReference: (kind, serial) => (kind === 'order' ? `MM-${100_000 + serial}` : randomReference()),
    repeatedKey: 'bought-again',
    createWholesaler,
  }
}

/** All simulators of a process sign with this key: generating one takes a tenth of a second of processor time. */
let keys: ReturnType<typeof generateKeyPairSync> | undefined

/** Operations: catalogue, order and topUp (the first step), complete, cancel, query, usage, balance. */
function createWholesaler(world: World): Wholesaler {
  keys ??= generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { publicKey, privateKey } = keys
  const credentials = {
    apiKey: randomBytes(16).toString('hex'),
    merchantId: randomUUID(),
    /** The key with which receivers verify events. */
    webhookPublicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    ...world.options.credentials,
  }
  /** The signature is a member of the event, over three members of the order. */
  function sign({ eventType, eventData }: UnsignedEvent): EventMessage {
    const { orderId, merchantId, orderLineItem } = eventData
    const text = `${orderId}.${merchantId}.${orderLineItem.providerName}`
    const signature = createSign('sha256').update(text).sign(privateKey, 'base64')
    return { body: { eventType, signature, eventData } }
  }
  return {
    basePath: '/mobimatter',
    credentials,
    operations: listOperations(world),
    authenticate: ({ headers }) =>
      headers['api-key'] === credentials.apiKey && headers.merchantid === credentials.merchantId
        ? undefined
        : answers.failure(401, 'The API key or the merchant is wrong.'),
    refuse: (reason, message, code) =>
      answers.failure(code === undefined ? answers.STATUS_OF_REFUSAL[reason] : Number(code), message),
    refuseShape: ({ kind, path }) => answers.failure(STATUS_OF_PROBLEM[kind] ?? 400, `${path}: ${kind}`),
    eventsOf: (change) => eventsOf(world, change, credentials.merchantId).map(sign),
  }
}

/** The events for a change. MobiMatter sends one only when an order has ended. */
function eventsOf({ account, options }: World, change: Change, merchantId: string): UnsignedEvent[] {
  if (!('order' in change)) return []
  const ending = change.kind === 'delivered' ? 'completed' : 'failed'
  const eventData = { ...answers.orderBody(change.order, account.currencyCode, options.forms), merchantId }
  return [{ eventType: `order.${answers.categoryOf(change.order.product)}.${ending}`, eventData }]
}

interface UnsignedEvent {
  eventType: string
  eventData: ReturnType<typeof answers.orderBody> & { merchantId: string }
}

function listOperations(world: World): Operation[] {
  const { account, options } = world
  const { forms } = options
  const root = '/mobimatter/api/v2'
  const show = (orderId: string) =>
    answers.ok(answers.orderBody(account.getOrder(orderId), account.currencyCode, forms))
  return [
    {
      ...{ name: 'catalogue', at: `GET ${root}/products`, query: shapes.PRODUCTS },
      run: (call) => listProducts(call, forms),
    },
    { name: nameOfCreate, at: `POST ${root}/order`, body: shapes.CREATE, run: (call) => create(world, call) },
    {
      ...{ name: 'complete', at: `PUT ${root}/order/complete`, body: shapes.COMPLETE },
      run({ body, effects }) {
        const { orderId } = body as { orderId: string }
        account.complete(account.getOrder(orderId), effects)
        return show(orderId)
      },
    },
    {
      ...{ name: 'cancel', at: `PUT ${root}/order/cancel`, body: shapes.CANCEL },
      run({ body }) {
        const { orderId } = body as { orderId: string }
        account.release(account.getOrder(orderId))
        return show(orderId)
      },
    },
    { name: 'query', at: `GET ${root}/order/{orderId}`, run: ({ params }) => show(params.orderId!) },
    {
      ...{ name: 'usage', at: `GET ${root}/provider/info/{orderId}` },
      run({ params }) {
        const [esim] = account.getOrder(params.orderId!).esims
        if (!esim) throw new Refused('unknown-esim', `Order ${params.orderId} has no eSIM.`)
        return answers.ok(answers.infoBody(account, esim, forms))
      },
    },
    {
      ...{ name: 'balance', at: `GET ${root}/merchant/balance` },
      run: () => answers.ok({ balance: account.balance / 10_000, currency: account.currencyCode }),
    },
  ]
}

const nameOfCreate = (body: unknown) =>
  (body as { productCategory?: unknown }).productCategory === 'esim_addon' ? 'topUp' : 'order'

/** Returns all products together, because the interface has no pages. */
function listProducts({ query, catalogue }: Call, forms: World['options']['forms']): Answer {
  const { products, currencyCode } = catalogue()
  const { productCategory, category = productCategory, productFamilyId, country } = query
  const listed = products.filter(
    (product) =>
      (category === undefined || answers.categoryOf(product) === category) &&
      (productFamilyId === undefined || answers.familyOf(product) === productFamilyId) &&
      (country === undefined || product.coverage.countries.includes(country)),
  )
  return answers.ok(listed.map((product) => answers.productEntry(product, currencyCode, forms)))
}

interface CreateBody {
  productId: string
  productCategory: string
  addOnOrderIdentifier?: string
  label?: string
}

function create({ account, options }: World, { body, effects }: Call): Answer {
  const { productId, productCategory, addOnOrderIdentifier, label } = body as CreateBody
  const product = account.getProduct(productId)
  if (answers.categoryOf(product) !== productCategory)
    throw new Refused('unknown-package', `${productId} is not of the category ${productCategory}.`)
  if ((product.kind === 'topUp') !== (addOnOrderIdentifier !== undefined))
    throw new Refused('wrong-state', 'An add-on, and nothing else, has an addOnOrderIdentifier.')
  const first = addOnOrderIdentifier === undefined ? undefined : account.getOrder(addOnOrderIdentifier)
  const [target] = first?.esims ?? []
  if (first && (!target || answers.familyOf(first.product) !== answers.familyOf(product)))
    throw new Refused('wrong-state', `${productId} does not fit order ${addOnOrderIdentifier}.`)
  const order = account.hold({ product, key: label ?? null, target }, effects, options.holdMs)
  return answers.ok({ orderId: order.reference, orderState: 'Created' })
}
