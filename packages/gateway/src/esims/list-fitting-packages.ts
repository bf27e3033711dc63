import {
  type EsimStatus,
  type FaultDetail,
  type PackageListAnswer,
  type PackageListRequest,
  type SmdpStatus,
  stripIccidPadding,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { isUuid } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { Buyer, Snapshot } from '#catalogue/catalogue.ts'
import { isCountry } from '#catalogue/coverage.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import type { EsimToTopUp } from '#catalogue/topup-fit.ts'
import { allowsTopUp } from '#orders/placing/top-up-offer.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { topUpsListedFor } from './listed-top-ups.ts'

/**
 * The answer of `package/list`. If the request specifies an eSIM, it lists the packages that can be added to it now. It
 * lists nothing if the eSIM's state or its supplier does not allow a top-up, and leaves out what its supplier does not list
 * for it.
 * @param base list only the packages that can be added to eSIMs of this BASE package; ignored if the request specifies an
 * eSIM
 * @throws ApiError 000108, 310403
 */
export async function listPackagesFor(
  deps: { db: Pick<Db, 'query'>; suppliers: Pick<Suppliers, 'get'>; log: Pick<Log, 'warn'> },
  catalogue: Snapshot,
  buyer: Buyer,
  request: PackageListRequest,
  base?: Pick<EsimToTopUp, 'packageCode'>,
): Promise<PackageListAnswer> {
  checkCountries(request)
  const isForEsim = request.esimTranNo !== undefined || request.iccid !== undefined
  if (!isForEsim) return listPackages(catalogue, buyer, request, base)
  const details = listEsimFaults(request)
  if (details.length > 0) throw new ApiError('000108', { details })
  const esim = await findEsimToTopUp(deps.db, buyer.tenantId, request)
  if (esim === undefined) throw new ApiError('310403')
  const answer = listPackages(catalogue, buyer, request, esim)
  const supplied = deps.suppliers.get(esim.supplier)
  if (supplied?.supplier.topUp === undefined || !allowsTopUp(esim, supplied.supplier.traits)) {
    return { ...answer, packageList: [], nextCursor: null }
  }
  const listed = answer.packageList.length > 0 ? await topUpsListedFor(deps.log, supplied, esim.iccid) : undefined
  if (listed === undefined) return answer
  const isListed = (packageCode: string) => {
    const route = catalogue.find(packageCode)?.routes.find((one) => one.supplier === esim.supplier)
    return route !== undefined && listed.has(route.productCode)
  }
  return { ...answer, packageList: answer.packageList.filter(({ packageCode }) => isListed(packageCode)) }
}

/** @throws ApiError 000108 for a code in `coversAll` that is no country */
function checkCountries({ coversAll = [] }: PackageListRequest): void {
  const details = coversAll.flatMap((code, index) =>
    isCountry(code)
      ? []
      : [
          {
            field: `coversAll[${index}]`,
            reason: `There is no country ${code}. Use ISO 3166-1 alpha-2 codes, such as JP.`,
          },
        ],
  )
  if (details.length > 0) throw new ApiError('000108', { details })
}

function listEsimFaults({ type, esimTranNo, updatedSince }: PackageListRequest): FaultDetail[] {
  const field = esimTranNo === undefined ? 'iccid' : 'esimTranNo'
  const faults: FaultDetail[] = []
  if (type !== 'TOPUP') faults.push({ field, reason: 'Only packages of type TOPUP fit an eSIM: send `type` TOPUP.' })
  if (updatedSince !== undefined) {
    const reason = 'updatedSince cannot be combined with esimTranNo or iccid: leave one of them out.'
    faults.push({ field: 'updatedSince', reason })
  }
  return faults
}

/** The members of a tenant's eSIM that decide whether it can be topped up. */
export interface TopUpCandidate extends EsimToTopUp {
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  iccid: string
}

/** Finds an eSIM of a tenant by its id, its ICCID or both. If several have the ICCID, the newest is taken. */
export async function findEsimToTopUp(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { esimTranNo, iccid }: { esimTranNo?: string | undefined; iccid?: string | undefined },
): Promise<TopUpCandidate | undefined> {
  if (esimTranNo !== undefined && !isUuid(esimTranNo)) return undefined
  const [esim] = await db.query<TopUpCandidate>({
    name: esimTranNo === undefined ? 'profiles-to-top-up-by-iccid' : 'profiles-to-top-up-by-id',
    text: `select i.package_code, p.supplier, p.iccid, p.esim_status, p.smdp_status
           from profiles p join order_items i using (tenant_id, order_id, item_no)
           where p.tenant_id = $1 and ${
             esimTranNo === undefined ? 'p.iccid = $2' : '($2::text is null or p.iccid = $2) and p.profile_id = $3'
           }
           order by p.profile_id desc limit 1`,
    values: [
      tenantId,
      iccid === undefined ? null : stripIccidPadding(iccid),
      ...(esimTranNo === undefined ? [] : [esimTranNo]),
    ],
  })
  return esim
}
