/**
 * The endpoint for `dealer-esim certify`, before the smallest shop that passes. Replace the shop by your own integration, and keep
 * the endpoint in your test environment.
 *
 *     DEALER_ESIM_BASE_URL=http://127.0.0.1:4646 DEALER_ESIM_APP_KEY=… DEALER_ESIM_APP_SECRET=… npx tsx certify-shop.mts
 */
import { createServer, type IncomingMessage } from 'node:http'
import { DealerEsim, DealerEsimError, newTransactionId, nodeWebhook, type QueryAnswer } from '@dealer-esim/sdk'

export interface Purchase {
  transactionId: string
  packageCode: string
  count: number
  price: number
  status: string
  esims: number
  refundedAmount: number
  handedOver: number
}

export class Shop {
  /** A table in a database of yours. */
  readonly purchases = new Map<string, Purchase>()

  constructor(readonly esim: DealerEsim) {}

  /** The checkout: the purchase has its transactionId before the gateway is called. */
  async order(reference: string, packageCode: string, count: number, price: number): Promise<void> {
    const outcome = { status: 'PENDING', esims: 0, refundedAmount: 0, handedOver: 0 }
    const purchase = { transactionId: newTransactionId(), packageCode, count, price, ...outcome }
    this.purchases.set(reference, purchase)
    await this.buy(purchase)
  }

  /** A job for each minute: repeats what is open, under the same transactionId. */
  async settle(): Promise<void> {
    for (const purchase of this.purchases.values()) if (purchase.status === 'PENDING') await this.buy(purchase)
  }

  async buy(purchase: Purchase): Promise<void> {
    const { transactionId, packageCode, count, price } = purchase
    try {
      await this.esim.order({ transactionId, packageInfoList: [{ packageCode, count, price }] })
      this.apply(purchase, await this.esim.query({ transactionId }))
    } catch (error) {
      if (!(error instanceof DealerEsimError)) throw error
      if (!isOpen(error)) purchase.status = 'REFUSED'
    }
  }

  /** An event says that something changed; the order says what. So it does not matter how often and in which sequence they come. */
  async event(transactionId: string): Promise<void> {
    const purchase = [...this.purchases.values()].find((each) => each.transactionId === transactionId)
    if (purchase) this.apply(purchase, await this.esim.query({ transactionId }))
  }

  apply(purchase: Purchase, { orderStatus, profileList, refundedAmount }: QueryAnswer): void {
    const ends: Record<string, string> = { CANCELLED: 'FAILED', FAILED: 'FAILED' }
    const isDelivered = orderStatus === 'DELIVERED' || orderStatus === 'PARTIALLY_DELIVERED'
    purchase.status = isDelivered ? orderStatus : (ends[orderStatus] ?? 'PENDING')
    purchase.esims = profileList.length
    purchase.refundedAmount = refundedAmount
    if (isDelivered && purchase.handedOver === 0) purchase.handedOver += 1 // mail the links, once
  }
}

/** Nothing is decided yet: the purchase stays open, and is repeated. */
function isOpen({ outcomeUnknown, httpStatus = 500, code }: DealerEsimError): boolean {
  return outcomeUnknown || httpStatus >= 500 || httpStatus === 429 || code === '101001'
}

/** Serves the endpoint and the route for events. */
export function serveShop(shop: Shop, appSecret: string) {
  const receive = nodeWebhook({
    appSecret,
    onEvent: (event) =>
      'transactionId' in event.content ? shop.event(String(event.content.transactionId)) : undefined,
  })
  return createServer(async (request, response) => {
    if (request.url === '/esim-events') return receive(request, response)
    const { command, reference, packageCode, count, price } = await readJson(request)
    if (command === 'order') await shop.order(reference, packageCode, count, price)
    if (command === 'settle') await shop.settle()
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(shop.purchases.get(reference) ?? {}))
  })
}

async function readJson(request: IncomingMessage) {
  let body = ''
  for await (const chunk of request) body += chunk
  return JSON.parse(body)
}

if (import.meta.filename === process.argv[1]) {
  const {
    DEALER_ESIM_BASE_URL: baseUrl = '',
    DEALER_ESIM_APP_KEY: appKey = '',
    DEALER_ESIM_APP_SECRET = '',
  } = process.env
  const esim = new DealerEsim({ baseUrl, appKey, appSecret: DEALER_ESIM_APP_SECRET, timeoutMs: 10_000, retries: 1 })
  serveShop(new Shop(esim), DEALER_ESIM_APP_SECRET).listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
}
