import { leafText } from '@dealer-esim/contract'
import { leafHash } from '@dealer-esim/contract/tree'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import sql from 'sql-template-tag'
import { answerEntries } from '../statement/answer-entries.ts'
import { readEntries } from '../statement/statement-entries.ts'
import { lockTree } from './checkpoints.ts'
import { addLeaves, loadOpenTiles, type Tile } from './tree-tiles.ts'

/** Entries per transaction: a fraction of a second, during which the tree's row is locked. */
const LEAVES_MAX = 5_000

/** What a step did: `added` leaves, and whether the wallet has more. undefined: another node grows trees. */
export type Growth = { added: number; more: boolean } | undefined

/**
 * Adds the next committed entries of a wallet to its tree. Entries have no gaps and commit in the order of their numbers, so the
 * tree's size says which come next, and a step that was interrupted has changed nothing. Locks the tree's row and no row of the
 * order path.
 * @throws if entries are missing: their numbers have a gap
 */
export async function growTree(db: Db, tenantId: string, leavesMax = LEAVES_MAX): Promise<Growth> {
  return db.tx(async (tx) => {
    // One node at a time: two would only wait for each other.
    const [lock] = await tx.query<{ locked: boolean }>({
      text: `select pg_try_advisory_xact_lock(${advisoryKey('ledger trees')}) as locked`,
    })
    if (!lock?.locked) return undefined
    const { size } = await lockTree(tx, tenantId)
    const [wallet] = await tx.query<{ version: bigint; currencyCode: string }>(sql`
      select version, currency_code from wallets where tenant_id = ${tenantId}`)
    const last = Math.min(Number(wallet?.version ?? 0n), size + leavesMax)
    if (!wallet || last <= size) return { added: 0, more: false }
    const leaves = await readLeaves(tx, tenantId, wallet.currencyCode, { from: size + 1, to: last })
    const tiles = addLeaves(size, await loadOpenTiles(tx, tenantId, size), leaves)
    writeTiles(tx, tenantId, tiles)
    await failpoint('books.before-growth')
    tx.send(sql`update ledger_trees set size = ${last} where tenant_id = ${tenantId}`)
    return { added: last - size, more: last < Number(wallet.version) }
  })
}

/** The leaf hashes of the entries `from` to `to`. @throws if one is missing */
export async function readLeaves(
  db: Pick<Db, 'query'>,
  tenantId: string,
  currencyCode: string,
  { from, to }: { from: number; to: number },
): Promise<Buffer[]> {
  const rows = await readEntries(db, tenantId, { from: BigInt(from), to: BigInt(to) + 1n })
  const entries = await answerEntries(db, tenantId, currencyCode, rows)
  const missing = entries.findIndex(({ entryNo }, index) => entryNo !== String(from + index))
  if (missing >= 0 || entries.length !== to - from + 1) {
    const entryNo = from + (missing >= 0 ? missing : entries.length)
    throw new Error(`entry ${entryNo} of ${tenantId} is missing, so its tree cannot grow: run ledger verify`)
  }
  return entries.map((entry) => leafHash(leafText(entry)))
}

function writeTiles(tx: Tx, tenantId: string, tiles: readonly Tile[]): void {
  tx.send({
    name: 'books-write-tiles',
    text: `insert into ledger_tiles (tenant_id, level, tile, hashes)
           select $1::uuid, * from unnest($2::smallint[], $3::bigint[], $4::bytea[])
           on conflict (tenant_id, level, tile) do update set hashes = excluded.hashes`,
    values: [
      tenantId,
      tiles.map(({ level }) => level),
      tiles.map(({ tile }) => tile),
      tiles.map(({ hashes }) => Buffer.concat(hashes)),
    ],
  })
}
