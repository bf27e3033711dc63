import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export const API_KEY = 'the-key'
export const ICCID = '8999900000000000017'

interface Order {
  requestId: string
  productId: string
  status: string
  createdAt: string
  esim?: object
  price: object
}

export interface ExampleServer {
  url: string
  /** Every order that was taken, the oldest first. */
  orders: Order[]
  close(): Promise<void>
}

const PRICE = { amount: '4.50', currency: 'USD' }
const PRODUCTS = [
  { id: 'FR-1GB', name: 'France 1 GB', countries: ['FR', 'EUROPE'], megabytes: 1_000, days: 7, price: PRICE },
  { id: 'NO-PRICE', name: 'Without a price', countries: ['FR'], megabytes: 1_000, days: 7 },
]
/** Products whose purchase is refused, with the code of the refusal. */
const REFUSALS = new Map([
  ['SOLD-OUT', 'NO_STOCK'],
  ['TOO-EXPENSIVE', 'NO_MONEY'],
  ['UNDOCUMENTED', 'NO_LUCK'],
])

/** The wholesaler of the README's example. The product `ANSWER-LOST` is sold, and the connection is closed without an answer. */
export async function startExampleServer(): Promise<ExampleServer> {
  const orders: Order[] = []
  const server = createServer((request, response) => void answer(orders, request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    orders,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function answer(orders: Order[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
  const send = (status: number, body: object) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  if (request.headers['x-api-key'] !== API_KEY) return send(401, { error: 'NO_ACCESS' })
  if (request.method === 'POST') {
    const wanted = (await json(request)) as Wanted
    const error = REFUSALS.get(wanted.productId)
    if (error !== undefined) return send(422, { error })
    const order = take(orders, wanted)
    return wanted.productId === 'ANSWER-LOST' ? void response.destroy() : send(200, order)
  }
  if (pathname === '/v1/products') return send(200, { items: PRODUCTS })
  if (pathname === '/v1/balance') return send(200, { balance: { amount: '99.95', currency: 'USD' } })
  const since = searchParams.get('since')
  if (since !== null) return send(200, { items: orders.filter(({ createdAt }) => createdAt >= since) })
  const order = orders.find(({ requestId }) => pathname === `/v1/orders/${requestId}`)
  return order ? send(200, order) : send(404, { error: 'NO_ORDER' })
}

interface Wanted {
  requestId: string
  productId: string
  iccid?: string
}

/** A repeated requestId returns the first order. */
function take(orders: Order[], { requestId, productId, iccid = ICCID }: Wanted): Order {
  const earlier = orders.find((order) => order.requestId === requestId)
  if (earlier) return earlier
  const esim = { iccid, activationCode: 'LPA:1$smdp.example.com$M-1' }
  const delivery = productId === 'LATER' ? { status: 'PENDING' } : { status: 'DELIVERED', esim }
  const order = { requestId, productId, ...delivery, createdAt: new Date().toISOString(), price: PRICE }
  orders.push(order)
  return order
}
