import {
  type FailureCode,
  formatTime,
  MONEY_MAX,
  type OrderAnswer,
  type OrderStatus,
  type OrderType,
  orderNoOf,
  type TopupAnswer,
} from '@dealer-esim/contract'
import type { ErrorParts } from '@dealer-esim/lib/api-error.ts'
import { groupBy } from '@dealer-esim/lib/batch.ts'
import { timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { Offer, Snapshot } from '#catalogue/catalogue.ts'
import { tenantTime } from '#platform/test-time.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import type { KeySpending } from '#tenants/keys/key-spending.ts'
import { type LowBalanceChange, lowBalancePercent } from '#wallet/ledger/balance.ts'
import type { Wallet } from '#wallet/ledger/lock-wallets.ts'
import { itemPriceOf, type PackageLine } from '../order-item.ts'
import type { SentTo } from '../recipient-limit.ts'
import { type HandOver, withHandOver } from '../traveller.ts'
import { dayOf, exceededLimit } from './exceeded-limit.ts'
import {
  hasSameContent,
  type NewOrderInput,
  type OrderInput,
  type OrderKey,
  type SentRequest,
  type ToppedUpEsim,
  type TopUpInput,
  withSentNames,
} from './order-input.ts'
import { refuseHandOver, withRecipients } from './refuse-hand-over.ts'
import { RESTORED_REFUSALS, type RestoredOrders } from './restored-orders.ts'
import { offerTopUp, topUpVolume } from './top-up-offer.ts'

/** The part of an existing order that is needed for an answer. */
export interface ExistingOrder {
  orderId: string
  transactionId: string
  orderType: OrderType
  /** The eSIM that a TOPUP is added to. */
  toppedUpProfileId: string | null
  toppedUpIccid: string | null
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
  /** What is sent once its eSIMs are there. */
  handOver: HandOver | undefined
  decidedAt: Date
  walletVersion: bigint
  remark: string | null
  /** The part of an RT API request that its order keeps, and the restricted key; null for other orders. */
  sent: (Omit<SentRequest, 'lines'> & { key?: OrderKey }) | null
}

/** The answer to `esim/order`, or to `esim/topup`, which also identifies its eSIM. */
export type PlacementAnswer = OrderAnswer & Partial<TopupAnswer>

export type Verdict =
  | { kind: 'placed'; answer: PlacementAnswer }
  | { kind: 'replayed'; answer: PlacementAnswer }
  | { kind: 'refused'; code: FailureCode; parts: ErrorParts }

/** The facts for deciding orders, other than their wallets. */
export interface DecisionContext {
  now: Date
  catalogue: Snapshot
  /** Earlier orders, by tenant and transactionId. */
  existing: ReadonlyMap<string, ReadonlyMap<string, ExistingOrder>>
  /** The eSIMs of top-ups (topped-up-esims.ts). A top-up without an entry identifies no eSIM of its tenant. */
  esims: ReadonlyMap<OrderInput, ToppedUpEsim>
  suppliers: Pick<Suppliers, 'get'>
  /** The restricted keys of the orders, by id. An order whose key is missing was signed with one that is revoked. */
  keys?: ReadonlyMap<string, KeySpending>
  /** Orders that must not be placed because of a restore. Absent in placeOptimistically, which writes nothing if there are any. */
  restored?: RestoredOrders
  /** The e-mails to the travellers of the orders. Absent: no order has one. */
  sentTo?: SentTo
  /** The number of eSIMs of an offer that can be delivered now; undefined if its suppliers do not count them. */
  available(offer: Offer): number | undefined
}

export interface BatchDecision {
  verdicts: Map<OrderInput, Verdict>
  placed: PlacedOrder[]
  /** The debited wallets, as the batch leaves them. */
  wallets: Wallet[]
  /** The debited wallets whose low-balance percentage changed. */
  lowBalanceChanges: LowBalanceChange[]
  /** The restricted keys that debited, as the batch leaves them. */
  keys: KeySpending[]
}

/** Decides the orders of several wallets, one wallet after another. Pure: the wallets passed in are not changed. */
export function decideBatch(
  wallets: readonly Wallet[],
  inputs: readonly OrderInput[],
  context: DecisionContext,
): BatchDecision {
  const byTenant = groupBy(inputs, ({ tenant }) => tenant.tenantId)
  const batch: BatchDecision = { verdicts: new Map(), placed: [], wallets: [], lowBalanceChanges: [], keys: [] }
  for (const before of wallets) {
    const own = byTenant.get(before.tenantId) ?? []
    const { wallet, verdicts, placed, keys } = decideWallet(before, own, context)
    for (const [index, input] of own.entries()) batch.verdicts.set(input, verdicts[index]!)
    if (placed.length === 0) continue
    batch.wallets.push(wallet)
    batch.placed.push(...placed)
    if (keys !== undefined) batch.keys.push(...keys.values())
    const [percent, percentBefore] = [wallet.lowBalanceAlertedPercent, before.lowBalanceAlertedPercent]
    if (percent !== percentBefore) batch.lowBalanceChanges.push({ ...wallet, percent, percentBefore })
  }
  return batch
}

/**
 * Decides the orders of one wallet, each on the balance left by the previous ones, as if they had arrived one at a time.
 * Checks, in this order: dealer held after a restore; replay or conflict; transactionId used before a restore; hand-over; the
 * eSIM of a top-up; for each line sale, days, price and stock; the restricted key; the total; the balance; the spending limits.
 * A later order with the transactionId of a refused one is decided independently.
 */
export function decideWallet(before: Wallet, inputs: readonly OrderInput[], context: DecisionContext) {
  const present = tenantTime(context.now, ...inputs.map(({ tenant }) => tenant))
  const now = later(present, before.updatedAt) // the times of a wallet's movements never decrease
  const wallet = onDay(before, now)
  const existing = context.existing.get(wallet.tenantId)
  const placed = new Map<string, PlacedOrder>()
  let addedVolumes: Map<string, bigint> | undefined
  let keys: Map<string, KeySpending> | undefined
  let sentTo = context.sentTo ?? new Map()
  let funds: Funds = { balance: wallet.balance, spent: wallet.spent, version: wallet.version }
  const verdicts = inputs.map((input): Verdict => {
    const { transactionId } = input.request
    const restored = context.restored?.get(wallet.tenantId)?.get(transactionId)
    const earlier = existing?.get(transactionId) ?? placed.get(transactionId)
    if (earlier && restored !== 'TENANT_HELD') return replayOrConflict(input, earlier)
    if (restored) return refuse(RESTORED_REFUSALS[restored].code, RESTORED_REFUSALS[restored].parts)
    const refusedSend = refuseHandOver(input, sentTo)
    if (refusedSend) return refuse(refusedSend.code, refusedSend.parts)
    const priced = input.orderType === 'TOPUP' ? priceTopUp(input, addedVolumes, context) : priceLines(input, context)
    if ('refused' in priced) return priced.refused
    const amount = priced.lines.reduce((sum, line) => sum + itemPriceOf(line) * BigInt(line.count), 0n)
    const key = input.key && spendingOnDay(keys?.get(input.key.keyId) ?? context.keys?.get(input.key.keyId), now)
    if (input.key && !key) return refuse('101004')
    const refused = refuseAmount(input, amount, wallet, funds, now, key)
    if (refused) return refused
    if (key) {
      keys ??= new Map()
      keys.set(key.keyId, { ...key, daySpent: key.daySpent + amount, totalSpent: key.totalSpent + amount })
    }
    funds = { balance: funds.balance - amount, spent: funds.spent + amount, version: funds.version + 1n }
    const order = orderOf(input, priced, amount, wallet, funds, now)
    placed.set(transactionId, order)
    sentTo = withRecipients(sentTo, input)
    if (priced.esim) {
      addedVolumes ??= new Map()
      addedVolumes.set(priced.esim.profileId, priced.addedVolume)
    }
    return { kind: 'placed', answer: answerOf(order) }
  })
  return {
    wallet: placed.size > 0 ? debited(wallet, funds, now) : wallet,
    verdicts,
    placed: [...placed.values()],
    keys,
  }
}

/** The members of a wallet that a debit changes. */
type Funds = Pick<Wallet, 'balance' | 'spent' | 'version'>

function later(left: Date, right: Date): Date {
  return left > right ? left : right
}

/** The verdict on an order whose transactionId is already in use. */
export function replayOrConflict(input: OrderInput, earlier: ExistingOrder): Verdict {
  if (!hasSameContent(input, earlier)) return refuse('200012')
  // An order with the id created for this call was placed by an attempt whose COMMIT was not answered.
  return { kind: earlier.orderId === input.orderId ? 'placed' : 'replayed', answer: answerOf(earlier) }
}

/** The content of an order at today's prices. */
interface Priced {
  lines: PackageLine[]
  /** The eSIM of a top-up, and the volume that the batch's top-ups up to this one add to it. */
  esim?: ToppedUpEsim
  addedVolume: bigint
}

function priceLines(input: NewOrderInput, context: DecisionContext): Priced | { refused: Verdict } {
  const lines: PackageLine[] = []
  for (const [index, line] of input.request.packageInfoList.entries()) {
    const offer = context.catalogue.offer(input.tenant, line.packageCode)
    if (typeof offer === 'string') {
      return refuseAt(index, 'packageCode', offer, `${line.packageCode} cannot be bought at the moment.`)
    }
    const priced = priceLine(offer, line, index, context)
    if ('refused' in priced) return priced
    lines.push(priced.line)
  }
  return { lines, addedVolume: 0n }
}

function priceTopUp(
  input: TopUpInput,
  addedVolumes: ReadonlyMap<string, bigint> | undefined,
  context: DecisionContext,
): Priced | { refused: Verdict } {
  const { request, tenant } = input
  const esim = context.esims.get(input)
  if (esim === undefined) return { refused: refuse('310403') }
  const added = addedVolumes?.get(esim.profileId) ?? 0n
  const offer = offerTopUp({ tenant, request, esim, added }, context)
  if ('code' in offer) return { refused: refuse(offer.code, offer.parts) }
  const priced = priceLine(offer, { ...request, count: 1 }, undefined, context)
  if ('refused' in priced) return priced
  return { lines: [priced.line], esim, addedVolume: added + topUpVolume(context.catalogue, priced.line) }
}

interface RequestedLine {
  count: number
  periodNum?: number | undefined
  price?: number | undefined
}

/**
 * Decides 000105 and 000108 for periodNum, then 200005, then 200011.
 * @param index of the line in the request; undefined for a top-up, which has no list of lines
 */
function priceLine(
  offer: Offer,
  requested: RequestedLine,
  index: number | undefined,
  context: DecisionContext,
): { line: PackageLine } | { refused: Verdict } {
  const { packageCode, packageName, cancelPolicy } = offer
  const period = periodOf(offer, requested.periodNum)
  if ('reason' in period) return refuseAt(index, 'periodNum', period.code, period.reason)
  const price = Number(offer.price)
  if (requested.price !== undefined && requested.price !== price) {
    const unit = offer.periodNumMin === null ? 'One eSIM' : 'One day of one eSIM'
    return refuseAt(index, 'price', '200005', `${unit} now costs ${price}.`, { current: price })
  }
  const available = context.available(offer)
  if (available !== undefined && available < requested.count) {
    return refuseAt(index, 'count', '200011', `${available} are left.`)
  }
  const policy = cancelPolicy.cancellable ? { cancelPolicy } : {}
  return { line: { packageCode, packageName, count: requested.count, price, ...period, ...policy } }
}

function refuseAt(
  index: number | undefined,
  member: string,
  code: FailureCode,
  reason: string,
  data?: Record<string, unknown>,
): { refused: Verdict } {
  const field = index === undefined ? member : `packageInfoList[${index}].${member}`
  return { refused: refuse(code, { details: [{ field, reason }], ...(data && { data }) }) }
}

/** The number of days of a day pass. It depends on the catalogue, so it is checked after replay and conflict. */
function periodOf(
  { packageCode, periodNumMin, periodNumMax }: Offer,
  sent: number | undefined,
): Pick<PackageLine, 'periodNum' | 'periodNumDefaulted'> | { code: FailureCode; reason: string } {
  if (periodNumMin === null || periodNumMax === null) {
    if (sent === undefined) return {}
    return { code: '000108', reason: `${packageCode} is not a day pass: leave periodNum out.` }
  }
  if (sent === undefined) {
    if (periodNumMin === 1) return { periodNum: 1, periodNumDefaulted: true }
    return { code: '000105', reason: `Send the number of days of the day pass, ${periodNumMin} to ${periodNumMax}.` }
  }
  if (sent >= periodNumMin && sent <= periodNumMax) return { periodNum: sent }
  return { code: '000108', reason: `Send ${periodNumMin} to ${periodNumMax} days.` }
}

const AMOUNT_MAX = BigInt(MONEY_MAX)

function refuseAmount(
  input: OrderInput,
  amount: bigint,
  wallet: Wallet,
  funds: Funds,
  now: Date,
  key: KeySpending | undefined,
): Verdict | undefined {
  if (amount > AMOUNT_MAX) {
    const reason = 'The total exceeds the largest amount that the API can represent. Order fewer eSIMs.'
    const field = input.orderType === 'TOPUP' ? 'periodNum' : 'packageInfoList'
    return refuse('000108', { details: [{ field, reason }] })
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
        shortfall: Math.min(Number(amount - available), MONEY_MAX), // a wallet cannot be credited with more
        currencyCode: wallet.currencyCode,
      },
    })
  }
  const { dailySpendLimit } = wallet
  // Unsigned requests are admitted only for tenants with a limit, so the limit was removed in the meantime.
  if (dailySpendLimit === null && input.sent?.unsignedFrom !== undefined) return refuse('000101')
  const exceeded = exceededLimit(amount, { dailySpendLimit, spent: funds.spent, key }, now)
  return exceeded && refuse('200014', { data: exceeded })
}

