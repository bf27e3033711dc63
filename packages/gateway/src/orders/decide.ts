import {
  type FailureCode,
  formatTime,
  MONEY_MAX,
  type OrderAnswer,
  type OrderRequest,
  type OrderStatus,
} from '@dealer-esim/contract'
import type { Offer, Snapshot } from '../catalogue/catalogue.ts'
import type { ErrorParts } from '../lib/api-error.ts'
import { orderNoOf } from '../lib/ids.ts'
import type { Tenant } from '../tenants/load.ts'
import type { Wallet } from '../wallet/lock.ts'
import { lowBalanceStep } from '../wallet/low-balance.ts'

/** An order that wants to be placed. Its ids are made before, so that it is recognised after a lost COMMIT. */
export interface OrderInput {
  tenant: Pick<Tenant, 'tenantId' | 'currencyCode'>
  orderId: string
  request: OrderRequest
  /** Set while its request is still being admitted: whether it was, told within 100 ms. */
  isAdmitted?: Promise<boolean>
}

/** What an order asked for at the price it was debited: immutable, kept with the order. */
export interface PackageLine {
  packageCode: string
  packageName: string
  count: number
  price: number
}

/** As much of an existing order as an answer needs. */
export interface ExistingOrder {
  orderId: string
  orderNo: string
  transactionId: string
  orderStatus: OrderStatus
  amount: bigint
  currencyCode: string
  balanceAfter: bigint
  packageLines: PackageLine[]
  createdAt: Date
}

export type Verdict =
  | { kind: 'placed'; answer: OrderAnswer }
  | { kind: 'replayed'; answer: OrderAnswer }
  | { kind: 'refused'; code: FailureCode; parts: ErrorParts }

/** A new order, ready to be written. */
export interface PlacedOrder extends ExistingOrder {
  tenantId: string
  walletVersion: bigint
  remark: string | null
}

export interface Circumstances {
  now: Date
  catalogue: Snapshot
  existing: Map<string, ExistingOrder>
  /** eSIMs of an offer that could be delivered now; undefined where its suppliers do not count. */
  available(offer: Offer): number | undefined
}

/**
 * Judges the orders of one wallet one after the other, each on what its predecessors left, and applies the debits to
 * `wallet`: the same as placing them one by one. Replay and conflict come before price, sale, stock and balance; a refused order
 * leaves no trace, so a later one with its transactionId is judged anew.
 */
export function decideOrders(wallet: Wallet, wishes: OrderInput[], around: Circumstances) {
  const placed: PlacedOrder[] = []
  turnDay(wallet, around.now)
  const verdicts = wishes.map((wish): Verdict => {
    const earlier = around.existing.get(wish.request.transactionId)
    if (earlier) return repeat(wish, earlier)
    const priced = priceLines(wish, around)
    if ('refused' in priced) return priced.refused
    const amount = priced.lines.reduce((sum, line) => sum + BigInt(line.price) * BigInt(line.count), 0n)
    const refused = refuseAmount(wish, amount, wallet, around.now)
    if (refused) return refused
    const order = debit(wallet, wish, priced.lines, amount, around.now)
    placed.push(order)
    around.existing.set(order.transactionId, order)
    return { kind: 'placed', answer: answerOf(order) }
  })
  return { verdicts, placed }
}

/** An order whose transactionId is taken: the same one again, or a conflict. */
export function repeat(wish: OrderInput, earlier: ExistingOrder): Verdict {
  if (contentOf(wish.request.packageInfoList) !== contentOf(earlier.packageLines)) return refuse('200012')
  // Found under the id made for this very call: it was placed by an attempt whose COMMIT went unanswered.
  return { kind: earlier.orderId === wish.orderId ? 'placed' : 'replayed', answer: answerOf(earlier) }
}

/** The set of (packageCode, count). Order of lines, prices, amount and remark are not content. */
function contentOf(lines: readonly { packageCode: string; count: number }[]): string {
  return JSON.stringify(lines.map((line) => [line.packageCode, line.count] as const).sort(byCode))
}

function byCode(left: readonly [string, number], right: readonly [string, number]): number {
  return left[0] < right[0] ? -1 : 1
}

