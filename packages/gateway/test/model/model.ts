/** The model's packages: unit price, and the final state of an eSIM by its item number in the order. */
export const PACKAGES = {
  FINE: { price: 3n, isRefused: () => false },
  PARTLY: { price: 2n, isRefused: (itemNo: number) => itemNo % 2 === 0 },
  REFUSED: { price: 4n, isRefused: () => true },
} as const
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

/** The model's answer to an order. */
export type Expected =
  | { code: '000000'; isNew: boolean; amount: bigint; balanceAfter: bigint }
  | { code: '200006' | '200007' | '200012' | '200014' | '310244' }

export interface ModelOrder {
  lines: Line[]
  amount: bigint
  balanceAfter: bigint
  day: string
  refunded: bigint
  status: 'PAID' | 'DELIVERED' | 'PARTIALLY_DELIVERED' | 'FAILED'
  count: number
}

/** One tenant's wallet and orders by the documented rules, written as simply as possible. Amounts are in 1/10 000. */
export class Model {
  balance = 0n
  /** The number of movements so far. */
  version = 0n
  creditLimit = 0n
  dailySpendLimit: bigint | null = null
  private spent = { day: '', amount: 0n }
  private readonly topUps = new Map<string, bigint>()
  readonly orders = new Map<string, ModelOrder>()

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
    if (earlier) {
      if (contentOf(earlier.lines) !== contentOf(lines)) return { code: '200012' }
      return { code: '000000', isNew: false, amount: earlier.amount, balanceAfter: earlier.balanceAfter }
    }
    const priced = lines.map(({ packageCode, count }) =>
      packageCode === OFF_SALE ? undefined : PACKAGES[packageCode].price * BigInt(count),
    )
    if (priced.includes(undefined)) return { code: '310244' }
    const amount = amountOf(lines)
    if (isMisquoted) return { code: '200006' }
    if (amount > this.balance + this.creditLimit) return { code: '200007' }
    const spent = this.spent.day === day ? this.spent.amount : 0n
    if (this.dailySpendLimit !== null && spent + amount > this.dailySpendLimit) return { code: '200014' }
    this.spent = { day, amount: spent + amount }
    this.move(-amount)
    const count = lines.reduce((sum, line) => sum + line.count, 0)
    const order = { lines, amount, balanceAfter: this.balance, day, refunded: 0n, status: 'PAID' as const, count }
    this.orders.set(transactionId, order)
    return { code: '000000', isNew: true, amount, balanceAfter: this.balance }
  }

  /** Finishes every paid order: each eSIM that the supplier refuses is refunded once. */
  settle(): void {
    for (const order of this.orders.values()) {
      if (order.status !== 'PAID') continue
      const refunds = refusedItems(order.lines)
      for (const amount of refunds) this.move(amount)
      order.refunded = refunds.reduce((sum, amount) => sum + amount, 0n)
      const back = this.spent.amount - order.refunded
      if (this.spent.day === order.day) this.spent.amount = back > 0n ? back : 0n
      order.status =
        refunds.length === 0 ? 'DELIVERED' : refunds.length === order.count ? 'FAILED' : 'PARTIALLY_DELIVERED'
    }
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

/** Prices of the refused eSIMs. Items are numbered through all lines. */
function refusedItems(lines: readonly Line[]): bigint[] {
  let itemNo = 0
  return lines.flatMap(({ packageCode, count }) => {
    if (packageCode === OFF_SALE) return []
    const { price, isRefused } = PACKAGES[packageCode]
    return Array.from({ length: count }, () => ++itemNo).flatMap((number) => (isRefused(number) ? [price] : []))
  })
}

/** The order of the lines does not matter. */
function contentOf(lines: readonly Line[]): string {
  return lines
    .map(({ packageCode, count }) => `${packageCode} ${count}`)
    .sort()
    .join()
}
