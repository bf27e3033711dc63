import { setTimeout as delay } from 'node:timers/promises'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { isObject, type JsonObject, textOf, unitsOf } from '#members.ts'
import type { Charge, Outcome, PriceGuard, SupplierRequest, TopUpRequest, UnreadableEntry } from '#supplier.ts'
import { topUpsIn } from '#unreadable-entry.ts'
import { type Call, entriesIn, type RtAnswer } from './client.ts'
import { type EsimRow, timeOf } from './decode.ts'
import { findByKey, findEsim, PENDING, queryRows } from './find.ts'
import { OTHER_ORDER, outcomeOfFailure, outcomeOfRow, outcomeOfToppedUpRow } from './outcome.ts'

export interface Account {
  call: Call
  currencyCode: string
  timeoutMs: number
}

/** When a call queries the order that it has just placed: most eSIMs are delivered within seconds. */
export const CHECK_AFTER_MS: readonly number[] = [0, 500, 1_500]

export async function order(account: Account, request: SupplierRequest): Promise<Outcome> {
  const { key, productCode, periodNum } = request
  const placed = await buyAtPrice(account, request, (price) => {
    const line = { packageCode: productCode, count: 1, ...(periodNum && { periodNum }) }
    return account.call('esim/order', { transactionId: key, packageInfoList: [{ ...line, ...(price && { price }) }] })
  })
  await failpoint('esim-access.ordered')
  if ('kind' in placed) return placed
  const { obj, charged } = placed
  const reference = textOf(obj.orderNo)
  if ((textOf(obj.transactionId) ?? key) !== key) return OTHER_ORDER
  if (reference === undefined) return { kind: 'unknown', message: 'the answer names no order', charged }
  let outcome: Outcome = { kind: 'ordered', message: 'the wholesaler has accepted it', reference, charged }
  for (const waitMs of CHECK_AFTER_MS) {
    await delay(waitMs)
    outcome = await queryOrder(account, key, reference, charged)
    if (outcome.kind !== 'ordered') break
  }
  return outcome.kind === 'unknown' ? { ...outcome, charged, reference } : outcome
}

/** The wholesaler answers a top-up immediately, so no query is needed. */
export async function topUp(account: Account, request: TopUpRequest): Promise<Outcome> {
  const { key: transactionId, productCode: packageCode, periodNum } = request
  const found = await findEsim(account.call, request.topUp)
  if ('failure' in found) return { kind: 'retry', message: found.failure.message, ...downOf(found.failure) }
  const esimTranNo = found.value?.esimTranNo
  if (esimTranNo === undefined) return { kind: 'refused', message: 'the wholesaler has no such eSIM' }
  const what = { esimTranNo, packageCode, transactionId, ...(periodNum && { periodNum }) }
  const send = (amount: number | undefined) => account.call('esim/topup', { ...what, ...(amount && { amount }) })
  const hasDays = periodNum !== undefined && periodNum > 1
  const added = await (hasDays ? buyDays(account, request, periodNum, send) : buyAtPrice(account, request, send))
  if ('kind' in added) return added
  const { obj, charged } = added
  const answered = textOf(obj.transactionId) ?? transactionId
  const isOurs = answered === transactionId || (await hasAdded(account, request, found.value!, answered))
  return isOurs ? { kind: 'toppedUp', expiredTime: timeOf(obj.expiredTime), charged } : OTHER_ORDER
}

/**
 * Some wholesalers return their own name instead of our key. The top-up is ours if the eSIM has one more package than
 * before, and that package has our key, that name or neither.
 */
async function hasAdded(
  { call }: Account,
  { key, topUp }: TopUpRequest,
  before: EsimRow,
  answered: string,
): Promise<boolean> {
  const found = await findEsim(call, topUp)
  const after = 'value' in found ? found.value?.packageKeys : undefined
  if (before.packageKeys === undefined || after === undefined) return false
  const left = [...before.packageKeys]
  const added = after.filter((one) => {
    const known = left.indexOf(one)
    if (known >= 0) left.splice(known, 1)
    return known < 0
  })
  return left.length === 0 && added.length === 1 && [key, answered, undefined].includes(added[0])
}

/**
 * Queries a purchase by its order number, otherwise by our key. This never buys: an order that is not found returns to
 * fulfilment, which repeats it with the same key and its price guard.
 */
export async function query(account: Account, request: SupplierRequest): Promise<Outcome> {
  const { key, reference, topUp: esim } = request
  if (esim !== undefined) {
    const found = await findEsim(account.call, esim)
    if ('failure' in found) return inDoubt(found.failure)
    return found.value === undefined
      ? { kind: 'unknown', message: 'the wholesaler has no such eSIM' }
      : outcomeOfToppedUpRow(found.value, key)
  }
  if (reference !== undefined) return queryOrder(account, key, reference, undefined)
  const found = await findByKey(account.call, request, 2 * account.timeoutMs)
  if ('failure' in found) return inDoubt(found.failure)
  if (found.value === undefined) return { kind: 'retry', message: 'the wholesaler has no eSIM with this key' }
  return outcomeOfRow(found.value, key, undefined)
}

