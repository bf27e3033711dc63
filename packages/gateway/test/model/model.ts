/** The model's packages: unit price, and the final state of each eSIM by its item number in the order. */
export const PACKAGES = {
  FINE: { price: 4n, isRefused: () => false },
  PARTLY: { price: 2n, isRefused: (itemNo: number) => itemNo % 2 === 0 },
  REFUSED: { price: 4n, isRefused: () => true },
} as const
/** Packages that top up an eSIM of FINE or PARTLY. */
export const TOP_UPS = {
  ADDED: { price: 2n, isRefused: false },
  NOT_ADDED: { price: 3n, isRefused: true },
} as const
/** Only FINE can be cancelled. */
export const CANCEL_POLICY = { cancellable: true, withinDays: null, feePercent: 25 } as const
const CANCEL_REFUND = 3n

/** Known, but off sale. */
export const OFF_SALE = 'GONE'

type PackageCode = keyof typeof PACKAGES
export interface Line {
  packageCode: PackageCode | typeof OFF_SALE
  count: number
}

export interface OrderInput {
  transactionId: string
  lines: Line[]
  /** The `amount` guard is one unit too high. */
  isMisquoted: boolean
}

/** One eSIM of an order. */
export interface EsimKey {
  orderTransactionId: string
  itemNo: number
}

export interface TopUpInput {
  transactionId: string
  esim: EsimKey
  packageCode: keyof typeof TOP_UPS
}

export type CancelInput = Pick<TopUpInput, 'transactionId' | 'esim'>

/** The model's answer to an order or a top-up. */
export type Expected =
  | { code: '000000'; isNew: boolean; amount: bigint; balanceAfter: bigint }
  | { code: '200002' | '200006' | '200007' | '200012' | '200014' | '310244' }

/** The model's answer to a cancel request. */
export type ExpectedAction = { code: '000000'; isNew: boolean } | { code: '200002' | '200012' | '200017' }

interface ModelEsim extends EsimKey {
  isCancellable: boolean
  isCancelled: boolean
  /** How often it was topped up. */
  toppedUp: number
}

export interface ModelAction {
  esim: ModelEsim
  isDone: boolean
}

export interface ModelOrder {
  lines: Line[]
  /** What it adds, and to which eSIM; undefined: it buys eSIMs. */
  topUp?: { esim: ModelEsim; packageCode: keyof typeof TOP_UPS }
  amount: bigint
  balanceAfter: bigint
  day: string
  refunded: bigint
  status: 'PAID' | 'DELIVERED' | 'PARTIALLY_DELIVERED' | 'FAILED'
  count: number
}

/**
 * One tenant's wallet and orders according to the documented rules, written as simply as possible. Amounts are in 1/10 000.
 */
export class Model {
  balance = 0n
  /** The number of movements so far. */
  version = 0n
  creditLimit = 0n
  dailySpendLimit: bigint | null = null
  private spent = { day: '', amount: 0n }
  private readonly topUps = new Map<string, bigint>()
  readonly orders = new Map<string, ModelOrder>()
  readonly actions = new Map<string, ModelAction>()
  /** Delivered eSIMs. */
  readonly esims: ModelEsim[] = []

  topUp(reference: string, amount: bigint): 'posted' | 'repeated' | 'refused' {
    const earlier = this.topUps.get(reference)
    if (earlier !== undefined) return earlier === amount ? 'repeated' : 'refused'
    this.topUps.set(reference, amount)
    this.move(amount)
    return 'posted'
  }

  /** @param day the day on which it is decided, as reported by the gateway */
  order({ transactionId, lines, isMisquoted }: OrderInput, day: string): Expected {
    const earlier = this.orders.get(transactionId)
    if (this.actions.has(transactionId)) return { code: '200012' }
    if (earlier) {
      if (earlier.topUp || contentOf(earlier.lines) !== contentOf(lines)) return { code: '200012' }
      return { code: '000000', isNew: false, amount: earlier.amount, balanceAfter: earlier.balanceAfter }
    }
    const priced = lines.map(({ packageCode, count }) =>
      packageCode === OFF_SALE ? undefined : PACKAGES[packageCode].price * BigInt(count),
    )
    if (priced.includes(undefined)) return { code: '310244' }
    const amount = amountOf(lines)
    if (isMisquoted) return { code: '200006' }
    return this.pay(transactionId, { lines, amount }, day)
  }

  addPackage({ transactionId, esim: key, packageCode }: TopUpInput, day: string): Expected {
    const esim = this.esimOf(key)
    const earlier = this.orders.get(transactionId)
    if (this.actions.has(transactionId)) return { code: '200012' }
    if (earlier) {
      if (earlier.topUp?.esim !== esim || earlier.topUp.packageCode !== packageCode) return { code: '200012' }
      return { code: '000000', isNew: false, amount: earlier.amount, balanceAfter: earlier.balanceAfter }
    }
    if (esim.isCancelled) return { code: '200002' }
    const amount = TOP_UPS[packageCode].price
    return this.pay(transactionId, { lines: [], topUp: { esim, packageCode }, amount }, day)
  }

