import type { FaultDetail, PackageListAnswer, PackageListRequest } from '@dealer-esim/contract'
import type { Buyer, Snapshot } from '../../catalogue/catalogue.ts'
import { ApiError } from '../../lib/api-error.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { findEsimToTopUp } from '../../profiles/find-to-top-up.ts'
import { allowsTopUp } from '../../profiles/top-up-state.ts'
import type { Suppliers } from '../../suppliers/registry.ts'

/**
 * The answer of `package/list`. Where the request names an eSIM it lists what can be added to it now; the list is empty
 * if nothing can: its state or its supplier does not allow it.
 * @throws ApiError 000108, 310403
 */
export async function listPackagesFor(
  deps: { db: Pick<Db, 'query'>; suppliers: Pick<Suppliers, 'get'> },
  catalogue: Snapshot,
  buyer: Buyer,
  request: PackageListRequest,
): Promise<PackageListAnswer> {
  if (request.esimTranNo === undefined && request.iccid === undefined) return catalogue.list(buyer, request)
  const details = listEsimFaults(request)
  if (details.length > 0) throw new ApiError('000108', { details })
  const esim = await findEsimToTopUp(deps.db, buyer.tenantId, request)
  if (esim === undefined) throw new ApiError('310403')
  const answer = catalogue.list(buyer, request, esim)
  const supplier = deps.suppliers.get(esim.supplier)?.supplier
  const isPossible = supplier?.topUp !== undefined && allowsTopUp(esim, supplier.traits)
  return isPossible ? answer : { ...answer, packageList: [], nextCursor: null }
}

function listEsimFaults({ type, esimTranNo, updatedSince }: PackageListRequest): FaultDetail[] {
  const field = esimTranNo === undefined ? 'iccid' : 'esimTranNo'
  const faults: FaultDetail[] = []
  if (type !== 'TOPUP') faults.push({ field, reason: 'Only packages of type TOPUP fit an eSIM: send `type` TOPUP.' })
  if (updatedSince !== undefined) {
    faults.push({ field: 'updatedSince', reason: 'What fits an eSIM has no changes: leave one of the two out.' })
  }
  return faults
}
