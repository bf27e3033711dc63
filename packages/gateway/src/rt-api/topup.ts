import { orderIdOf, rtTime } from '@dealer-esim/contract'
import type { Deps } from '../deps.ts'
import { ApiError } from '../lib/api-error.ts'
import { findUnansweredTopUp, markAnswered } from '../orders/unanswered-topup.ts'
import { pageProfiles } from '../profiles/page.ts'
import type { RtCall } from './call.ts'
import { RtFailure } from './failure.ts'
import { packageCodeOf } from './orders.ts'
import { checkRequest, guardOf, keyOf } from './request.ts'

/**
 * Tops an eSIM up and waits for the end. Without a transactionId a call repeats an earlier one of the same package
 * on the eSIM until its end was answered: programs repeat it after 900001. Afterwards it is a new top-up.
 * @throws RtFailure 200009 where the supplier refused it and it is refunded; 900001 while it is open
 */
export async function topUp(deps: Deps, call: RtCall): Promise<object> {
  const { tenant, request, headers, receivedAt, catalogueVersion, unsignedFrom } = call
  const { tenantId } = tenant
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const orderId = deps.ids.uuid()
  const { packageCode, slug, esimTranNo, iccid, price, periodNum } = request
  const name = packageCode ?? slug
  const member = packageCode === undefined ? 'slug' : 'packageCode'
  const checked = checkRequest('esim/topup', {
    ...{ transactionId: orderId, esimTranNo, iccid, periodNum },
    packageCode: typeof name === 'string' ? packageCodeOf(catalogue, tenant, { member, name, type: 'TOPUP' }) : name,
    price: guardOf(price),
    amount: guardOf(request.amount),
  })
  const isNamed = request.transactionId !== undefined
  const repeated = isNamed ? undefined : await findUnansweredTopUp(deps.db, tenantId, checked)
  const key = keyOf(request, repeated?.transactionId ?? orderId)
  const verdict = await deps.orderPlacer.place({
    ...{ orderType: 'TOPUP' as const, tenant, headers, receivedAt, orderId },
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
  if (!isNamed) await markAnswered(deps.db, tenantId, awaited.id)
  if (ended !== 'DELIVERED') throw new RtFailure('200009', 'The top-up failed and is refunded.')
  const found = await pageProfiles(deps, tenantId, { esimTranNo: toppedUp }, { pageNum: 1, pageSize: 1 })
  const esim = found!.profiles[0]!
  return {
    transactionId: key.sent.transactionId ?? transactionId,
    iccid: esim.iccid,
    expiredTime: rtTime(esim.expiredTime ?? esim.installBefore),
    totalVolume: esim.totalVolume ?? 0,
    totalDuration: esim.totalDuration,
    orderUsage: esim.orderUsage ?? 0,
  }
}
