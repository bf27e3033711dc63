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
  const parts = [Buffer.from('{"packageList":[')]
  let length = 0
  const add = ({ packageList }: PackageListAnswer) => {
    if (packageList.length === 0) return
    const items = JSON.stringify(packageList).slice(1, -1)
    parts.push(Buffer.from(length === 0 ? items : `,${items}`))
    length += packageList.length
  }
  const first = await read({}, pageSize)
  add(first)
  let { nextCursor } = first
  while (nextCursor != null && length < pageSize) {
    await nextTurn()
    const next = await read({ cursor: nextCursor }, pageSize - length)
    add(next)
    nextCursor = next.nextCursor
  }
  // The first part's `asOf`: later changes may be missing.
  const rest = JSON.stringify({ nextCursor, asOf: first.asOf })
  parts.push(Buffer.from(`],${rest.slice(1)}`))
  return { data: new JsonParts(parts) }
}
