import {
  type ConsistencyAnswer,
  type ConsistencyRequest,
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  type ProofAnswer,
  type ProofRequest,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { requireSize } from './checkpoints.ts'
import { loadRangeHashes } from './tree-tiles.ts'

/** Answers `ledger/proof`. @throws ApiError 000108 if a tree of this size does not have the entry, or is not there yet */
export async function proveEntry(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { entryNo, treeSize }: ProofRequest,
): Promise<ProofAnswer> {
  requireSize(treeSize, await getTreeSize(db, tenantId), 'treeSize')
  const leafIndex = Number(entryNo) - 1
  if (leafIndex >= treeSize) {
    const reason = `A tree of ${treeSize} entries does not have this one. Send an entryNo of at most treeSize.`
    throw new ApiError('000108', { details: [{ field: 'entryNo', reason }] })
  }
  return { leafIndex, treeSize, hashes: await loadHashes(db, tenantId, inclusionRanges(leafIndex, treeSize)) }
}

/** Answers `ledger/consistency`. @throws ApiError 000108 for sizes in the wrong order, or beyond the tree */
export async function proveConsistency(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { fromSize, toSize }: ConsistencyRequest,
): Promise<ConsistencyAnswer> {
  requireSize(toSize, await getTreeSize(db, tenantId), 'toSize')
  if (fromSize > toSize) {
    const reason = 'Send the size of the older checkpoint, which is at most toSize.'
    throw new ApiError('000108', { details: [{ field: 'fromSize', reason }] })
  }
  return { hashes: await loadHashes(db, tenantId, consistencyRanges(fromSize, toSize)) }
}

/** The entries that the tree has: a tree only grows, so a proof for fewer of them stays valid. */
async function getTreeSize(db: Pick<Db, 'query'>, tenantId: string): Promise<number> {
  const [row] = await db.query<{ size: bigint }>(sql`select size from ledger_trees where tenant_id = ${tenantId}`)
  return Number(row?.size ?? 0n)
}

async function loadHashes(db: Pick<Db, 'query'>, tenantId: string, ranges: readonly LeafRange[]): Promise<string[]> {
  return (await loadRangeHashes(db, tenantId, ranges)).map((hash) => hash.toString('base64'))
}
