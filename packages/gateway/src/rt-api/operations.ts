import { type Profile, rtTime, stripIccidPadding } from '@dealer-esim/contract'
import type { Admitted } from '../admission/admission.ts'
import type { Snapshot } from '../catalogue/catalogue.ts'
import { listLocations } from '../catalogue/locations.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../lib/api-error.ts'
import { getOrderWithProfiles } from '../profiles/get-order.ts'
import { COUNTED_PROFILES_MAX, pageProfiles } from '../profiles/page.ts'
import { queryUsage } from '../profiles/usage.ts'
import { getBalance } from '../wallet/ledger/balance.ts'
import type { Handler, RtCall } from './call.ts'
import { RtFailure } from './failure.ts'
import { listPackages } from './packages.ts'
import { checkRequest, guardOf, pagerOf, textOf, timeOf } from './request.ts'
import { rtEsim } from './shapes.ts'
import { queryWebhook, saveWebhook } from './webhook.ts'

/** The operations of the RT family that we serve. Each checks its request by the rules of ours and calls the same module. */
export const handlers = {
  async 'balance/query'(deps, { tenant }) {
    const { balance, lastUpdateTime } = await getBalance(deps.db, tenant.tenantId)
    return { balance, lastUpdateTime: rtTime(lastUpdateTime) }
  },
  async 'location/list'(deps, { tenant, catalogueVersion }) {
    const all = listLocations(await deps.catalogue.current(catalogueVersion), tenant, {})
    const names = new Map(all.map(({ locationCode, name }) => [locationCode, name]))
    const locationList = all.map(({ locationCode, name, type, subLocationCodes }) => ({
      code: locationCode,
      name,
      type: type === 'COUNTRY' ? 1 : 2,
      subLocationList: subLocationCodes.map((code) => ({ code, name: names.get(code) ?? code })),
    }))
    return { locationList }
  },
  'package/list': listPackages,
  'esim/order': order,
  'esim/query': query,
  async 'esim/usage/query'(deps, { tenant, request }) {
    const { esimTranNoList } = checkRequest('esim/usage/query', { esimTranNoList: request.esimTranNoList })
    const { esimUsageList } = await queryUsage(deps.db, tenant.tenantId, esimTranNoList)
    return {
      esimUsageList: esimUsageList.map(({ esimTranNo, orderUsage, totalVolume, usageUpdateTime }) => ({
        ...{ esimTranNo, dataUsage: orderUsage ?? 0, totalData: totalVolume ?? 0 },
        lastUpdateTime: rtTime(usageUpdateTime),
      })),
    }
  },
  'webhook/save': saveWebhook,
  'webhook/query': queryWebhook,
} as const satisfies Record<string, Handler>

export type RtOperation = keyof typeof handlers

/** Without a transactionId each call is a new order, under an id of ours. */
async function order(deps: Deps, { tenant, request, headers, receivedAt, catalogueVersion }: RtCall): Promise<object> {
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const orderId = deps.ids.uuid()
  const checked = checkRequest('esim/order', {
    transactionId: request.transactionId ?? orderId,
    packageInfoList: linesOf(request.packageInfoList, (code) => packageCodeOf(catalogue, tenant, code)),
    amount: guardOf(request.amount),
  })
  const verdict = await deps.orderPlacer.place({ tenant, request: checked, headers, receivedAt, orderId })
  if (verdict.kind === 'refused') throw new ApiError(verdict.code, verdict.parts)
  const { orderNo, transactionId } = verdict.answer
  return { orderNo, transactionId }
}

/** Lines that name one package, for the same days and with the same guard, are added up. */
function linesOf(lines: unknown, resolve: (code: string) => string): unknown {
  if (!Array.isArray(lines)) return lines
  const merged = new Map<string, Record<string, unknown>>()
  for (const [index, line] of lines.entries()) {
    if (typeof line !== 'object' || line === null) return lines // refused by the schema
    const { packageCode, slug, count, price, periodNum } = line as Record<string, unknown>
    const named = packageCode ?? slug
    const parts = {
      packageCode: typeof named === 'string' ? resolve(named) : named,
      price: guardOf(price),
      periodNum,
      count,
    }
    const known = Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined))
    const key = typeof count === 'number' ? JSON.stringify([parts.packageCode, parts.price, periodNum]) : String(index)
    const earlier = merged.get(key)
    if (earlier) earlier.count = (earlier.count as number) + (count as number)
    else merged.set(key, known)
  }
  return [...merged.values()]
}

