import { makeIccid, orderNoOf } from '@dealer-esim/contract'
import { createIds, type Ids } from '@dealer-esim/lib/ids.ts'
import type { CataloguePackage } from '#catalogue/catalogue.ts'

export interface TrialDealer {
  clientName: string
  currencyCode: string
  ordersPerDay: number
  /** Absent: the dealer has no endpoint, and its events are unsent. */
  callbackUrl?: string
}

/** The rows of one week of a dealer's business, by table. Members are named like the columns, in camelCase. */
export type WeekRows = Record<
  | 'orders'
  | 'order_items'
  | 'transfers'
  | 'supplier_attempts'
  | 'profiles'
  | 'events'
  | 'deliveries'
  | 'delivery_attempts',
  object[]
>

export interface Product {
  item: CataloguePackage
  price: bigint
}

export interface WeekInput extends Omit<TrialDealer, 'clientName'> {
  tenantId: string
  products: readonly Product[]
  /** The wallet's balance before this week. */
  balance: bigint
  version: bigint
  week: number
  startMs: number
  endMs: number
  nowMs: number
  encryptSecrets(esim: { iccid: string; smdpAddress: string; matchingId: string }): Buffer
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Enough for a week of the busiest dealer. */
const TOP_UP = 9_000_000n
const SMDP_ADDRESS = 'sandbox.dealer-esim.example'
const REFUSAL = 'The sandbox has no profile of this product left.'

/** Creates a week of orders with everything that follows from them. The same input gives the same week, except for ids. */
export function makeWeek(input: WeekInput): { rows: WeekRows; balance: bigint; version: bigint } {
  return new WeekMaker(input).make()
}

/** How orders end, by frequency. */
const ENDS = [
  { upTo: 0.91, end: 'DELIVERED' },
  { upTo: 0.95, end: 'FAILED' },
  { upTo: 0.98, end: 'PARTIALLY_DELIVERED' },
  { upTo: 1, end: 'CANCELLED' },
] as const
type End = (typeof ENDS)[number]['end']

interface Esim {
  profileId: string
  iccid: string
  activateMs: number | undefined
}

class WeekMaker {
  readonly #input: WeekInput
  readonly #random: () => number
  readonly #ids: Ids
  readonly #rows: WeekRows = {
    ...{ orders: [], order_items: [], transfers: [], supplier_attempts: [] },
    ...{ profiles: [], events: [], deliveries: [], delivery_attempts: [] },
  }
  #balance: bigint
  #version: bigint
  /** The time of the next id. */
  #idMs = 0

  constructor(input: WeekInput) {
    this.#input = input
    this.#random = randomFrom(input.week * 7_919 + input.ordersPerDay)
    this.#ids = createIds(() => this.#idMs)
    this.#balance = input.balance
    this.#version = input.version
  }

