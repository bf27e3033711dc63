import { type LeafRange, type Subtree, subtreesOf } from '@dealer-esim/contract'
import { completeRoot, HASH_BYTES, rangeHash } from '@dealer-esim/contract/tree'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/*
 * The hashes of a ledger's tree, stored in tiles of 32, so that a proof reads two rows of a level: nine levels for
 * 35 million million entries. A tile of 1 KB is not moved out of its row, and each level is a thirty-second of the one below.
 *
 *   level 1              [ hash of the leaves 0-31 | 32-63 | … ]
 *   level 0   [ leaf 0 | leaf 1 | … | leaf 31 ] [ leaf 32 | … ]
 */

const TILE_HEIGHT = 5
const TILE_WIDTH = 2 ** TILE_HEIGHT

/** A row of ledger_tiles. The last tile of a level has fewer than 32 hashes. */
export interface Tile {
  level: number
  tile: number
  hashes: Buffer[]
}

export type OfTenant<One> = One & { tenantId: string }

/** The unfinished tiles of trees, which their next leaves change: one for each level that has one. */
export async function loadOpenTiles(
  db: Pick<Db, 'query'>,
  trees: readonly OfTenant<{ size: number }>[],
): Promise<Map<string, Tile[]>> {
  const keys: OfTenant<Pick<Tile, 'level' | 'tile'>>[] = []
  for (const { tenantId, size } of trees)
    for (let [level, count] = [0, size]; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
      if (count % TILE_WIDTH > 0) keys.push({ tenantId, level, tile: Math.floor(count / TILE_WIDTH) })
    }
  const rows = await db.query<OfTenant<StoredTile>>({
    name: 'books-open-tiles',
    text: `select t.tenant_id, t.level, t.tile, t.hashes from ledger_tiles t
           join unnest($1::uuid[], $2::smallint[], $3::bigint[]) as wanted (tenant_id, level, tile) using (tenant_id, level, tile)`,
    values: [keys.map(({ tenantId }) => tenantId), keys.map(({ level }) => level), keys.map(({ tile }) => tile)],
  })
  const open = new Map<string, Tile[]>(trees.map(({ tenantId }) => [tenantId, []]))
  for (const { tenantId, level, tile, hashes } of rows)
    open.get(tenantId)!.push({ level, tile: Number(tile), hashes: split(hashes) })
  return open
}

/**
 * Adds leaves to a tree of `size` leaves.
 * @param open the result of loadOpenTiles, which this changes
 * @returns the tiles to write
 */
export function addLeaves(size: number, open: readonly Tile[], leaves: readonly Buffer[]): Tile[] {
  const current = new Map(open.map((tile) => [tile.level, tile]))
  const changed = new Set<Tile>()
  const add = (level: number, position: number, hash: Buffer) => {
    const found = current.get(level)
    const tile = found ?? { level, tile: Math.floor(position / TILE_WIDTH), hashes: [] }
    if (tile.hashes.length !== position % TILE_WIDTH)
      throw new Error(`tile ${level}/${tile.tile} is not as the tree's size says`)
    if (found === undefined) current.set(level, tile)
    tile.hashes.push(hash)
    changed.add(tile)
    if (tile.hashes.length < TILE_WIDTH) return
    current.delete(level)
    add(level + 1, tile.tile, completeRoot(Buffer.concat(tile.hashes)))
  }
  for (const [index, leaf] of leaves.entries()) add(0, size + index, leaf)
  return [...changed]
}

/** A tree's size, and the hashes of ranges of it. */
export interface LoadedRanges {
  size: number
  /** @throws if a tile is missing, such as for a range beyond the tree */
  hashOf(range: LeafRange): Buffer
}

/** A hash of the tree is not stored, so nothing can be proved with it. */
export class MissingTile extends Error {}

