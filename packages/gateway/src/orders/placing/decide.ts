import {
  type FailureCode,
  formatTime,
  MONEY_MAX,
  type OrderAnswer,
  type OrderRequest,
  type OrderStatus,
  orderNoOf,
  type RequestHeaders,
} from '@dealer-esim/contract'
import type { Offer, Snapshot } from '../../catalogue/catalogue.ts'
import type { ErrorParts } from '../../lib/api-error.ts'
import { groupBy } from '../../lib/batch.ts'
import type { Tenant } from '../../tenants/tenant.ts'
import type { Wallet } from '../../wallet/ledger/lock.ts'
import type { BalanceFall } from '../../wallet/ledger/low-balance.ts'
import { lowBalancePercent } from '../../wallet/ledger/low-balance.ts'
import type { PackageLine } from '../item.ts'

/** An order to be placed. Its id is made beforehand, so that the order is recognised after a lost COMMIT. */
export interface OrderInput {
  tenant: Pick<Tenant, 'tenantId' | 'currencyCode'>
  orderId: string
  request: OrderRequest
  /** The request's RequestID and timestamp; absent where the gateway itself places it. */
  headers?: Pick<RequestHeaders, 'requestId' | 'timestamp'>
  /** Present while the request is still being admitted; resolves within 100 ms to whether it was. */
  isAdmitted?: Promise<boolean>
}

/** The part of an existing order that an answer needs. */
export interface ExistingOrder {
  orderId: string
  transactionId: string
  orderStatus: OrderStatus
  amount: bigint
  currencyCode: string
  balanceAfter: bigint
  packageLines: PackageLine[]
  createdAt: Date
}

/** A new order, ready to be written. */
export interface PlacedOrder extends ExistingOrder {
  tenantId: string
  walletVersion: bigint
  remark: string | null
}

export type Verdict =
  | { kind: 'placed'; answer: OrderAnswer }
  | { kind: 'replayed'; answer: OrderAnswer }
  | { kind: 'refused'; code: FailureCode; parts: ErrorParts }

/** What orders are decided on, besides their wallets. */
export interface DecisionContext {
  now: Date
  catalogue: Snapshot
  /** Earlier orders, by tenant and transactionId. */
  existing: ReadonlyMap<string, ReadonlyMap<string, ExistingOrder>>
  /** eSIMs of an offer that can be delivered now; undefined where its suppliers do not count them. */
  available(offer: Offer): number | undefined
}

export interface BatchDecision {
  verdicts: Map<OrderInput, Verdict>
  placed: PlacedOrder[]
  /** The debited wallets, as the batch leaves them. */
  wallets: Wallet[]
  /** Those of them whose balance is now below, or above, another step of its threshold. */
  falls: BalanceFall[]
}

/** Decides the orders of several wallets, wallet by wallet. Pure: the wallets that are passed in stay as they are. */
export function decideBatch(
  wallets: readonly Wallet[],
  inputs: readonly OrderInput[],
  context: DecisionContext,
): BatchDecision {
  const byTenant = groupBy(inputs, ({ tenant }) => tenant.tenantId)
  const batch: BatchDecision = { verdicts: new Map(), placed: [], wallets: [], falls: [] }
  for (const before of wallets) {
    const own = byTenant.get(before.tenantId) ?? []
    const { wallet, verdicts, placed } = decideWallet(before, own, context)
    for (const [index, input] of own.entries()) batch.verdicts.set(input, verdicts[index]!)
    if (placed.length === 0) continue
    batch.wallets.push(wallet)
    batch.placed.push(...placed)
    const [percent, percentBefore] = [wallet.lowBalanceAlertedPercent, before.lowBalanceAlertedPercent]
    if (percent !== percentBefore) batch.falls.push({ ...wallet, percent, percentBefore })
  }
  return batch
}

/**
 * Decides the orders of one wallet, each on the balance that the orders before it left, as if they came one by one.
 * Replay and conflict come before price, sale, stock and balance. A refused order leaves no trace, so a later one with
 * its transactionId is decided on its own.
 */
export function decideWallet(before: Wallet, inputs: readonly OrderInput[], context: DecisionContext) {
  const now = later(context.now, before.updatedAt) // created_at never goes back within a wallet
  const wallet = onDay(before, now)
  const existing = context.existing.get(wallet.tenantId)
  const placed = new Map<string, PlacedOrder>()
  let funds: Funds = { balance: wallet.balance, spent: wallet.spent, version: wallet.version }
  const verdicts = inputs.map((input): Verdict => {
    const { transactionId } = input.request
    const earlier = existing?.get(transactionId) ?? placed.get(transactionId)
    if (earlier) return replayOrConflict(input, earlier)
    const priced = priceLines(input, context)
    if ('refused' in priced) return priced.refused
    const amount = priced.lines.reduce((sum, line) => sum + BigInt(line.price) * BigInt(line.count), 0n)
    const refused = refuseAmount(input, amount, wallet, funds, now)
    if (refused) return refused
    funds = { balance: funds.balance - amount, spent: funds.spent + amount, version: funds.version + 1n }
    const order = orderOf(input, priced.lines, amount, wallet, funds, now)
    placed.set(transactionId, order)
    return { kind: 'placed', answer: answerOf(order) }
  })
  return { wallet: placed.size > 0 ? debited(wallet, funds, now) : wallet, verdicts, placed: [...placed.values()] }
}

