import { type RtOperationName, rtTime } from '@dealer-esim/contract'
import { listLocations } from '../catalogue/locations.ts'
import { queryUsage } from '../profiles/usage.ts'
import { getBalance } from '../wallet/ledger/balance.ts'
import { actionHandlers } from './actions.ts'
import type { Handler } from './call.ts'
import { order } from './orders.ts'
import { listPackages } from './packages.ts'
import { query } from './query.ts'
import { checkRequest } from './request.ts'
import { topUp } from './topup.ts'
import { queryWebhook, saveWebhook } from './webhook.ts'

/** The operations of the RT family that we serve. Each checks its request by the rules of ours and calls the same module. */
export const handlers: { [Name in RtOperationName]: Handler } = {
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
  'webhook/save': saveWebhook,
  'webhook/query': queryWebhook,
}
