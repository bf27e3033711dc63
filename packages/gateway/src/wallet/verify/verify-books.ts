import { leafText, verifyCheckpoint } from '@dealer-esim/contract'
import { leafHash, RootBuilder } from '@dealer-esim/contract/tree'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { loadLeafHashes, loadRoot } from '../books/tree-tiles.ts'
import { answerEntries } from '../statement/answer-entries.ts'
import { readEntries } from '../statement/statement-entries.ts'
import type { Verification } from './verification.ts'

/** Entries per page: each becomes a text and two hashes in this process. */
const PAGE_MAX = 5_000

/**
 * Rebuilds a ledger's tree from its entries, once, and compares on the way: each entry with the hash that was stored when it was
 * new, each kept checkpoint with the root at its size, and the note of each with its signature. Reports the first entry that
 * differs and the first checkpoint that does not hold: everything after a changed entry differs too.
 */
export async function verifyBooks(tx: Tx, verification: Verification): Promise<void> {
  const { tenantId, pageRows, report } = verification
  const [tree] = await tx.query<{ size: bigint; currencyCode: string }>(sql`
    select t.size, w.currency_code from ledger_trees t join wallets w using (tenant_id) where tenant_id = ${tenantId}`)
  if (!tree) return
  const checkpoints = await listCheckpoints(tx, verification)
  const builder = new RootBuilder()
  const size = Number(tree.size)
  /** The last checkpoint that holds covers the entries up to this one. */
  let proved = 0
  let [isEntryReported, broken] = [false, 0]
  const compareRoots = () => {
    if (checkpoints[0]?.treeSize !== builder.size) return
    const root = builder.root().toString('base64')
    for (; checkpoints[0]?.treeSize === builder.size; checkpoints.shift()) {
      if (checkpoints[0].rootHash === root) proved = builder.size
      else {
        broken += 1
        if (broken > 1) continue
        const within = isEntryReported
          ? ''
          : ` One of the entries ${proved + 1} to ${builder.size} was changed after it.`
        report('BOOKS', `The checkpoint of ${builder.size} entries does not hold.${within}`)
      }
    }
  }
  compareRoots()
  while (builder.size < size) {
    verification.throwIfAborted()
    const from = builder.size + 1
    const to = Math.min(size, builder.size + Math.min(pageRows, PAGE_MAX))
    const rows = await readEntries(tx, tenantId, { from: BigInt(from), to: BigInt(to) + 1n })
    const [entries, stored] = await Promise.all([
      answerEntries(tx, tenantId, tree.currencyCode, rows),
      loadLeafHashes(tx, tenantId, { start: from - 1, end: to }),
    ])
    for (let entryNo = from; entryNo <= to; entryNo++) {
      const entry = entries[entryNo - from]
      if (entry?.entryNo !== String(entryNo)) {
        const covered = checkpoints.some(({ treeSize }) => treeSize >= entryNo) ? ' A checkpoint covers it.' : ''
        report('BOOKS', `Entry ${entryNo} is missing, but the tree has it.${covered}`)
        return
      }
      const hash = leafHash(leafText(entry))
      if (!isEntryReported && stored[entryNo - from]?.equals(hash) !== true) {
        isEntryReported = true
        report('BOOKS', `Entry ${entryNo} is not as it was when its hash was stored: it, or the hash, was changed.`)
      }
      builder.append(hash)
      compareRoots()
    }
  }
  for (const { treeSize } of checkpoints.slice(0, 1))
    report('BOOKS', `There is a checkpoint of ${treeSize} entries, but the tree has ${size}.`)
  if (isEntryReported || broken > 0) return
  const stored = await loadRoot(tx, tenantId, size).catch(() => undefined)
  if (stored?.equals(builder.root()) !== true)
    report(
      'BOOKS',
      `The stored hashes of the tree do not lead to its root, so proofs fail. The entries are as they were hashed.`,
    )
}

interface KeptCheckpoint {
  treeSize: number
  rootHash: string
}

/** The kept checkpoints by size. Reports the first whose note was not signed by a known key, or says something else. */
async function listCheckpoints(tx: Tx, { tenantId, report, throwIfAborted }: Verification): Promise<KeptCheckpoint[]> {
  const keys = await tx.query<{ publicKey: string }>(sql`select public_key from ledger_keys order by valid_from desc`)
  const rows = await tx.query<{ treeSize: bigint; rootHash: string; note: string }>(sql`
    select tree_size, root_hash, note from ledger_checkpoints where tenant_id = ${tenantId} order by tree_size, created_at`)
  const checkpoints = rows.map(({ treeSize, ...row }) => ({ ...row, treeSize: Number(treeSize) }))
  const publicKeys = keys.map(({ publicKey }) => publicKey)
  for (const { note, treeSize, rootHash } of checkpoints) {
    throwIfAborted()
    const found = await verifyCheckpoint(note, publicKeys)
    if (found?.treeSize === treeSize && found.rootHash === rootHash && found.origin.endsWith(tenantId)) continue
    report(
      'BOOKS',
      `The note of a checkpoint of ${treeSize} entries is not genuine, or does not say what is stored beside it.`,
    )
    break
  }
  return checkpoints
}
