import { leafText } from '@dealer-esim/contract'
import { leafHash } from '@dealer-esim/contract/tree'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import sql from 'sql-template-tag'
import { answerEntries } from '../statement/answer-entries.ts'
import { type EntryRange, type HashedEntry, readHashedEntries } from '../statement/statement-entries.ts'
import { addLeaves, loadOpenTiles, type OfTenant, type Tile } from './tree-tiles.ts'

/** Entries per transaction: a fraction of a second, during which the trees' rows are locked. */
export const LEAVES_MAX = 5_000

/** What a step did: `added` leaves, and whether a wallet has more. undefined: another node grows trees. */
export type Growth = { added: number; more: boolean } | undefined

/** Adds the next committed entries of a wallet to its tree, as growTrees does. */
export function growTree(db: Db, tenantId: string, leavesMax?: number): Promise<Growth> {
  return growTrees(db, [tenantId], leavesMax)
}

/**
 * Adds the next committed entries of wallets to their trees, in one transaction: with 20 wallets of 150 new entries each, a
 * transaction for each wallet took twice the processor time. Entries have no gaps and commit in the order of their numbers, so a
 * tree's size says which come next, and a step that was interrupted has changed nothing. Locks the trees' rows and no row of the
 * order path.
 * @param leavesMax of each wallet
 * @throws if entries are missing: their numbers have a gap
 */
export async function growTrees(db: Db, tenantIds: readonly string[], leavesMax = LEAVES_MAX): Promise<Growth> {
  return db.tx(async (tx) => {
    // One node at a time: two would only wait for each other.
    const [lock] = await tx.query<{ locked: boolean }>({
      text: `select pg_try_advisory_xact_lock(${advisoryKey('ledger trees')}) as locked`,
    })
    if (!lock?.locked) return undefined
    tx.send(
      sql`insert into ledger_trees (tenant_id) select * from unnest(${tenantIds}::uuid[]) order by 1 on conflict do nothing`,
    )
    const trees = await tx.query<{ tenantId: string; size: bigint; version: bigint; currencyCode: string }>(sql`
      select t.tenant_id, t.size, w.version, w.currency_code from ledger_trees t join wallets w using (tenant_id)
      where t.tenant_id = any (${tenantIds}::uuid[]) order by t.tenant_id for no key update of t`)
    const growing = trees
      .filter(({ size, version }) => version > size)
      .map((tree) => {
        const last = Math.min(Number(tree.version), Number(tree.size) + leavesMax)
        return { ...tree, size: Number(tree.size), first: Number(tree.size) + 1, last }
      })
    if (growing.length === 0) return { added: 0, more: false }
    const open = await loadOpenTiles(tx, growing)
    const entries = await readHashedEntries(tx, growing)
    const tiles: OfTenant<Tile>[] = []
    for (const { tenantId, size, currencyCode, ...range } of growing) {
      const leaves = await hashEntries(tx, { tenantId, ...range }, currencyCode, entries.get(tenantId)!)
      for (const tile of addLeaves(size, open.get(tenantId)!, leaves)) tiles.push({ tenantId, ...tile })
    }
    writeTiles(tx, tiles)
    await failpoint('books.before-growth')
    tx.send(sql`
      update ledger_trees t set size = grown.size
      from unnest(${growing.map(({ tenantId }) => tenantId)}::uuid[], ${growing.map(({ last }) => last)}::bigint[]) as grown (tenant_id, size)
      where t.tenant_id = grown.tenant_id`)
    return {
      added: growing.reduce((sum, { size, last }) => sum + last - size, 0),
      more: growing.some(({ last, version }) => last < Number(version)),
    }
  })
}

/** The leaf hashes of the entries of a range. @throws if one is missing */
async function hashEntries(
  db: Pick<Db, 'query'>,
  { tenantId, first, last }: EntryRange,
  currencyCode: string,
  read: readonly HashedEntry[],
): Promise<Buffer[]> {
  const entries = await answerEntries(db, tenantId, currencyCode, read)
  const missing = entries.findIndex(({ entryNo }, index) => entryNo !== String(first + index))
  if (missing >= 0 || entries.length !== last - first + 1) {
    const entryNo = first + (missing >= 0 ? missing : entries.length)
    throw new Error(`entry ${entryNo} of ${tenantId} is missing, so its tree cannot grow: run ledger verify`)
  }
  return entries.map((entry) => leafHash(leafText(entry)))
}

function writeTiles(tx: Tx, tiles: readonly OfTenant<Tile>[]): void {
  tx.send({
    name: 'books-write-tiles',
    text: `insert into ledger_tiles (tenant_id, level, tile, hashes)
           select * from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bytea[])
           on conflict (tenant_id, level, tile) do update set hashes = excluded.hashes`,
    values: [
      tiles.map(({ tenantId }) => tenantId),
      tiles.map(({ level }) => level),
      tiles.map(({ tile }) => tile),
      tiles.map(({ hashes }) => Buffer.concat(hashes)),
    ],
  })
}