function priceLines(wish: OrderInput, around: Circumstances): { lines: PackageLine[] } | { refused: Verdict } {
  const lines: PackageLine[] = []
  for (const [index, line] of wish.request.packageInfoList.entries()) {
    const offer = around.catalogue.offer(wish.tenant, line.packageCode)
    const at = (member: string, reason: string): ErrorParts => ({
      details: [{ field: `packageInfoList[${index}].${member}`, reason }],
    })
    if (typeof offer === 'string') {
      return { refused: refuse(offer, at('packageCode', `${line.packageCode} cannot be bought now.`)) }
    }
    const price = Number(offer.price)
    if (line.price !== undefined && line.price !== price) {
      const parts = at('price', `One eSIM costs ${price} now.`)
      return { refused: refuse('200005', { ...parts, data: { current: price } }) }
    }
    const available = around.available(offer)
    if (available !== undefined && available < line.count) {
      return { refused: refuse('200011', at('count', `${available} are left.`)) }
    }
    lines.push({ packageCode: offer.packageCode, packageName: offer.packageName, count: line.count, price })
  }
  return { lines }
}

const DAY_MS = 86_400_000
const AMOUNT_MAX = BigInt(MONEY_MAX)

function refuseAmount(wish: OrderInput, amount: bigint, wallet: Wallet, now: Date): Verdict | undefined {
  if (amount > AMOUNT_MAX) {
    const reason = 'The total is larger than any amount that can be told. Order fewer.'
    return refuse('000108', { details: [{ field: 'packageInfoList', reason }] })
  }
  if (wish.request.amount !== undefined && wish.request.amount !== Number(amount)) {
    return refuse('200006', { data: { current: Number(amount) } })
  }
  const available = wallet.balance + wallet.creditLimit
  if (amount > available) {
    return refuse('200007', {
      data: {
        currentBalance: Number(wallet.balance),
        requiredAmount: Number(amount),
        shortfall: Number(amount - available),
        currencyCode: wallet.currencyCode,
      },
    })
  }
  const { dailySpendLimit, spent } = wallet
  if (dailySpendLimit !== null && spent + amount > dailySpendLimit) {
    const resetTime = new Date((Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS).toISOString()
    return refuse('200014', { data: { limit: Number(dailySpendLimit), spent: Number(spent), resetTime } })
  }
  return undefined
}

/** The UTC day of a moment, as dates are read from the database. */
export function dayOf(moment: Date): string {
  return formatTime(moment).slice(0, 10)
}

/** What was spent counts for its own day only. Days are UTC days of the database's clock. */
function turnDay(wallet: Wallet, now: Date): void {
  const today = dayOf(now)
  if (wallet.spentOn === today) return
  wallet.spentOn = today
  wallet.spent = 0n
}

function debit(wallet: Wallet, wish: OrderInput, lines: PackageLine[], amount: bigint, now: Date): PlacedOrder {
  wallet.spent += amount
  wallet.balance -= amount
  wallet.version += 1n
  wallet.updatedAt = now
  wallet.lowBalanceStep = lowBalanceStep(wallet.balance, wallet.lowBalanceThreshold)
  return {
    tenantId: wish.tenant.tenantId,
    orderId: wish.orderId,
    orderNo: orderNoOf(wish.orderId),
    transactionId: wish.request.transactionId,
    orderStatus: 'PAID',
    amount,
    currencyCode: wallet.currencyCode,
    balanceAfter: wallet.balance,
    walletVersion: wallet.version,
    packageLines: lines,
    remark: wish.request.remark ?? null,
    createdAt: now,
  }
}

/** The answer of `esim/order`: a replay differs from the first in `orderStatus` only. */
export function answerOf(order: ExistingOrder): OrderAnswer {
  return {
    orderNo: order.orderNo,
    transactionId: order.transactionId,
    orderStatus: order.orderStatus,
    amount: Number(order.amount),
    currencyCode: order.currencyCode,
    balanceAfter: Number(order.balanceAfter),
    createTime: formatTime(order.createdAt),
  }
}

function refuse(code: FailureCode, parts: ErrorParts = {}): Verdict {
  return { kind: 'refused', code, parts }
}
