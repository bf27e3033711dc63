import { PAGE_SIZE_DEFAULT } from '@dealer-esim/contract'
import type { Deps } from '#deps.ts'
import { listPackagesFor } from '#esims/list-fitting-packages.ts'
import { type Call, JsonText, type Result } from './dealer-call.ts'

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
  const first = await read({}, pageSize)
  const parts = first.packageList.map((item) => JSON.stringify(item))
  let { nextCursor } = first
  while (nextCursor != null && parts.length < pageSize) {
    await nextTurn()
    const next = await read({ cursor: nextCursor }, pageSize - parts.length)
    for (const item of next.packageList) parts.push(JSON.stringify(item))
    nextCursor = next.nextCursor
  }
  // The first part's `asOf`: later changes may be missing.
  const rest = JSON.stringify({ nextCursor, asOf: first.asOf })
  return { data: new JsonText(`{"packageList":[${parts.join(',')}],${rest.slice(1)}`) }
}
