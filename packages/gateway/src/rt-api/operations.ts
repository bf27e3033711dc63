import { setImmediate } from 'node:timers/promises'
import type { PackageOnSale } from '@dealer-esim/contract'
import { listLocations } from '../catalogue/locations.ts'
import type { Deps } from '../deps.ts'
import { listPackagesFor } from '../profiles/list-packages.ts'
import { queryUsage } from '../profiles/usage.ts'
import { getBalance } from '../wallet/ledger/balance.ts'
import { actionHandlers } from './actions.ts'
import type { Handler, RtCall } from './call.ts'
import { order } from './orders.ts'
import { query } from './query.ts'
import { checkRequest } from './request.ts'
import { rtPackage, rtTime } from './shapes.ts'
import { topUp } from './topup.ts'

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
  'package/list': listAllPackages,
  'esim/order': order,
  'esim/query': query,
  'esim/topup': topUp,
  ...actionHandlers,
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
} as const satisfies Record<string, Handler>

export type RtOperation = keyof typeof handlers

/** One answer without pages; other requests get their turn between two pages of ours. */
async function listAllPackages(deps: Deps, { tenant, request, catalogueVersion }: RtCall): Promise<object> {
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const { locationCode, packageCode, slug, iccid, type } = request
  const wanted = checkRequest('package/list', {
    ...{ locationCode, packageCode, slug, iccid, pageSize: 500 },
    type: iccid === undefined ? type : (type ?? 'TOPUP'),
  })
  const packageList: object[] = []
  let cursor: string | null | undefined
  do {
    const page = await listPackagesFor(deps, catalogue, tenant, { ...wanted, ...(cursor && { cursor }) })
    for (const item of page.packageList) packageList.push(rtPackage(item as PackageOnSale)) // off sale: only in changes
    cursor = page.nextCursor
    if (cursor) await setImmediate()
  } while (cursor)
  return { packageList }
}
