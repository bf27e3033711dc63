import { type OrderLine, type Profile, type RtEsim, stripIccidPadding } from '@dealer-esim/contract'
import type { Snapshot } from '#catalogue/catalogue.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import type { Deps } from '#deps.ts'
import { COUNTED_PROFILES_MAX, findInstallationTimes, pageProfiles } from '#esims/profile-page.ts'
import { getOrderWithProfiles } from '#esims/query-order.ts'
import type { Admitted } from '#tenants/admission/admission.ts'
import type { RtCall } from './rt-call.ts'
import { RtFailure } from './rt-failure.ts'
import { pagerOf, sentKeyOf, textOf, timeOf } from './rt-request.ts'
import { rtEsim } from './rt-shapes.ts'
import { topUpTypeOf } from './rt-top-ups.ts'

/**
 * Queries an order or eSIMs; with a pager alone, all eSIMs. A pending order has not failed: while its eSIMs may still come, the answer is 200010; 200009
 * means that it ended without any.
 * @throws RtFailure 000105, 200008, 200009, 200010; ApiError 000107, 000108, 200013
 */
export async function query(deps: Deps, { tenant, request, catalogueVersion }: RtCall): Promise<object> {
  const pager = pagerOf(request)
  const iccid = textOf(request, 'iccid')
  const order = { orderNo: textOf(request, 'orderNo'), transactionId: sentKeyOf(request) }
  const isOfOrder = order.orderNo !== undefined || order.transactionId !== undefined
  const filter = {
    esimTranNo: textOf(request, 'esimTranNo')?.toLowerCase(),
    iccid: iccid === undefined ? undefined : stripIccidPadding(iccid),
    startMs: timeOf(request, 'startTime'),
    endMs: timeOf(request, 'endTime'),
  }
  const isFiltered = isOfOrder || Object.values(filter).some((value) => value !== undefined)
  if (!isFiltered && request.pager === undefined) {
    throw new RtFailure(
      '000105',
      'Send at least one of orderNo, transactionId, iccid, esimTranNo, startTime, endTime and pager.',
    )
  }
  const found = isOfOrder
    ? await pageOfOrder(deps, tenant, order, filter, pager)
    : await pageProfiles(deps, tenant.tenantId, filter, pager)
  if (!found)
    throw new RtFailure(
      '200008',
      `More than ${COUNTED_PROFILES_MAX} eSIMs match: narrow the query with startTime and endTime, or with other members.`,
    )
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const topUpType = topUpReader(catalogue, tenant)
  const installed = await findInstallationTimes(deps.db, tenant.tenantId, found.profiles)
  const esimList = found.profiles.map((profile) =>
    rtEsim(profile, catalogue, {
      supportTopUpType: topUpType(profile.packageCode),
      installationTime: installed.get(profile.esimTranNo),
    }),
  )
  return { esimList, pager: { ...pager, total: found.total } }
}

/** Looks up in the catalogue, once per package, how the tenant may top up its eSIMs. */
function topUpReader(
  catalogue: Snapshot,
  buyer: Admitted['tenant'],
): (packageCode: string) => RtEsim['supportTopUpType'] {
  const known = new Map<string, RtEsim['supportTopUpType']>()
  return (packageCode) => {
    const earlier = known.get(packageCode)
    if (earlier !== undefined) return earlier
    const [item] = listPackages(catalogue, buyer, { packageCode, pageSize: 1 }).packageList
    const type = item?.status === 'ON_SALE' ? topUpTypeOf(catalogue, buyer, item) : 1
    known.set(packageCode, type)
    return type
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
  tenant: Admitted['tenant'],
  order: { orderNo: string | undefined; transactionId: string | undefined },
  { esimTranNo, iccid, startMs = 0, endMs = Number.POSITIVE_INFINITY }: OrderFilter,
  { pageNum, pageSize }: { pageNum: number; pageSize: number },
): Promise<{ profiles: Profile[]; total: number }> {
  const named = Object.fromEntries(Object.entries(order).filter(([, value]) => value !== undefined))
  const { orderStatus, profileList, packageInfoList } = await getOrderWithProfiles(deps, tenant.tenantId, named, tenant)
  switch (orderStatus) {
    case 'PAID':
    case 'ALLOCATING':
    case 'UNDER_REVIEW':
      throw pending(packageInfoList)
    case 'FAILED':
    case 'CANCELLED':
      throw new RtFailure('200009', 'The order ended without eSIMs and was refunded.')
    case 'DELIVERED':
    case 'PARTIALLY_DELIVERED':
      break
    default:
      orderStatus satisfies never
  }
  const matching = profileList.filter((profile) => {
    const createdMs = Date.parse(profile.createTime)
    const isRequested =
      (esimTranNo ?? profile.esimTranNo) === profile.esimTranNo && (iccid ?? profile.iccid) === profile.iccid
    return isRequested && createdMs >= startMs && createdMs < endMs
  })
  matching.sort((left, right) => (left.esimTranNo < right.esimTranNo ? -1 : 1))
  return { profiles: matching.slice((pageNum - 1) * pageSize, pageNum * pageSize), total: matching.length }
}

/** Begins with the family's words: some programs recognise a pending order only by its text, and give up on any other. */
function pending(lines: readonly Pick<OrderLine, 'count' | 'deliveredCount'>[]): RtFailure {
  const total = lines.reduce((sum, { count }) => sum + count, 0)
  const delivered = lines.reduce((sum, { deliveredCount }) => sum + deliveredCount, 0)
  const words = `the batchOrder has been getting resource, total:[${total}], success:[${delivered}]`
  return new RtFailure(
    '200010',
    `${words}. The eSIMs are being prepared. This is not a failure: ask again in a few seconds.`,
  )
}