/** The members of a wallet that a debit changes. */
type Funds = Pick<Wallet, 'balance' | 'spent' | 'version'>

function later(left: Date, right: Date): Date {
  return left > right ? left : right
}

/** The verdict on an order whose transactionId is taken. */
export function replayOrConflict(input: OrderInput, earlier: ExistingOrder): Verdict {
  if (contentOf(input.request.packageInfoList) !== contentOf(earlier.packageLines)) return refuse('200012')
  // An order with the id made for this very call was placed by an attempt whose COMMIT was not answered.
  return { kind: earlier.orderId === input.orderId ? 'placed' : 'replayed', answer: answerOf(earlier) }
}

/** The set of (packageCode, count). The order of lines, prices, amount and remark are not content. */
function contentOf(lines: readonly { packageCode: string; count: number }[]): string {
  return JSON.stringify(lines.map((line) => [line.packageCode, line.count] as const).sort(byCode))
}

function byCode(left: readonly [string, number], right: readonly [string, number]): number {
  return left[0] < right[0] ? -1 : 1
}

function priceLines(input: OrderInput, context: DecisionContext): { lines: PackageLine[] } | { refused: Verdict } {
  const lines: PackageLine[] = []
  for (const [index, line] of input.request.packageInfoList.entries()) {
    const offer = context.catalogue.offer(input.tenant, line.packageCode)
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
    const available = context.available(offer)
    if (available !== undefined && available < line.count) {
      return { refused: refuse('200011', at('count', `${available} are left.`)) }
    }
    lines.push({ packageCode: offer.packageCode, packageName: offer.packageName, count: line.count, price })
  }
  return { lines }
}

const DAY_MS = 86_400_000
const AMOUNT_MAX = BigInt(MONEY_MAX)

function refuseAmount(input: OrderInput, amount: bigint, wallet: Wallet, funds: Funds, now: Date): Verdict | undefined {
  if (amount > AMOUNT_MAX) {
    const reason = 'The total exceeds the largest amount that the API can represent. Order fewer.'
    return refuse('000108', { details: [{ field: 'packageInfoList', reason }] })
  }
  if (input.request.amount !== undefined && input.request.amount !== Number(amount)) {
    return refuse('200006', { data: { current: Number(amount) } })
  }
  const available = funds.balance + wallet.creditLimit
  if (amount > available) {
    return refuse('200007', {
      data: {
        currentBalance: Number(funds.balance),
        requiredAmount: Number(amount),
        shortfall: Number(amount - available),
        currencyCode: wallet.currencyCode,
      },
    })
  }
  const { dailySpendLimit } = wallet
  const { spent } = funds
  if (dailySpendLimit !== null && spent + amount > dailySpendLimit) {
    const resetTime = new Date((Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS).toISOString()
    return refuse('200014', { data: { limit: Number(dailySpendLimit), spent: Number(spent), resetTime } })
  }
  return undefined
}

function refuse(code: FailureCode, parts: ErrorParts = {}): Verdict {
  return { kind: 'refused', code, parts }
}

/** The UTC day of a moment, in the form in which dates are read from the database. */
export function dayOf(moment: Date): string {
  return formatTime(moment).slice(0, 10)
}

/** `spent` counts for its own day only. Days are UTC days of the database's clock. */
function onDay(wallet: Wallet, now: Date): Wallet {
  const today = dayOf(now)
  return wallet.spentOn === today ? wallet : { ...wallet, spentOn: today, spent: 0n }
}

function debited(wallet: Wallet, funds: Funds, now: Date): Wallet {
  const percent = lowBalancePercent(funds.balance, wallet.lowBalanceThreshold)
  return { ...wallet, ...funds, lowBalanceAlertedPercent: percent, updatedAt: now }
}

/** @param funds as the order's debit leaves them */
function orderOf(
  input: OrderInput,
  lines: PackageLine[],
  amount: bigint,
  wallet: Wallet,
  funds: Funds,
  now: Date,
): PlacedOrder {
  return {
    tenantId: input.tenant.tenantId,
    orderId: input.orderId,
    transactionId: input.request.transactionId,
    orderStatus: 'PAID',
    amount,
    currencyCode: wallet.currencyCode,
    balanceAfter: funds.balance,
    walletVersion: funds.version,
    packageLines: lines,
    remark: input.request.remark ?? null,
    createdAt: now,
  }
}

/** The answer of `esim/order`. A replay differs from the first answer in `orderStatus` only. */
function answerOf(order: ExistingOrder): OrderAnswer {
  return {
    orderNo: orderNoOf(order.orderId),
    transactionId: order.transactionId,
    orderType: 'NEW',
    orderStatus: order.orderStatus,
    amount: Number(order.amount),
    currencyCode: order.currencyCode,
    balanceAfter: Number(order.balanceAfter),
    createTime: formatTime(order.createdAt),
  }
}
