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
import { requireSize } from './checkpoints.ts'
import { type LoadedRanges, loadRanges } from './tree-tiles.ts'

/** Answers `ledger/proof`. @throws ApiError 000108 if a tree of this size does not have the entry, or is not there yet */
export async function proveEntry(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { entryNo, treeSize }: ProofRequest,
): Promise<ProofAnswer> {
  const leafIndex = Number(entryNo) - 1
  const ranges = leafIndex < treeSize ? inclusionRanges(leafIndex, treeSize) : []
  const tree = await loadRanges(db, tenantId, ranges)
  requireSize(treeSize, tree.size, 'treeSize')
  if (leafIndex >= treeSize) {
    const reason = `A tree of ${treeSize} entries does not have this one. Send an entryNo of at most treeSize.`
    throw new ApiError('000108', { details: [{ field: 'entryNo', reason }] })
  }
  return { leafIndex, treeSize, hashes: answerHashes(tree, ranges) }
}

/** Answers `ledger/consistency`. @throws ApiError 000108 for sizes in the wrong order, or beyond the tree */
export async function proveConsistency(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { fromSize, toSize }: ConsistencyRequest,
): Promise<ConsistencyAnswer> {
  const ranges = fromSize <= toSize ? consistencyRanges(fromSize, toSize) : []
  const tree = await loadRanges(db, tenantId, ranges)
  requireSize(toSize, tree.size, 'toSize')
  if (fromSize > toSize) {
    const reason = 'Send the size of the older checkpoint, which is at most toSize.'
    throw new ApiError('000108', { details: [{ field: 'fromSize', reason }] })
  }
  return { hashes: answerHashes(tree, ranges) }
}

function answerHashes(tree: LoadedRanges, ranges: readonly LeafRange[]): string[] {
  return ranges.map((range) => tree.hashOf(range).toString('base64'))
}
