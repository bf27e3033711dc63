import { type LeafRange, type Subtree, subtreesOf } from '@dealer-esim/contract'
import { HASH_BYTES, RootBuilder, rangeHash } from '@dealer-esim/contract/tree'
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

/** The unfinished tiles of a tree, which the next leaf changes: one for each level that has one. */
export async function loadOpenTiles(db: Pick<Db, 'query'>, tenantId: string, size: number): Promise<Tile[]> {
  const open: Pick<Tile, 'level' | 'tile'>[] = []
  for (let [level, count] = [0, size]; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
    if (count % TILE_WIDTH > 0) open.push({ level, tile: Math.floor(count / TILE_WIDTH) })
  }
  return loadTiles(db, tenantId, open)
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
    add(level + 1, tile.tile, rootOf(tile.hashes))
  }
  for (const [index, leaf] of leaves.entries()) add(0, size + index, leaf)
  return [...changed]
}

function rootOf(hashes: readonly Buffer[]): Buffer {
  const builder = new RootBuilder()
  for (const hash of hashes) builder.append(hash)
  return builder.root()
}

/** A hash of the tree is not stored, so nothing can be proved with it. */
export class MissingTile extends Error {}

/** The hashes of ranges of a tree, from its tiles: one statement, which reads each tile once by its key. */
export async function loadRangeHashes(
  db: Pick<Db, 'query'>,
  tenantId: string,
  ranges: readonly LeafRange[],
): Promise<Buffer[]> {
  const wanted = new Map(ranges.flatMap(subtreesOf).map((subtree) => [keyOf(placeOf(subtree)), placeOf(subtree)]))
  const tiles = await loadTiles(db, tenantId, [...wanted.values()])
  const loaded = new Map(tiles.map((tile) => [keyOf(tile), tile.hashes]))
  return ranges.map((range) =>
    rangeHash(range, (subtree) => {
      const place = placeOf(subtree)
      const hashes = loaded.get(keyOf(place))?.slice(place.first, place.first + place.count) ?? []
      if (hashes.length < place.count)
        throw new MissingTile(`the tree of ${tenantId} has no tile ${keyOf(place)}: run ledger verify`)
      return rootOf(hashes)
    }),
  )
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
  const tiles = await loadTiles(db, tenantId, keys)
  const hashes = tiles.sort((a, b) => a.tile - b.tile).flatMap((tile) => tile.hashes)
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

async function loadTiles(
  db: Pick<Db, 'query'>,
  tenantId: string,
  keys: readonly Pick<Tile, 'level' | 'tile'>[],
): Promise<Tile[]> {
  if (keys.length === 0) return []
  const rows = await db.query<{ level: number; tile: bigint; hashes: Buffer }>({
    name: 'books-tiles',
    text: `select t.level, t.tile, t.hashes from unnest($2::smallint[], $3::bigint[]) as wanted (level, tile)
           join ledger_tiles t on t.tenant_id = $1 and t.level = wanted.level and t.tile = wanted.tile`,
    values: [tenantId, keys.map(({ level }) => level), keys.map(({ tile }) => tile)],
  })
  return rows.map(({ level, tile, hashes }) => ({ level, tile: Number(tile), hashes: split(hashes) }))
}

/** The hashes of a stored tile. */
function split(hashes: Buffer): Buffer[] {
  return Array.from({ length: hashes.length / HASH_BYTES }, (_, index) =>
    hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )
}