/** Programs send a slug where a packageCode is expected. */
function packageCodeOf(catalogue: Snapshot, buyer: Admitted['tenant'], code: string): string {
  if (catalogue.find(code) !== undefined) return code
  const [item] = catalogue.list(buyer, { slug: code, pageSize: 1 }).packageList
  return item?.packageCode ?? code
}

/**
 * Pending is not failed: an order whose eSIMs may still come is 200010, and only one that ended without any is 200009.
 * @throws RtFailure 000105, 200008, 200009, 200010; ApiError 200013
 */
async function query(deps: Deps, { tenant, request, catalogueVersion }: RtCall): Promise<object> {
  const pager = pagerOf(request)
  const iccid = textOf(request, 'iccid')
  const filter = {
    orderNo: textOf(request, 'orderNo'),
    esimTranNo: textOf(request, 'esimTranNo'),
    iccid: iccid === undefined ? undefined : stripIccidPadding(iccid),
    startMs: timeOf(request, 'startTime'),
    endMs: timeOf(request, 'endTime'),
  }
  if (Object.values(filter).every((value) => value === undefined)) {
    throw new RtFailure('000105', 'Send orderNo, iccid, esimTranNo, or startTime and endTime.')
  }
  const found =
    filter.orderNo === undefined
      ? await pageProfiles(deps, tenant.tenantId, filter, pager)
      : await pageOfOrder(deps, tenant.tenantId, filter.orderNo, filter, pager)
  if (!found) throw new RtFailure('200008', `More than ${COUNTED_PROFILES_MAX} eSIMs match: ask for a shorter time.`)
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const takesTopUp = topUpReader(catalogue, tenant)
  const esimList = found.profiles.map((profile) => rtEsim(profile, catalogue, takesTopUp(profile.packageCode)))
  return { esimList, pager: { ...pager, total: found.total } }
}

/** Reads from the catalogue, once for each package, if the tenant may buy one that tops up its eSIMs. */
function topUpReader(catalogue: Snapshot, buyer: Admitted['tenant']): (packageCode: string) => boolean {
  const known = new Map<string, boolean>()
  return (packageCode) => {
    const earlier = known.get(packageCode)
    if (earlier !== undefined) return earlier
    const [item] = catalogue.list(buyer, { packageCode, pageSize: 1 }).packageList
    const isSupported = item?.status === 'ON_SALE' && item.topUpSupported
    known.set(packageCode, isSupported)
    return isSupported
  }
}

interface OrderFilter {
  esimTranNo: string | undefined
  iccid: string | undefined
  startMs: number | undefined
  endMs: number | undefined
}

async function pageOfOrder(
  deps: Deps,
  tenantId: string,
  orderNo: string,
  { esimTranNo, iccid, startMs = 0, endMs = Number.POSITIVE_INFINITY }: OrderFilter,
  { pageNum, pageSize }: { pageNum: number; pageSize: number },
): Promise<{ profiles: Profile[]; total: number }> {
  const { orderStatus, profileList } = await getOrderWithProfiles(deps, tenantId, { orderNo })
  switch (orderStatus) {
    case 'PAID':
    case 'ALLOCATING':
    case 'UNDER_REVIEW':
      throw new RtFailure('200010', 'The eSIMs are being prepared. This is not a failure: ask again in a few seconds.')
    case 'FAILED':
    case 'CANCELLED':
      throw new RtFailure('200009', 'The order ended without eSIMs and is refunded.')
    case 'DELIVERED':
    case 'PARTIALLY_DELIVERED':
      break
    default:
      orderStatus satisfies never
  }
  const matching = profileList.filter((profile) => {
    const createdMs = Date.parse(profile.createTime)
    const isMeant =
      (esimTranNo ?? profile.esimTranNo) === profile.esimTranNo && (iccid ?? profile.iccid) === profile.iccid
    return isMeant && createdMs >= startMs && createdMs < endMs
  })
  matching.sort((left, right) => (left.esimTranNo < right.esimTranNo ? -1 : 1))
  return { profiles: matching.slice((pageNum - 1) * pageSize, pageNum * pageSize), total: matching.length }
}
