import { type BooksHead, booksFileHead, booksFileLine, type CheckpointAnswer } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { answerEntries } from '../statement/answer-entries.ts'
import { streamEntries } from '../statement/statement-entries.ts'
import { findNewestCheckpoint } from './checkpoints.ts'
import { getTenantKeys, type KeyDeps } from './ledger-keys.ts'
import { proveConsistency, proveEntry } from './prove-entries.ts'
import { loadLeafHashes } from './tree-tiles.ts'

export type BooksReader = Pick<KeyDeps, 'config'> & { db: Db }

export interface ShownBooks extends BooksHead {
  checkpoint: Omit<CheckpointAnswer, 'note'>
}

/**
 * The newest stored checkpoint with the keys that verify it. Signs nothing.
 * @param knownSize of the checkpoint that the reader remembers
 * @returns undefined if there is no checkpoint yet
 */
export async function readBooks(
  { db, config }: BooksReader,
  tenantId: string,
  knownSize?: number,
): Promise<ShownBooks | undefined> {
  const found = await findNewestCheckpoint(db, tenantId)
  if (found === undefined) return undefined
  const { note, ...checkpoint } = found
  const toSize = checkpoint.treeSize
  const { keys, restores } = await getTenantKeys(db, config, tenantId)
  if (knownSize === undefined || knownSize < 1 || knownSize > toSize)
    return { checkpoint, note, keys, restores, consistency: null }
  const { hashes } = await proveConsistency(db, tenantId, { fromSize: knownSize, toSize })
  return { checkpoint, note, keys, restores, consistency: { fromSize: knownSize, hashes } }
}

/**
 * Writes a books file: the entries of a range that the checkpoint covers, oldest first, with all that proves them.
 * @param range `to` is the first entry after it
 */
export async function* writeBooksFile(
  db: Db,
  { tenantId, currencyCode }: { tenantId: string; currencyCode: string },
  { checkpoint: { treeSize }, ...head }: ShownBooks,
  range: { from: bigint; to: bigint },
): AsyncGenerator<string> {
  const from = Number(range.from)
  const to = Math.max(from - 1, Math.min(Number(range.to) - 1, treeSize))
  const ends = to < from ? [] : [...new Set([from, to])]
  const proofs = await Promise.all(
    ends.map((entryNo) => proveEntry(db, tenantId, { entryNo: String(entryNo), treeSize })),
  )
  yield booksFileHead({ ...head, from, to, proofs })
  for await (const page of streamEntries(db, tenantId, { from: BigInt(from), to: BigInt(to) + 1n })) {
    const start = Number(page[0]?.walletVersion ?? 0n) - 1
    const [entries, leaves] = await Promise.all([
      answerEntries(db, tenantId, currencyCode, page),
      loadLeafHashes(db, tenantId, { start, end: start + page.length }),
    ])
    yield entries.map((entry, index) => booksFileLine(leaves[index]?.toString('base64') ?? '', entry)).join('')
  }
}
