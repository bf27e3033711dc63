import { randomBytes, randomUUID } from 'node:crypto'
import type { Product } from './simulated-catalogue.ts'
import type { Clock } from './simulated-clock.ts'
import {
  type Change,
  DAY_MS,
  type Esim,
  type EsimStatus,
  type Order,
  type OrderState,
  type Plan,
  type ProfileStatus,
  planBytes,
  Refused,
} from './simulated-order.ts'

/** How faults change an order's course. */
export interface OrderEffects {
  /** The order is delivered this long after acceptance; null: only by the control `deliver`. Default 0. */
  deliverAfterMs?: number | null
  /** It fails instead of being delivered, and the money is returned. */
  fails?: boolean
  /** Lists and filters contain the order only this long after acceptance. Default 0. */
  findableAfterMs?: number
}

export interface Purchase {
  product: Product
  key: string | null
  count?: number
  periods?: number
  /** The eSIM to top up. */
  target?: Esim | undefined
}

/** Counted since the start, or since the control `resetRecords`. */
export interface AccountCounters {
  /** eSIMs bought and debited, including those that were cancelled later. */
  taken: number
  /** The same by the buyer's key, or by the order's reference if the buyer sent none. */
  takenByKey: Record<string, number>
  /** The same by the code of the package. */
  takenByProduct: Record<string, number>
  /** Top-ups that were applied to an eSIM. */
  toppedUp: number
  toppedUpByKey: Record<string, number>
  /** eSIMs whose purchase was cancelled or failed, with the money returned. */
  cancelled: number
  cancelledByKey: Record<string, number>
  /** Orders that reserved money, whether they were completed or not. */
  held: number
  /** Held orders that the buyer cancelled. */
  released: number
  /** In 1/10 000. */
  debited: number
  returned: number
}

export interface AccountOptions {
  clock: Clock
  products: Product[]
  /** In 1/10 000. */
  balance: number
  currencyCode: string
  smdpAddress: string
  /** The ICCID of a cancelled eSIM is given to the next order. */
  reusesIccids: boolean
  /** Makes the number of an order or an eSIM. `serial` counts from 1. */
  createReference(kind: 'order' | 'eSIM', serial: number): string
  onChange(change: Change): void
}

/** The account of one buyer at one wholesaler: balance, orders and eSIMs. Every method is atomic. */
export class Account {
  readonly products: Map<string, Product>
  readonly orders = new Map<string, Order>()
  readonly esims: Esim[] = []
  readonly currencyCode: string
  balance: number
  counters = emptyCounters()
  readonly #options: AccountOptions
  readonly #freeIccids: string[] = []
  readonly #byKey = new Map<string, Order>()
  #serial = 0

  constructor(options: AccountOptions) {
    this.#options = options
    this.balance = options.balance
    this.currencyCode = options.currencyCode
    this.products = new Map(options.products.map((product) => [product.code, product]))
  }

  /** The listed package with this code, or slug. @throws Refused */
  getProduct(code: string): Product {
    const product = this.products.get(code) ?? [...this.products.values()].find(({ slug }) => slug === code)
    if (!product?.isListed) throw new Refused('unknown-package', `There is no package ${code}.`)
    return product
  }

  /** The latest eSIM with this ICCID or number. @throws Refused */
  getEsim(iccidOrNo: string): Esim {
    const esim = this.esims.findLast(({ iccid, esimNo }) => iccid === iccidOrNo || esimNo === iccidOrNo)
    if (!esim) throw new Refused('unknown-esim', `There is no eSIM ${iccidOrNo}.`)
    return esim
  }

  /** @throws Refused */
  getOrder(reference: string): Order {
    const order = this.orders.get(reference)
    if (!order) throw new Refused('unknown-order', `There is no order ${reference}.`)
    return order
  }

  /** The first order with this key. */
  findOrderByKey(key: string): Order | undefined {
    return this.#byKey.get(key)
  }

  /** Orders that lists and filters contain, the newest last. */
  listOrders(): Order[] {
    const now = this.#options.clock.now()
    return [...this.orders.values()].filter((order) => order.findableMs <= now)
  }