/** Loads what the hashes of ranges are calculated from: one statement, which reads the tree's size and each tile once by its key. */
export async function loadRanges(
  db: Pick<Db, 'query'>,
  tenantId: string,
  ranges: readonly LeafRange[],
): Promise<LoadedRanges> {
  const wanted = new Map(ranges.flatMap(subtreesOf).map((subtree) => [keyOf(placeOf(subtree)), placeOf(subtree)]))
  const { size, tiles } = await loadTiles(db, tenantId, [...wanted.values()])
  const loaded = new Map(tiles.map((tile) => [keyOf(tile), tile.hashes]))
  const subtreeHash = (subtree: Subtree) => {
    const place = placeOf(subtree)
    const [start, end] = [place.first * HASH_BYTES, (place.first + place.count) * HASH_BYTES]
    const hashes = loaded.get(keyOf(place))
    if (hashes === undefined || hashes.length < end)
      throw new MissingTile(`the tree of ${tenantId} has no tile ${keyOf(place)}: run ledger verify`)
    return completeRoot(hashes.subarray(start, end))
  }
  return { size, hashOf: (range) => rangeHash(range, subtreeHash) }
}

/** The root of the tree as it was at a size. @throws if a tile is missing */
export async function loadRoot(db: Pick<Db, 'query'>, tenantId: string, treeSize: number): Promise<Buffer> {
  const range = { start: 0, end: treeSize }
  return (await loadRanges(db, tenantId, [range])).hashOf(range)
}

/** The stored hashes of leaves, in order; fewer if tiles are missing. */
export async function loadLeafHashes(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { start, end }: LeafRange,
): Promise<Buffer[]> {
  const first = Math.floor(start / TILE_WIDTH)
  const keys = Array.from({ length: Math.ceil(end / TILE_WIDTH) - first }, (_, index) => ({
    level: 0,
    tile: first + index,
  }))
  const { tiles } = await loadTiles(db, tenantId, keys)
  const hashes = tiles.sort((a, b) => a.tile - b.tile).flatMap((tile) => split(tile.hashes))
  return hashes.slice(start % TILE_WIDTH, (start % TILE_WIDTH) + end - start)
}

/** The tile that contains a subtree, as `count` of its hashes. */
function placeOf({ height, position }: Subtree): Pick<Tile, 'level' | 'tile'> & { first: number; count: number } {
  const level = Math.floor(height / TILE_HEIGHT)
  const count = 2 ** (height % TILE_HEIGHT)
  const at = position * count
  return { level, tile: Math.floor(at / TILE_WIDTH), first: at % TILE_WIDTH, count }
}

function keyOf({ level, tile }: Pick<Tile, 'level' | 'tile'>): string {
  return `${level}/${tile}`
}

interface StoredTile {
  level: number
  tile: number
  /** One after the other. */
  hashes: Buffer
}

async function loadTiles(
  db: Pick<Db, 'query'>,
  tenantId: string,
  keys: readonly Pick<Tile, 'level' | 'tile'>[],
): Promise<{ size: number; tiles: StoredTile[] }> {
  const rows = await db.query<{ size: bigint; level: number | null; tile: bigint; hashes: Buffer }>({
    name: 'books-tiles',
    text: `select tree.size, t.level, t.tile, t.hashes
           from ledger_trees tree
           left join (unnest($2::smallint[], $3::bigint[]) as wanted (level, tile)
                      join ledger_tiles t on t.tenant_id = $1 and t.level = wanted.level and t.tile = wanted.tile) on true
           where tree.tenant_id = $1`,
    values: [tenantId, keys.map(({ level }) => level), keys.map(({ tile }) => tile)],
  })
  const tiles = rows.flatMap(({ level, tile, hashes }) => (level === null ? [] : { level, tile: Number(tile), hashes }))
  return { size: Number(rows[0]?.size ?? 0n), tiles }
}

/** The hashes of a stored tile. */
function split(hashes: Buffer): Buffer[] {
  return Array.from({ length: hashes.length / HASH_BYTES }, (_, index) =>
    hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )
}