  cancel({ transactionId, esim: key }: CancelInput): ExpectedAction {
    const esim = this.esimOf(key)
    if (this.orders.has(transactionId)) return { code: '200012' }
    const earlier = this.actions.get(transactionId)
    if (earlier) return earlier.esim === esim ? { code: '000000', isNew: false } : { code: '200012' }
    if (esim.isCancelled || esim.toppedUp > 0) return { code: '200002' }
    if (!esim.isCancellable) return { code: '200017' }
    this.actions.set(transactionId, { esim, isDone: false })
    return { code: '000000', isNew: true }
  }

  private esimOf({ orderTransactionId, itemNo }: EsimKey): ModelEsim {
    return this.esims.find((esim) => esim.orderTransactionId === orderTransactionId && esim.itemNo === itemNo)!
  }

  private pay(
    transactionId: string,
    { lines, topUp, amount }: Pick<ModelOrder, 'lines' | 'topUp' | 'amount'>,
    day: string,
  ): Expected {
    if (amount > this.balance + this.creditLimit) return { code: '200007' }
    const spent = this.spent.day === day ? this.spent.amount : 0n
    if (this.dailySpendLimit !== null && spent + amount > this.dailySpendLimit) return { code: '200014' }
    this.spent = { day, amount: spent + amount }
    this.move(-amount)
    const count = topUp ? 1 : lines.reduce((sum, line) => sum + line.count, 0)
    const order = {
      lines,
      ...(topUp ? { topUp } : {}),
      amount,
      balanceAfter: this.balance,
      day,
      refunded: 0n,
      status: 'PAID' as const,
      count,
    }
    this.orders.set(transactionId, order)
    return { code: '000000', isNew: true, amount, balanceAfter: this.balance }
  }

  /** Completes every paid order and open action: each eSIM that the supplier refuses or cancels is refunded once. */
  settle(): void {
    for (const action of this.actions.values()) {
      if (action.isDone) continue
      action.isDone = true
      action.esim.isCancelled = true
      this.refund(this.orders.get(action.esim.orderTransactionId)!, [CANCEL_REFUND])
    }
    for (const [transactionId, order] of this.orders) {
      if (order.status !== 'PAID') continue
      const refunds = refundsOf(order)
      this.refund(order, refunds)
      if (order.topUp === undefined) this.esims.push(...esimsOf(transactionId, order.lines))
      else if (refunds.length === 0) order.topUp.esim.toppedUp++
      order.status =
        refunds.length === 0 ? 'DELIVERED' : refunds.length === order.count ? 'FAILED' : 'PARTIALLY_DELIVERED'
    }
  }

  private refund(order: ModelOrder, refunds: bigint[]): void {
    for (const amount of refunds) this.move(amount)
    const sum = refunds.reduce((total, amount) => total + amount, 0n)
    order.refunded += sum
    const back = this.spent.amount - sum
    if (this.spent.day === order.day) this.spent.amount = back > 0n ? back : 0n
  }

  private move(amount: bigint): void {
    this.balance += amount
    this.version += 1n
  }
}

/** Packages that are off sale have no price here. */
export function amountOf(lines: readonly Line[]): bigint {
  const amounts = lines.map(({ packageCode, count }) =>
    packageCode === OFF_SALE ? 0n : PACKAGES[packageCode].price * BigInt(count),
  )
  return amounts.reduce((sum, amount) => sum + amount, 0n)
}

/** The prices of the refused items. */
function refundsOf({ lines, topUp }: ModelOrder): bigint[] {
  if (topUp) return TOP_UPS[topUp.packageCode].isRefused ? [TOP_UPS[topUp.packageCode].price] : []
  return itemsOf(lines).flatMap(({ packageCode, itemNo }) => {
    const { price, isRefused } = PACKAGES[packageCode]
    return isRefused(itemNo) ? [price] : []
  })
}

function esimsOf(orderTransactionId: string, lines: readonly Line[]): ModelEsim[] {
  return itemsOf(lines)
    .filter(({ packageCode, itemNo }) => !PACKAGES[packageCode].isRefused(itemNo))
    .map(({ packageCode, itemNo }) => {
      return { orderTransactionId, itemNo, isCancellable: packageCode === 'FINE', isCancelled: false, toppedUp: 0 }
    })
}

/** The items of an order, numbered consecutively across all lines. */
function itemsOf(lines: readonly Line[]): { packageCode: PackageCode; itemNo: number }[] {
  let itemNo = 0
  return lines.flatMap(({ packageCode, count }) =>
    packageCode === OFF_SALE ? [] : Array.from({ length: count }, () => ({ packageCode, itemNo: ++itemNo })),
  )
}

/** The order of the lines does not matter. */
function contentOf(lines: readonly Line[]): string {
  return lines
    .map(({ packageCode, count }) => `${packageCode} ${count}`)
    .sort()
    .join()
}