function refuse(code: FailureCode, parts: ErrorParts = {}): Verdict {
  return { kind: 'refused', code, parts }
}

/** `spent` counts only for its own day. Days are UTC days by the database's clock. */
function onDay(wallet: Wallet, now: Date): Wallet {
  const today = dayOf(now)
  return wallet.spentOn === today ? wallet : { ...wallet, spentOn: today, spent: 0n }
}

/** `daySpent` applies only to its own day. */
function spendingOnDay(key: KeySpending | undefined, now: Date): KeySpending | undefined {
  const today = dayOf(now)
  return key === undefined || key.spentOn === today ? key : { ...key, spentOn: today, daySpent: 0n }
}

function debited(wallet: Wallet, funds: Funds, now: Date): Wallet {
  const percent = lowBalancePercent(funds.balance, wallet.lowBalanceThreshold)
  return { ...wallet, ...funds, lowBalanceAlertedPercent: percent, updatedAt: now }
}

/** @param funds as the order's debit leaves them */
function orderOf(
  input: OrderInput,
  { lines, esim }: Priced,
  amount: bigint,
  wallet: Wallet,
  funds: Funds,
  now: Date,
): PlacedOrder {
  const { sent, key, handOver } = input
  return {
    tenantId: input.tenant.tenantId,
    orderId: input.orderId,
    transactionId: input.request.transactionId,
    orderType: input.orderType ?? 'NEW',
    toppedUpProfileId: esim?.profileId ?? null,
    toppedUpIccid: esim?.iccid ?? null,
    orderStatus: 'PAID',
    amount,
    currencyCode: wallet.currencyCode,
    balanceAfter: funds.balance,
    walletVersion: funds.version,
    packageLines: withHandOver(sent ? lines.map((line) => withSentNames(line, sent.lines)) : lines, handOver),
    remark: input.request.remark ?? null,
    sent: sent || key ? keptOf(sent, key) : null,
    handOver,
    decidedAt: now,
    createdAt: tenantTime(new Date(timeOfUuid(input.orderId)), input.tenant),
  }
}

function keptOf(sent: SentRequest | undefined, key: OrderKey | undefined): PlacedOrder['sent'] {
  const { lines, ...members } = sent ?? { lines: [] }
  const kept = { ...members, ...(key && { key }) }
  return Object.keys(kept).length > 0 ? kept : null
}

/** A replay differs from the first answer only in `orderStatus`. */
function answerOf(order: ExistingOrder): PlacementAnswer {
  return {
    orderNo: orderNoOf(order.orderId),
    transactionId: order.transactionId,
    orderType: order.orderType,
    ...(order.toppedUpProfileId !== null && { esimTranNo: order.toppedUpProfileId }),
    orderStatus: order.orderStatus,
    amount: Number(order.amount),
    currencyCode: order.currencyCode,
    balanceAfter: Number(order.balanceAfter),
    createTime: formatTime(order.createdAt),
  }
}