  make(): { rows: WeekRows; balance: bigint; version: bigint } {
    const { startMs, endMs, week } = this.#input
    const reference = `bank transfer of week ${week + 1}`
    this.#post(startMs, { kind: 'TOP_UP', amount: TOP_UP, reference, actor: 'system' })
    // A wallet's movements must be in chronological order, so each order is finished before the next one begins.
    for (const atMs of this.#orderTimes(startMs, endMs)) this.#makeOrder(atMs)
    return { rows: this.#rows, balance: this.#balance, version: this.#version }
  }

  #orderTimes(startMs: number, endMs: number): number[] {
    const times: number[] = []
    for (let dayMs = startMs + HOUR_MS; dayMs < endMs - HOUR_MS; dayMs += DAY_MS) {
      const count = Math.round(this.#input.ordersPerDay * (0.6 + 0.8 * this.#random()))
      for (let index = 0; index < count; index++)
        times.push(Math.floor(dayMs + this.#random() * (DAY_MS - 3 * HOUR_MS)))
    }
    return times.sort((a, b) => a - b)
  }

  #idAt(ms: number): string {
    this.#idMs = ms
    return this.#ids.uuid()
  }

  #post(ms: number, movement: { kind: string; amount: bigint; [member: string]: unknown }): void {
    const { kind, amount, ...members } = movement
    const [fromAccount, toAccount] = ACCOUNTS[kind]!
    this.#balance += toAccount === 'WALLET' ? amount : -amount
    this.#version += 1n
    this.#rows.transfers.push({
      ...{ tenantId: this.#input.tenantId, walletVersion: this.#version, kind, fromAccount, toAccount, amount },
      ...{ balanceAfter: this.#balance, orderId: null, itemNo: null, reference: null, reason: null, actor: null },
      ...{ ...members, createdAt: timeOf(ms) },
    })
  }

  #makeOrder(paidMs: number): void {
    const { tenantId, currencyCode, products } = this.#input
    // A few packages account for most sales.
    const { item, price } = products[Math.floor(this.#random() ** 2 * products.length)]!
    const count = this.#random() < 0.75 ? 1 : 2 + Math.floor(this.#random() * 2)
    const end = this.#endOf(count)
    const orderId = this.#idAt(paidMs)
    const amount = price * BigInt(count)
    this.#post(paidMs, { kind: 'ORDER', amount, orderId })
    const [balanceAfter, walletVersion] = [this.#balance, this.#version]
    const endedMs = paidMs + 800 + Math.floor(this.#random() * 9_000)
    const { packageCode, name: packageName, cancelPolicy } = item
    const line = { packageCode, packageName, count, price: Number(price), cancelPolicy }
    const transactionId = `WEB-${orderNoOf(orderId).slice(0, 12)}`
    const { esims, refunded } = this.#makeItems({ orderId, item, price, count, end, paidMs, endedMs })
    const order = { orderNo: orderNoOf(orderId), transactionId, orderType: 'NEW', esimTranNo: null }
    const eventSequence = this.#makeEvents({
      ...{ orderId, order, end, paidMs, endedMs, esims, refunded },
      paid: {
        amount: Number(amount),
        currencyCode,
        balanceAfter: Number(balanceAfter),
        packageInfoList: [publicLine(line)],
      },
    })
    this.#rows.orders.push({
      ...{ tenantId, orderId, transactionId, orderType: 'NEW', orderStatus: end, amount, refundedAmount: refunded },
      ...{ currencyCode, balanceAfter, walletVersion, packageLines: [line], eventSequence, dueAt: null },
      statusHistory: historyOf(end, paidMs, endedMs),
      ...{ createdAt: timeOf(paidMs), updatedAt: timeOf(endedMs) },
    })
  }

  #endOf(count: number): End {
    const chance = this.#random()
    const { end } = ENDS.find(({ upTo }) => chance < upTo)!
    return end === 'PARTIALLY_DELIVERED' && count === 1 ? 'DELIVERED' : end
  }

  #makeItems(of: ItemsInput): { esims: Esim[]; refunded: bigint } {
    const { orderId, item, price, count, end, endedMs } = of
    const esims: Esim[] = []
    let refunded = 0n
    for (let itemNo = 1; itemNo <= count; itemNo++) {
      const isDelivered = end === 'DELIVERED' || (end === 'PARTIALLY_DELIVERED' && itemNo === 1)
      this.#makeItem(of, itemNo, isDelivered)
      if (isDelivered) esims.push(this.#makeEsim(orderId, itemNo, item, endedMs))
      else {
        refunded += price
        const reason = end === 'CANCELLED' ? 'cancelled before it was ordered' : REFUSAL
        this.#post(endedMs, { kind: 'REFUND', amount: price, orderId, itemNo, reason })
      }
    }
    return { esims, refunded }
  }

