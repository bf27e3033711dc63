import { setImmediate } from 'node:timers/promises'
import { ORDER_ESIMS_MAX, type OrderRequest, orderIdOf, rtTime } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Deps } from '#deps.ts'
import { pageProfiles } from '#esims/profile-page.ts'
import { keyOf as orderKeyOf, type SentLine } from '#orders/placing/order-input.ts'
import { findUnnamedKey, recordReport } from '#orders/unanswered-topup.ts'
import { packageCodeOf } from './package-code.ts'
import type { RtCall } from './rt-call.ts'
import { RtFailure } from './rt-failure.ts'
import { checkRequest, guardOf, keyOf, numberOf, refuseDryRun } from './rt-request.ts'
import { findTopUp } from './rt-top-ups.ts'
import { inProgressIfUnavailable } from './wait-for-end.ts'

/** Places an order. Without a transactionId each call is a new order, with an id that the gateway creates. */
export async function order(deps: Deps, call: RtCall): Promise<object> {
  const { tenant, request, headers, receivedAt, catalogueVersion, unsignedFrom } = call
  refuseDryRun(request)
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const orderId = deps.ids.uuid()
  const key = keyOf(request, orderId)
  const { lines, requested } = linesOf(request.packageInfoList, (member, name) =>
    packageCodeOf(catalogue, tenant, { member, name, type: 'BASE' }),
  )
  const checked = checkRequest('esim/order', {
    transactionId: orderId, // keyOf checked it: a derived id has a form that requests may not use
    packageInfoList: requested,
    amount: guardOf(request.amount),
  })
  const verdict = await deps.orderPlacer.place({
    ...{ tenant, headers, receivedAt, orderId, key: orderKeyOf(tenant) },
    request: { ...checked, transactionId: key.transactionId, packageInfoList: guarded(checked.packageInfoList, lines) },
    sent: { ...key.sent, ...(unsignedFrom !== undefined && { unsignedFrom }), lines },
  })
  if (verdict.kind === 'refused') throw new ApiError(verdict.code, verdict.parts)
  if (verdict.kind === 'placed') call.traceWith({ orderId, part: 'begins' })
  const { orderNo, transactionId } = verdict.answer
  return { orderNo, transactionId: key.sent.transactionId ?? transactionId }
}

interface RtLine extends SentLine {
  price: unknown
}

/**
 * Adds up lines for the same package and the same days.
 * @returns the lines as sent, and the requested lines. The latter stay as sent if a line is not an object.
 * @throws RtFailure 200008 for more lines than an order has eSIMs, before any of them is looked up
 */
function linesOf(
  sent: unknown,
  resolve: (member: 'packageCode' | 'slug', name: string) => string,
): { lines: RtLine[]; requested: unknown } {
  if (!Array.isArray(sent)) return { lines: [], requested: sent }
  if (sent.length > ORDER_ESIMS_MAX) {
    throw new RtFailure('200008', `packageInfoList: send at most ${ORDER_ESIMS_MAX} lines.`)
  }
  const lines: RtLine[] = []
  const merged = new Map<string, Record<string, unknown>>()
  for (const [index, line] of sent.entries()) {
    if (typeof line !== 'object' || line === null) return { lines: [], requested: sent } // refused by the schema
    const { packageCode, slug, price, ...sentNumbers } = line as Record<string, unknown>
    const [count, periodNum] = [numberOf(sentNumbers.count), numberOf(sentNumbers.periodNum)]
    const name = packageCode ?? slug
    const member = packageCode === undefined ? 'slug' : 'packageCode'
    const meant = typeof name === 'string' ? resolve(member, name) : name
    const parts = { packageCode: meant, count, price: guardOf(price), periodNum }
    // A line that the schema refuses stays as it is, so that another line cannot compensate for a count below 1.
    const isAddable = Number.isInteger(count) && (count as number) >= 1 && typeof meant === 'string'
    const key = isAddable ? JSON.stringify([meant, periodNum]) : String(index)
    const earlier = merged.get(key)
    if (earlier) {
      earlier.count = (earlier.count as number) + (count as number)
      earlier.price ??= parts.price
    } else merged.set(key, parts)
    lines.push({
      ...{ name: name as string, packageCode: meant as string, count: count as number, price: parts.price },
      periodNum: periodNum as number | undefined,
    })
  }
  return { lines, requested: [...merged.values()].map(withoutUndefined) }
}

