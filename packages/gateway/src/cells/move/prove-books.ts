import { type Checkpoint, trustCheckpoint, verifyCheckpoint } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { signWholeTree } from '#wallet/books/checkpoints.ts'
import { getTenantKeys, type KeyDeps } from '#wallet/books/ledger-keys.ts'
import { proveConsistency } from '#wallet/books/prove-entries.ts'
import { MissingTile } from '#wallet/books/tree-tiles.ts'
import { inCell, type Move } from './cell-session.ts'
import { requireArriving } from './move-state.ts'

/** The tables in which the target signs. They differ from the source's until the source is closed. */
export const SIGNED_TABLES = ['ledger_trees', 'ledger_checkpoints', 'ledger_restores'] as const

/** The target's first checkpoint and the source's last one, which it continues. For example, of 104 and of 100 entries. */
export interface ProvedBooks {
  lastSize: number
  firstSize: number
  rootHash: string
}

/**
 * Signs the tenant's first checkpoint in the target, and proves from the target's tree that it continues the last one of the
 * source: in the way and with the keys with which the dealer's own audit will. Call it behind the fence, when the source makes no
 * more checkpoints. Without a checkpoint in the source there is nothing to continue, and nothing is signed.
 * @throws Refusal; the target has then signed nothing
 */
export async function proveBooks(deps: Pick<KeyDeps, 'ids' | 'cipher'>, move: Move): Promise<void> {
  const { source, target, tenantId } = move
  const [last] = await source.db.query<{ note: string }>(sql`
    select note from ledger_checkpoints where tenant_id = ${tenantId} order by tree_size desc, created_at desc limit 1`)
  if (last === undefined) return
  await inCell(target, tenantId, async (tx) => {
    await requireArriving(tx, move)
    const { keys, restores } = await getTenantKeys(tx, { cellName: target.name }, tenantId)
    const publicKeys = keys.map(({ publicKey }) => publicKey)
    const remembered = await verifyCheckpoint(last.note, publicKeys)
    if (remembered === undefined) throw notContinued(move, 'It is not signed by a key that came along.')
    // The name of a tree with a checkpoint never changes, so the address of the target is not needed.
    const signing = { ...deps, config: { cellName: target.name }, links: { publicUrl: '' } }
    const { note } = await signWholeTree(tx, signing, tenantId).catch(asRefusal(move))
    const pinned = { pinnedKey: remembered.publicKey, note: last.note }
    const trusted = await trustCheckpoint({ note, keys, restores }, pinned, (sizes) =>
      proveConsistency(tx, tenantId, sizes).catch(asRefusal(move)),
    )
    if ('verdict' in trusted) throw notContinued(move, trusted.finding.message)
    if (!trusted.isContinued) throw notContinued(move, differenceOf(remembered, trusted.checkpoint))
  })
}

function differenceOf(last: Checkpoint, first: Checkpoint): string {
  return first.treeSize < last.treeSize
    ? `It covers ${last.treeSize} entries, but the tree there has ${first.treeSize}.`
    : `The first ${last.treeSize} entries of the tree there are not those that it covers.`
}

function asRefusal(move: Move) {
  return (error: unknown): never => {
    throw error instanceof MissingTile ? notContinued(move, 'Hashes of the tree are missing there.') : error
  }
}

function notContinued({ source, target }: Move, reason: string): Refusal {
  return new Refusal(
    409,
    'BOOKS_DIFFER',
    `The dealer's books in cell ${target.name} do not continue its last checkpoint of cell ${source.name}. ${reason} Cell ${source.name} serves the dealer again. Run the command again: it compares and copies the books again. If it stops here a second time, undo the move with --abort and run ledger verify in cell ${source.name}.`,
  )
}

/** Finds what was proved, after the source was closed; undefined if the dealer had no checkpoint. */
export async function findProvedBooks({ source, target, tenantId }: Move): Promise<ProvedBooks | undefined> {
  const last = await source.db.query<{ checkpointId: string; treeSize: bigint }>(sql`
    select checkpoint_id, tree_size from ledger_checkpoints
    where tenant_id = ${tenantId} and tree_size = (select max(tree_size) from ledger_checkpoints where tenant_id = ${tenantId})`)
  if (last.length === 0) return undefined
  const lastSize = last[0]!.treeSize
  const [first] = await target.db.query<{ treeSize: bigint; rootHash: string }>(sql`
    select tree_size, root_hash from ledger_checkpoints
    where tenant_id = ${tenantId} and tree_size >= ${lastSize}
      and checkpoint_id <> all (${last.map(({ checkpointId }) => checkpointId)}::uuid[])
    order by created_at limit 1`)
  return first && { lastSize: Number(lastSize), firstSize: Number(first.treeSize), rootHash: first.rootHash }
}
