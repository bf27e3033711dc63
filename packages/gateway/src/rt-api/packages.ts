import { createHash } from 'node:crypto'
import type { PackageListAnswer, PackageOnSale } from '@dealer-esim/contract'
import type { Deps } from '../deps.ts'
import { listPackagesFor } from '../profiles/list-packages.ts'
import type { RtCall } from './call.ts'
import { ListStream } from './list-stream.ts'
import { checkRequest } from './request.ts'
import { rtPackage } from './shapes.ts'

/** Packages that are built in one turn of the event loop: half a millisecond. */
const PAGE_SIZE = 100
/** Changes whenever the form of a package does, so that nobody keeps the earlier one. */
const FORM = 1

/**
 * All packages of the dealer API's `package/list` in one answer, from one version of the catalogue. What fits an eSIM
 * depends on the eSIM too, so that answer has no ETag.
 * @throws ApiError 000108, 310403
 */
export async function listPackages(deps: Deps, { tenant, request, catalogueVersion }: RtCall): Promise<ListStream> {
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const { locationCode, packageCode, slug, iccid, type } = request
  const wanted = checkRequest('package/list', {
    ...{ locationCode, packageCode, slug, iccid, pageSize: PAGE_SIZE },
    type: iccid === undefined ? type : (type ?? 'TOPUP'),
  })
  const pageAt = (cursor?: string) => listPackagesFor(deps, catalogue, tenant, { ...wanted, ...(cursor && { cursor }) })
  const parts = [FORM, String(catalogue.version), tenant.tenantId, wanted]
  const etag = `"${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)}"`
  return new ListStream('packageList', pagesFrom(await pageAt(), pageAt), iccid === undefined ? etag : undefined)
}

async function* pagesFrom(
  first: PackageListAnswer,
  pageAt: (cursor: string) => Promise<PackageListAnswer>,
): AsyncGenerator<object[], void> {
  for (let page = first; ; page = await pageAt(page.nextCursor)) {
    yield page.packageList.map((item) => rtPackage(item as PackageOnSale)) // off sale: only in changes
    if (page.nextCursor == null) return
  }
}