  /** Reserves the money of an order; it lapses after `lapseAfterMs` unless it is completed. @throws Refused */
  hold(purchase: Purchase, effects: OrderEffects, lapseAfterMs: number): Order {
    const order = this.#accept(purchase, effects, 'held')
    this.counters.held += 1
    this.#options.clock.after(lapseAfterMs, () => {
      if (order.state === 'held') this.#return(order, 'lapsed')
    })
    return order
  }

  /** Captures the money of a held order and delivers it. @throws Refused */
  complete(order: Order, effects: OrderEffects): void {
    if (order.state !== 'held') throw new Refused('wrong-state', `Order ${order.reference} is ${order.state}.`)
    this.#take(order, effects)
  }

  /** Returns the money of a held order. @throws Refused */
  release(order: Order): void {
    if (order.state !== 'held') throw new Refused('wrong-state', `Order ${order.reference} is ${order.state}.`)
    this.#return(order, 'cancelled')
    this.counters.released += 1
  }

  /** Debits and delivers an order in one step. @throws Refused */
  buy(purchase: Purchase, effects: OrderEffects = {}): Order {
    const order = this.#accept(purchase, effects, 'pending')
    this.#take(order, effects)
    return order
  }

  /** Delivers a pending order now. */
  deliver(order: Order): void {
    if (order.state !== 'pending') return
    order.state = 'delivered'
    order.deliveredMs = this.#options.clock.now()
    if (order.target) this.#applyTopUp(order, order.target)
    else for (let index = 0; index < order.count; index += 1) this.#createEsim(order)
    this.#options.onChange({ kind: 'delivered', order })
  }

  /** Cancels an eSIM that is not installed; its share of the money is returned. @throws Refused */
  cancel(esim: Esim): void {
    if (esim.status !== 'GOT_RESOURCE' || esim.profile !== 'RELEASED')
      throw new Refused('wrong-state', `eSIM ${esim.iccid} is ${esim.status} and ${esim.profile}.`)
    const { order } = esim
    esim.status = 'CANCEL'
    this.#pay(order.amount / order.count)
    count(this.counters, 'cancelled', order)
    if (order.esims.every(({ status }) => status === 'CANCEL')) order.state = 'cancelled'
    if (this.#options.reusesIccids) this.#freeIccids.push(esim.iccid)
    this.#options.onChange({ kind: 'status', esim })
  }

  /** Removes an unused plan from an eSIM and returns its money. @throws Refused */
  revokePlan(esim: Esim, plan: Plan): void {
    if (plan.isRevoked || plan.endsMs !== null || this.usedBytes(esim, plan) > 0)
      throw new Refused('wrong-state', `The package ${plan.product.code} of eSIM ${esim.iccid} has been started.`)
    plan.isRevoked = true
    plan.order.state = 'cancelled'
    if (plan.order.kind === 'eSIM') count(this.counters, 'cancelled', plan.order)
    this.#pay(plan.order.amount / plan.order.count)
  }

  /** Changes an eSIM as its use would. `usedBytes` is the total. */
  change(esim: Esim, to: { status?: EsimStatus; profile?: ProfileStatus; eid?: string; usedBytes?: number }): void {
    const now = this.#options.clock.now()
    const isInstalled = to.profile !== undefined && !['RELEASED', 'DELETED'].includes(to.profile)
    if (isInstalled) esim.installedMs ??= now
    if (isInstalled) esim.eid ??= `89${esim.imsi}${'0'.repeat(15)}`
    if (to.eid !== undefined) esim.eid = to.eid
    if (to.profile !== undefined) esim.profile = to.profile
    if (to.status === 'IN_USE' || (to.usedBytes ?? 0) > 0) this.#activate(esim, now)
    if (to.status !== undefined) esim.status = to.status
    if (to.usedBytes !== undefined) esim.usedBytes = to.usedBytes
    if (to.profile !== undefined) this.#options.onChange({ kind: 'profile', esim })
    if (to.status !== undefined) this.#options.onChange({ kind: 'status', esim })
    if (to.usedBytes !== undefined) this.#options.onChange({ kind: 'usage', esim })
  }

  /** The total bytes of an eSIM's plans; null: unlimited. */
  totalBytes(esim: Esim): number | null {
    const volumes = esim.plans.filter(({ isRevoked }) => !isRevoked).map(planBytes)
    return volumes.includes(null) ? null : volumes.reduce<number>((sum, volume) => sum + volume!, 0)
  }

  /** Bytes used from one plan. Plans are used one after another. */
  usedBytes(esim: Esim, plan: Plan): number {
    let left = esim.usedBytes
    for (const other of esim.plans.filter(({ isRevoked }) => !isRevoked)) {
      const used = Math.min(left, planBytes(other) ?? left)
      if (other === plan) return used
      left -= used
    }
    return 0
  }

  resetCounters(): void {
    this.counters = emptyCounters()
  }

  #accept({ product, key, count: esims = 1, periods = 1, target }: Purchase, effects: OrderEffects, state: OrderState) {
    const { clock, createReference } = this.#options
    if (!product.inStock) throw new Refused('out-of-stock', `Package ${product.code} is out of stock.`)
    const amount = product.price * esims * periods
    if (amount > this.balance) throw new Refused('no-balance', 'The balance does not suffice.')
    this.#serial += 1
    const order: Order = {
      reference: createReference('order', this.#serial),
      key,
      kind: target ? 'topUp' : 'eSIM',
      product,
      count: esims,
      periods,
      amount,
      state,
      esims: [],
      target: target ?? null,
      createdMs: clock.now(),
      deliveredMs: null,
      findableMs: clock.now() + (effects.findableAfterMs ?? 0),
    }
    this.orders.set(order.reference, order)
    if (key !== null && !this.#byKey.has(key)) this.#byKey.set(key, order)
    this.balance -= amount
    this.counters.debited += amount
    return order
  }

  #take(order: Order, { deliverAfterMs = 0, fails = false }: OrderEffects) {
    order.state = 'pending'
    if (order.kind === 'eSIM') {
      count(this.counters, 'taken', order, order.count)
      const { takenByProduct } = this.counters
      takenByProduct[order.product.code] = (takenByProduct[order.product.code] ?? 0) + order.count
    }
    if (deliverAfterMs === null) return
    this.#options.clock.after(deliverAfterMs, () => (fails ? this.#fail(order) : this.deliver(order)))
  }

  #fail(order: Order) {
    if (order.state !== 'pending') return
    if (order.kind === 'eSIM') count(this.counters, 'cancelled', order, order.count)
    this.#return(order, 'failed')
    this.#options.onChange({ kind: 'failed', order })
  }

  #return(order: Order, state: OrderState) {
    order.state = state
    this.#pay(order.amount)
  }

  #pay(amount: number) {
    this.balance += amount
    this.counters.returned += amount
  }

  #createEsim(order: Order) {
    const { createReference, smdpAddress } = this.#options
    const serial = this.esims.length + 1
    const esim: Esim = {
      iccid: this.#freeIccids.shift() ?? iccidOf(serial),
      esimNo: createReference('eSIM', serial),
      imsi: `26001${String(serial).padStart(10, '0')}`,
      smdpAddress,
      matchingId: randomBytes(16).toString('hex').toUpperCase(),
      order,
      status: 'GOT_RESOURCE',
      profile: 'RELEASED',
      eid: null,
      plans: [{ order, product: order.product, isRevoked: false, endsMs: null }],
      usedBytes: 0,
      installedMs: null,
      activatedMs: null,
    }
    order.esims.push(esim)
    this.esims.push(esim)
  }

  #applyTopUp(order: Order, esim: Esim) {
    const { product } = order
    esim.plans.push({ order, product, isRevoked: false, endsMs: null })
    if (esim.status === 'USED_UP') esim.status = 'IN_USE'
    count(this.counters, 'toppedUp', order)
  }

  #activate(esim: Esim, now: number) {
    esim.activatedMs ??= now
    if (esim.status === 'GOT_RESOURCE') esim.status = 'IN_USE'
    const plan = esim.plans.find(({ isRevoked }) => !isRevoked)
    if (plan) plan.endsMs ??= now + plan.product.days * plan.order.periods * DAY_MS
  }
}

/** Random, in the form of a UUID. */
export function randomReference(): string {
  return randomUUID()
}

/** 19 digits, of which the last is the Luhn check digit. Starts at random, so that two simulators differ. */
function iccidOf(serial: number): string {
  const digits = `89480${ICCID_RANGE}${String(serial).padStart(7, '0')}`
  let sum = 0
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1)
    sum += value > 9 ? value - 9 : value
  }
  return `${digits}${(10 - (sum % 10)) % 10}`
}
const ICCID_RANGE = String(randomBytes(4).readUInt32BE() % 1_000_000).padStart(6, '0')

function count(
  counters: AccountCounters,
  what: 'taken' | 'toppedUp' | 'cancelled',
  { key, reference }: Order,
  esims = 1,
) {
  counters[what] += esims
  const byKey = counters[`${what}ByKey`]
  byKey[key ?? reference] = (byKey[key ?? reference] ?? 0) + esims
}

function emptyCounters(): AccountCounters {
  return {
    taken: 0,
    takenByKey: {},
    takenByProduct: {},
    toppedUp: 0,
    toppedUpByKey: {},
    cancelled: 0,
    cancelledByKey: {},
    held: 0,
    released: 0,
    debited: 0,
    returned: 0,
  }
}