  #makeItem({ orderId, item, price, end, paidMs, endedMs }: ItemsInput, itemNo: number, isDelivered: boolean): void {
    const { tenantId } = this.#input
    const { supplier, productCode, cost, costCurrency } = item.routes[0]!
    const isAsked = end !== 'CANCELLED'
    this.#rows.order_items.push({
      ...{ tenantId, orderId, itemNo, lineNo: 0, packageCode: item.packageCode, price },
      itemStatus: isDelivered ? 'DELIVERED' : isAsked ? 'REFUSED' : 'CANCELLED',
      ...{ supplier: isAsked ? supplier : null, productCode: isAsked ? productCode : null },
      ...{ cost: isAsked ? cost : null, costCurrency: isAsked ? costCurrency : null },
      ...{ attempts: isAsked ? 1 : 0, requestedAt: isAsked ? timeOf(paidMs + 50) : null },
      ...{ failureReason: isDelivered || !isAsked ? null : REFUSAL, updatedAt: timeOf(endedMs) },
    })
    if (!isAsked) return
    this.#rows.supplier_attempts.push({
      ...{ tenantId, attemptId: this.#idAt(paidMs + 50), orderId, itemNo, supplier, operation: 'ORDER' },
      ...{ leaseToken: this.#ids.uuid(), productCode, cost, costCurrency, routeNo: 0 },
      ...{ startedAt: timeOf(paidMs + 50), finishedAt: timeOf(endedMs) },
      ...{ outcome: isDelivered ? 'delivered' : 'refused', message: isDelivered ? null : REFUSAL },
    })
  }

  #makeEsim(orderId: string, itemNo: number, item: CataloguePackage, deliveredMs: number): Esim {
    const { tenantId, nowMs } = this.#input
    const iccid = makeIccid('8985299', Math.floor(this.#random() * 1e10))
    const profileId = this.#idAt(deliveredMs)
    const matchingId = `TRIAL-${profileId.slice(-12).toUpperCase()}`
    const laterMs = deliveredMs + (2 + this.#random() * 90) * HOUR_MS
    const activateMs = this.#random() < 0.8 && laterMs < nowMs ? Math.floor(laterMs) : undefined
    this.#rows.profiles.push({
      ...{ tenantId, profileId, orderId, itemNo, supplier: item.routes[0]!.supplier, iccid, smdpAddress: SMDP_ADDRESS },
      secrets: `\\x${this.#input.encryptSecrets({ iccid, smdpAddress: SMDP_ADDRESS, matchingId }).toString('hex')}`,
      ...{ totalVolume: item.volume, totalDuration: item.duration, durationUnit: item.durationUnit },
      ...this.#stateOf(item, deliveredMs, activateMs),
      ...{ createdAt: timeOf(deliveredMs), updatedAt: timeOf(activateMs ?? deliveredMs) },
    })
    return { profileId, iccid, activateMs }
  }

  #stateOf(
    { volume, duration, unusedValidTime }: CataloguePackage,
    deliveredMs: number,
    activateMs: number | undefined,
  ) {
    const unused = { orderUsage: null, usageUpdateTime: null, activateTime: null, expiredTime: null }
    const installBefore = timeOf(deliveredMs + unusedValidTime * DAY_MS)
    if (activateMs === undefined)
      return { esimStatus: 'GOT_RESOURCE', smdpStatus: 'RELEASED', installBefore, ...unused }
    const { nowMs } = this.#input
    const expiresMs = activateMs + duration * DAY_MS
    const isOver = expiresMs <= nowMs
    const elapsed = Math.min(1, (nowMs - activateMs) / (duration * DAY_MS))
    const usage = Math.floor(Number(volume ?? 0n) * elapsed * (0.3 + 0.65 * this.#random()))
    return {
      ...{ esimStatus: isOver ? 'USED_EXPIRED' : 'IN_USE', smdpStatus: isOver ? 'DISABLED' : 'ENABLED', installBefore },
      ...{ orderUsage: usage, usageUpdateTime: timeOf(Math.min(nowMs, expiresMs)) },
      ...{ activateTime: timeOf(activateMs), expiredTime: timeOf(expiresMs) },
    }
  }

  /** @returns how many events there are */
  #makeEvents({ orderId, order, paid, end, paidMs, endedMs, esims, refunded }: EventsInput): number {
    let sequence = 1
    this.#makeEvent(paidMs, 'ORDER_PAID', orderId, { ...order, orderStatus: 'PAID', sequence, ...paid })
    const refundedAmount = Number(refunded)
    const profilesAt = (ms: number) =>
      esims.map(({ profileId, iccid, activateMs = Number.POSITIVE_INFINITY }) => {
        const isUsed = activateMs <= ms
        const [esimStatus, smdpStatus] = isUsed ? ['IN_USE', 'ENABLED'] : ['GOT_RESOURCE', 'RELEASED']
        return { esimTranNo: profileId, iccid, esimStatus, smdpStatus }
      })
    const used = esims.filter(({ activateMs }) => activateMs !== undefined)
    const changes = [
      { ms: endedMs, details: null as object | null },
      ...used.map(({ activateMs, profileId }) => {
        return { ms: activateMs!, details: { changed: 'esimStatus', esimTranNo: profileId, eid: null } }
      }),
    ]
    for (const { ms, details } of changes.sort((a, b) => a.ms - b.ms)) {
      sequence++
      const content = { ...order, orderStatus: end, sequence, refundedAmount, profiles: profilesAt(ms) }
      this.#makeEvent(ms, 'DELIVERY_UPDATED', orderId, content, details)
    }
    return sequence
  }

  #makeEvent(ms: number, notifyType: string, orderId: string, content: object, details: object | null = null): void {
    const { tenantId, callbackUrl, nowMs } = this.#input
    const notifyId = this.#idAt(ms)
    this.#rows.events.push({ tenantId, notifyId, notifyType, orderId, content, details, createdAt: timeOf(ms) })
    if (callbackUrl === undefined) {
      this.#rows.deliveries.push({ tenantId, notifyId, deliveryState: 'UNSENT', attempts: 0 })
      return
    }
    const chance = this.#random()
    const isDead = chance > 0.985 && nowMs - ms > 8 * DAY_MS
    const failures = isDead ? 3 : chance > 0.93 ? 1 : 0
    const url = callbackUrl.replace(/=.*/, '=***')
    for (let attemptNo = 1; attemptNo <= failures + (isDead ? 0 : 1); attemptNo++) {
      const isFailed = attemptNo <= failures
      const startedMs = ms + 40 + (attemptNo - 1) * 10_000
      this.#rows.delivery_attempts.push({
        ...{ tenantId, attemptId: this.#idAt(startedMs), notifyId, notifyType, attemptNo, url, address: '192.0.2.10' },
        ...{ startedAt: timeOf(startedMs), durationMs: Math.floor(40 + this.#random() ** 3 * 900) },
        ...{ httpStatus: isFailed ? 503 : 200, outcome: isFailed ? 'status 503' : 'acknowledged' },
      })
    }
    if (isDead) this.#rows.deliveries.push({ tenantId, notifyId, deliveryState: 'DEAD', attempts: failures })
  }
}

interface ItemsInput {
  orderId: string
  item: CataloguePackage
  price: bigint
  count: number
  end: End
  paidMs: number
  endedMs: number
}

interface EventsInput {
  orderId: string
  order: object
  paid: object
  end: End
  paidMs: number
  endedMs: number
  esims: readonly Esim[]
  refunded: bigint
}

const ACCOUNTS: Record<string, [from: string, to: string]> = {
  TOP_UP: ['TOP_UPS', 'WALLET'],
  ORDER: ['WALLET', 'SALES'],
  REFUND: ['REFUNDS', 'WALLET'],
}

function historyOf(end: End, paidMs: number, endedMs: number): object[] {
  const paid = { orderStatus: 'PAID', time: timeOf(paidMs) }
  const asked = { orderStatus: 'ALLOCATING', time: timeOf(paidMs + 300) }
  return [paid, ...(end === 'CANCELLED' ? [] : [asked]), { orderStatus: end, time: timeOf(endedMs) }]
}

function publicLine({ packageCode, packageName, count, price }: Record<string, unknown>): object {
  return { packageCode, packageName, count, price, periodNum: null }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

/** A small generator of random numbers in [0, 1): the same seed gives the same numbers. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
