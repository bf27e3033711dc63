import { setTimeout as delay } from 'node:timers/promises'
import { type ProcessorTime, processorClock, spentPerCall } from '../cpu.ts'
import type { Environment } from '../environment.ts'
import type { BenchGateway } from '../gateway.ts'
import { type Credentials, orderBody, requireSuccess, sendAll, signedRequest } from '../load.ts'
import { setEndpoints } from '../webhooks/events.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

const POLL_MS = 25
/** Longer than any measurement: an eSIM that was not delivered by then will not be. */
const PATIENCE_MS = 120_000

/** A gateway with both roles, dealers whose events go to a receiver, and the sandbox as supplier. */
export interface Selling {
  gateway: BenchGateway
  dealers: readonly (Credentials & { tenantId: string })[]
  receiver: Receiver
  stop(): Promise<void>
}

export async function startSelling(bench: Environment, dealerCount: number): Promise<Selling> {
  const receiver = await startReceiver()
  const gateway = await bench.startAll()
  const dealers = await bench.createTenants(dealerCount)
  await setEndpoints(
    bench,
    receiver.ordersUrl,
    dealers.map(({ tenantId }) => tenantId),
  )
  return {
    gateway,
    dealers,
    receiver,
    async stop() {
      await gateway.stop()
      receiver.stop()
    },
  }
}

export interface Sold extends ProcessorTime {
  perSecond: number
}

/** Sells one eSIM per order and waits until each is delivered and all events are acknowledged. Times are per eSIM. */
export async function sell(bench: Environment, selling: Selling, count: number, connections: number): Promise<Sold> {
  const { dealers, gateway, receiver } = selling
  const requests = Array.from({ length: count }, (_, index) =>
    signedRequest(dealers[index % dealers.length]!, 'esim/order', orderBody()),
  )
  const processorTime = await processorClock(bench.db, gateway.pid)
  const before = processorTime()
  const started = performance.now()
  requireSuccess(await sendAll(gateway.baseUrl, requests, connections))
  // Asking the database all the time took a tenth of the server's time.
  await Promise.race([receiver.take(count), delay(PATIENCE_MS, undefined, { ref: false })])
  await untilAcknowledged(bench, selling)
  const seconds = (performance.now() - started) / 1000
  return { perSecond: count / seconds, ...spentPerCall(before, processorTime(), count) }
}

/** Waits until no order is due and no event is undelivered, as far as the database knows. */
async function untilAcknowledged({ db }: Environment, { dealers }: Selling): Promise<void> {
  const tenantIds = dealers.map(({ tenantId }) => tenantId)
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const [row] = await db.query<{ open: boolean }>({
      text: `select exists (select from orders where tenant_id = any ($1::uuid[]) and due_at is not null)
               or exists (select from deliveries where tenant_id = any ($1::uuid[])) as open`,
      values: [tenantIds],
    })
    if (!row!.open) return
    if (performance.now() > deadline) throw new Error('some eSIMs were not delivered, or some events not acknowledged')
    await delay(POLL_MS)
  }
}

/** Checks that each order delivered one eSIM and was reported. @throws otherwise */
export async function verifySold({ db }: Environment, { dealers }: Selling, orders: number): Promise<string> {
  const [found] = await db.query<Record<'delivered' | 'esims' | 'paid' | 'updates' | 'reported', number>>({
    text: `select (select count(*)::int from orders where tenant_id = any ($1) and order_status = 'DELIVERED') as delivered,
                  (select count(*)::int from profiles where tenant_id = any ($1)) as esims,
                  (select count(*)::int from events where tenant_id = any ($1) and notify_type = 'ORDER_PAID') as paid,
                  (select count(*)::int from events where tenant_id = any ($1)
                   and notify_type = 'DELIVERY_UPDATED') as updates,
                  (select count(distinct order_id)::int from events where tenant_id = any ($1)
                   and notify_type = 'DELIVERY_UPDATED' and content->>'orderStatus' = 'DELIVERED') as reported`,
    values: [dealers.map(({ tenantId }) => tenantId)],
  })
  const { delivered, esims, paid, updates, reported } = found!
  if ([delivered, esims, paid, reported].some((count) => count !== orders)) {
    throw new Error(`${orders} orders acknowledged, found ${JSON.stringify(found)}`)
  }
  return `${orders} orders acknowledged, as many delivered eSIMs and reports of them found; ${(updates / orders).toFixed(2)} DELIVERY_UPDATED an order`
}