function withoutUndefined(members: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** A price that no package has, so it is refused: of two different guards for one package, at least one is wrong. */
const IMPOSSIBLE_PRICE = -1

function guarded(
  requested: OrderRequest['packageInfoList'],
  lines: readonly RtLine[],
): OrderRequest['packageInfoList'] {
  return requested.map((line) => {
    const guards = lines.flatMap(({ packageCode, price }) => {
      return packageCode === line.packageCode && price !== undefined ? [price] : []
    })
    return guards.every((price) => price === line.price) ? line : { ...line, price: IMPOSSIBLE_PRICE }
  })
}

/**
 * Tops up an eSIM and waits for the result. Until the final result has been returned, a call without a transactionId repeats
 * an earlier one for the same package and eSIM, because programs repeat it after 900001. Afterwards it is a new top-up.
 * @throws RtFailure 200009 if the supplier refused it and it is refunded; 900001 while it is open
 */
export async function topUp(deps: Deps, call: RtCall): Promise<object> {
  const { tenant, request, headers, receivedAt, catalogueVersion, unsignedFrom } = call
  refuseDryRun(request)
  const { tenantId } = tenant
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const orderId = deps.ids.uuid()
  const { esimTranNo, iccid, price } = request
  const periodNum = numberOf(request.periodNum)
  const { name, packageCode } = await findTopUp(deps, catalogue, tenant, request)
  const checked = checkRequest('esim/topup', {
    ...{ transactionId: orderId, esimTranNo, iccid, periodNum, packageCode },
    price: guardOf(price),
    amount: guardOf(request.amount),
  })
  const isNamed = request.transactionId !== undefined
  const unnamedKey = isNamed
    ? undefined
    : await findUnnamedKey(deps.db, { tenantId, keyId: tenant.key?.keyId ?? null }, checked, name as string)
  const key = keyOf(request, unnamedKey ?? orderId)
  const verdict = await deps.orderPlacer.place({
    ...{ orderType: 'TOPUP' as const, tenant, headers, receivedAt, orderId, key: orderKeyOf(tenant) },
    request: { ...checked, transactionId: key.transactionId },
    sent: {
      ...key.sent,
      ...(unsignedFrom !== undefined && { unsignedFrom }),
      ...(!isNamed && { isUnanswered: true }),
      lines: [{ name: name as string, packageCode: checked.packageCode, count: 1, periodNum: checked.periodNum }],
    },
  })
  if (verdict.kind === 'refused') throw new ApiError(verdict.code, verdict.parts)
  if (verdict.kind === 'placed') call.traceWith({ orderId, part: 'begins' })
  const { orderNo, transactionId, esimTranNo: toppedUp } = verdict.answer
  const awaited = { kind: 'ORDER' as const, tenantId, id: orderIdOf(orderNo)! }
  const ended = await call.waitForEnd(awaited)
  const answer =
    ended === 'DELIVERED' ? await inProgressIfUnavailable(toppedUpAnswer(deps, tenantId, toppedUp!)) : undefined
  if (!isNamed) {
    // Last, because a program that receives no answer repeats the call.
    const report = { tenantId, orderId: awaited.id, callId: orderId }
    await inProgressIfUnavailable(recordReport(deps.db, report, call.onLostAnswer))
    await setImmediate() // a connection that has broken by now is noticed before the answer is written
  }
  if (answer === undefined) throw new RtFailure('200009', 'The top-up failed and was refunded.')
  return { transactionId: key.sent.transactionId ?? transactionId, ...answer }
}

async function toppedUpAnswer(deps: Deps, tenantId: string, esimTranNo: string) {
  const found = await pageProfiles(deps, tenantId, { esimTranNo }, { pageNum: 1, pageSize: 1 })
  const esim = found!.profiles[0]!
  return {
    topUpEsimTranNo: esim.esimTranNo,
    iccid: esim.iccid,
    expiredTime: rtTime(esim.expiredTime ?? esim.installBefore),
    totalVolume: esim.totalVolume ?? 0,
    totalDuration: esim.totalDuration,
    orderUsage: esim.orderUsage ?? 0,
  }
}