async function queryOrder(
  { call }: Account,
  key: string,
  reference: string,
  charged: Charge | undefined,
): Promise<Outcome> {
  const found = await queryRows(call, { orderNo: reference })
  const isPending = 'failure' in found && found.failure.kind === 'failed' && found.failure.code === PENDING
  if ('value' in found && found.value.length === 0 && found.unreadable.length > 0) {
    const [{ entry }] = found.unreadable as [UnreadableEntry]
    return { kind: 'unknown', message: `the eSIM of the order is unreadable: ${entry}`, reference, charged }
  }
  if (isPending || ('value' in found && found.value.length === 0)) {
    return { kind: 'ordered', message: 'the wholesaler has accepted it and not delivered it yet', reference, charged }
  }
  if ('failure' in found) return { ...inDoubt(found.failure), reference }
  const row = found.value.find(({ transactionId }) => transactionId === key) ?? found.value[0]!
  return outcomeOfRow({ ...row, orderNo: reference }, key, charged)
}

/** A query changes nothing: any failure leaves the item in doubt. */
function inDoubt(failure: Exclude<RtAnswer, { kind: 'done' }>): Extract<Outcome, { kind: 'unknown' }> {
  return { kind: 'unknown', message: failure.message, ...downOf(failure) }
}

function downOf(failure: Exclude<RtAnswer, { kind: 'done' }>): { down?: true } {
  return failure.kind === 'none' && failure.down ? { down: true } : {}
}

/**
 * Tops up by several days of a day pass. Public documents do not say whether `amount` is for one day or for all of them, so
 * it is always sent, as the price of all days that the wholesaler states now: a wholesaler that compares it with the price
 * of a single day, or that sells only one day, refuses it and debits nothing.
 */
async function buyDays(
  { call, currencyCode }: Account,
  request: TopUpRequest,
  days: number,
  send: (amount: number) => Promise<RtAnswer>,
): Promise<Bought | Outcome> {
  const { guard } = request
  const price = await currentPrice(call, request)
  if (typeof price !== 'bigint') return price
  if (guard?.currencyCode === currencyCode && price > guard.salePrice) return tooExpensive(guard, price)
  const amount = price * BigInt(days)
  const answer = await send(Number(amount))
  if (answer.kind !== 'done') return outcomeOfFailure(answer, true)
  return { obj: answer.obj, charged: { amount, currencyCode } }
}

type Bought = { obj: JsonObject; charged: Charge | undefined }

const OTHER_PRICE: readonly string[] = ['200005', '200006']

/**
 * Buys at the cost in the catalogue, which the wholesaler compares with its current price. If they differ, it sells nothing: we
 * then buy at the current price if that is at most the sale price, and otherwise refuse the purchase.
 */
async function buyAtPrice(
  account: Account,
  request: SupplierRequest,
  send: (price: number | undefined) => Promise<RtAnswer>,
): Promise<Bought | Outcome> {
  const { currencyCode } = account
  const guard = request.guard?.currencyCode === currencyCode ? request.guard : undefined
  let price = guard?.cost
  let answer = await send(price === undefined ? undefined : Number(price))
  if (guard !== undefined && answer.kind === 'failed' && OTHER_PRICE.includes(answer.code)) {
    const current = await currentPrice(account.call, request)
    if (typeof current !== 'bigint') return current
    if (current > guard.salePrice) return tooExpensive(guard, current)
    price = current
    answer = await send(Number(current))
    if (answer.kind === 'failed' && OTHER_PRICE.includes(answer.code)) return { kind: 'retry', message: answer.message }
  }
  if (answer.kind !== 'done') return outcomeOfFailure(answer, request.topUp !== undefined)
  // The answer states no amount, but the wholesaler has compared our price with its own.
  const days = BigInt(request.periodNum ?? 1)
  return { obj: answer.obj, charged: price ? { amount: price * days, currencyCode } : undefined }
}

/** No figures: dealers can read this message, and costs are the operator's secret. */
function tooExpensive({ currencyCode }: PriceGuard, amount: bigint): Outcome {
  const message = 'the current price of the wholesaler is above the sale price'
  return { kind: 'refused', message, price: { amount, currencyCode } }
}

/** Top-ups are listed by eSIM: with a packageCode, the list contains those for that package's eSIMs. */
export async function currentPrice(
  call: Call,
  { productCode, topUp }: Pick<SupplierRequest, 'productCode' | 'topUp'>,
): Promise<bigint | Extract<Outcome, { message: string }>> {
  const which = topUp ? { type: 'TOPUP', iccid: topUp.iccid } : { type: 'BASE', packageCode: productCode }
  const answer = await call('package/list', which)
  const entries = answer.kind === 'done' ? entriesIn(answer, 'packageList') : undefined
  const offered = entries
    ?.filter(isObject)
    .find(({ packageCode, slug }) => packageCode === productCode || slug === productCode)
  const listed = topUpsIn(entries, (one) => [one.packageCode, one.slug], 'the list of packages')
  const odd = listed === undefined ? 'every entry' : listed.unreadable?.[0]?.entry
  // An unreadable entry may be the package.
  if (entries && !offered && odd) return { kind: 'retry', message: `the current price is unreadable: ${odd}` }
  if (topUp && entries && !offered) {
    return { kind: 'refused', message: 'the wholesaler does not offer this top-up for the eSIM' }
  }
  const down = answer.kind === 'done' ? {} : downOf(answer)
  const message = 'the current price could not be queried'
  return unitsOf(offered?.price) ?? { kind: 'retry', message, ...down }
}
