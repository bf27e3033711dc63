import { PAGE_SIZE_DEFAULT, type PackageListAnswer } from '@dealer-esim/contract'
import type { Deps } from '#deps.ts'
import { listPackagesFor } from '#esims/list-fitting-packages.ts'
import { type Call, JsonParts, type Result } from './dealer-call.ts'

/** Packages that are built and written as text in one turn of the event loop, in about half a millisecond. */
const BUILT_PER_TURN = 50

/**
 * `package/list`. A page of 500 packages takes a node a few milliseconds, so it is built in parts, and other dealers'
 * requests are served in between.
 */
export async function listPackages(
  deps: Deps,
  { tenant, request, catalogueVersion, nextTurn }: Call<'package/list'>,
): Promise<Result<'package/list'>> {
  await nextTurn()
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const pageSize = request.pageSize ?? PAGE_SIZE_DEFAULT
  const read = (from: { cursor?: string }, left: number) =>
    listPackagesFor(deps, catalogue, tenant, { ...request, ...from, pageSize: Math.min(left, BUILT_PER_TURN) })
  const parts = ['{"packageList":[']
  let length = 0
  const add = ({ packageList, nextCursor, asOf }: PackageListAnswer) => {
    if (packageList.length > 0) {
      if (length > 0) parts.push(',')
      parts.push(JSON.stringify(packageList).slice(1, -1))
      length += packageList.length
    }
    return { nextCursor, asOf }
  }
  // The first part's `asOf`: later changes may be missing.
  let { nextCursor, asOf } = add(await read({}, pageSize))
  while (nextCursor != null && length < pageSize) {
    await nextTurn()
    nextCursor = add(await read({ cursor: nextCursor }, pageSize - length)).nextCursor
  }
  const rest = JSON.stringify({ nextCursor, asOf })
  parts.push(`],${rest.slice(1)}`)
  return { data: new JsonParts(parts) }
}
