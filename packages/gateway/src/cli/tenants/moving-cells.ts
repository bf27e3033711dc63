import { dirname, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import type { CellNode, Cells } from '#cells/cells-file.ts'
import type { DealerMove, Move, MovingCell } from '#cells/move/cell-session.ts'
import { requireOneRelease } from '#cells/move/check-move.ts'
import { findMove, listMoves, type MoveRow } from '#cells/move/move-state.ts'
import { findTwin } from '#operations/twins/find-twin.ts'
import { type Config, readConfig } from '#platform/config/config.ts'
import { requireKnownByAll } from '#platform/deployment/live-releases.ts'
import { nameWithKeys } from '#platform/deployment/peers.ts'
import { hasTwinsSchema, twinConfigOf } from '#platform/deployment/twins-schema.ts'
import { moveLock } from '#platform/held-tenants.ts'
import { readCells } from '../cells.ts'
import { type AdminDeps, withTwins } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { readTextFile } from '../kernel/cli-files.ts'

interface MoveRequest {
  tenantId: string
  to: string
  file: string
  abort: boolean
}

interface OpenMove {
  move: DealerMove
  /** The moves, of the dealer and of its twin, that an earlier command has begun. */
  begun: Move[]
}

/**
 * Opens the databases of both cells for a move of a dealer and its test twin, which no other command may move until these are closed.
 * @param databases receives them; the caller closes them, also after an error
 * @throws UsageError, Refusal
 */
export async function openMove(
  deps: AdminDeps,
  { tenantId, to, file, abort }: MoveRequest,
  databases: Database[],
): Promise<OpenMove> {
  const { cells } = readCells(file)
  const sourceConfig = checkSource(deps)
  const listed = { source: findListed(cells, file, sourceConfig.cellName), target: findListed(cells, file, to) }
  const targetConfig = readTargetConfig(sourceConfig, file, listed.target)
  databases.push(await lockMove(sourceConfig, tenantId))
  const source = openCell(sourceConfig, listed.source.nodes, databases)
  const target = openCell(targetConfig, listed.target.nodes, databases)
  const dealer = await describe(deps, tenantId, source, target)
  const twin = await describeTwin(deps, dealer.move, { source, target, abort }, databases)
  const begun = [dealer, twin].flatMap((each) => (each?.hasBegun ? [each.move] : []))
  return { move: { ...dealer.move, twin: twin?.move }, begun }
}

interface DescribedMove {
  move: Move
  hasBegun: boolean
}

async function describe(
  { ids }: AdminDeps,
  tenantId: string,
  source: OpenCell,
  target: OpenCell,
): Promise<DescribedMove> {
  const going = await findGoing(source, target, tenantId)
  return { move: { moveId: going ?? ids.uuid(), tenantId, source, target }, hasBegun: going !== undefined }
}

/** Prepares the schema of the test twins in the target. @returns undefined if the dealer has no twin in the source */
async function describeTwin(
  deps: AdminDeps,
  dealer: Move,
  cells: { source: OpenCell; target: OpenCell; abort: boolean },
  databases: Database[],
): Promise<DescribedMove | undefined> {
  const source = await openTwins(cells.source, databases)
  const twin = await findTwin(source, dealer.tenantId)
  if (source === undefined || twin === undefined) return undefined
  if (!cells.abort) {
    const { config, db } = cells.target
    await requireOneRelease(dealer)
    await requireKnownByAll(db, 'test twins')
    await withTwins({ config, databaseUrl: config.databaseUrl, db }, { create: true }, async () => {})
  }
  const target = await openTwins(cells.target, databases)
  return target && describe(deps, twin.tenantId, source, target)
}

interface OpenSource {
  source: MovingCell
  twin: { tenantId: string; cell: MovingCell } | undefined
}

/** Opens the cell of this command, and finds the rows of the dealer's test twin in it. */
export async function openSource(deps: AdminDeps, tenantId: string, databases: Database[]): Promise<OpenSource> {
  const source = openCell(checkSource(deps), [], databases)
  const cell = await openTwins(source, databases)
  const twin = await findTwin(cell, tenantId)
  return { source, twin: cell && twin && { tenantId: twin.tenantId, cell } }
}

/** A move of a dealer, or of its test twin (TEST). */
export interface ListedMove extends MoveRow {
  mode: 'LIVE' | 'TEST'
}

/** Lists the moves to and from the cell of this command: each twin's after those of the dealers. */
export async function listAllMoves(deps: AdminDeps): Promise<ListedMove[]> {
  const live = await listMoves(deps.db)
  const test = await withTwins(deps, { create: false }, async (twins) => (twins ? listMoves(twins.db) : []))
  return [
    ...live.map((move) => ({ ...move, mode: 'LIVE' }) as const),
    ...test.map((move) => ({ ...move, mode: 'TEST' }) as const),
  ]
}

interface OpenCell extends MovingCell {
  nodes: readonly CellNode[]
  config: CellConfig
}

/** The move that an earlier command has begun; undefined if this command begins a new one. @throws UsageError */
async function findGoing(source: MovingCell, target: MovingCell, tenantId: string): Promise<string | undefined> {
  const here = await findMove(source.db, tenantId)
  if (here === undefined) {
    const there = await findMove(target.db, tenantId)
    return there?.direction === 'IN' && there.otherCell === source.name ? there.moveId : undefined
  }
  if (here.direction === 'IN') {
    if (here.state === 'DONE') return undefined
    throw new UsageError(
      `The dealer is still being moved here from cell ${here.otherCell}. Finish the move there first.`,
    )
  }
  if (here.otherCell !== target.name)
    throw new UsageError(`The dealer is being moved, or was moved, to cell ${here.otherCell}.`)
  return here.moveId
}

/** Allows long statements: during a move, one statement may read all of a dealer's rows. */
const STATEMENT_MS = 30 * 60_000
const CONNECTIONS = 4

/** The configuration of a cell that dealers can leave or move to. */
type CellConfig = Config & { databaseUrl: string; masterKeys: NonNullable<Config['masterKeys']> }

function isCellConfig(config: Config): config is CellConfig {
  return config.databaseUrl !== undefined && config.masterKeys !== undefined
}

function openCell(config: CellConfig, nodes: readonly CellNode[], databases: Database[]): OpenCell {
  const { cellName, databaseUrl: url, databaseSchema: schema, masterKeys } = config
  const db = createDb({
    ...{ url, schema, poolSize: CONNECTIONS },
    applicationName: nameWithKeys('admin', createCipher(masterKeys), schema),
    ...{ statementTimeoutMs: STATEMENT_MS, idleInTransactionMs: STATEMENT_MS },
  })
  databases.push(db)
  return { name: cellName, db, nodes, config }
}

/** The schema of the test twins of a cell; undefined if it has none. */
async function openTwins({ config, db, nodes }: OpenCell, databases: Database[]): Promise<OpenCell | undefined> {
  const exists = await hasTwinsSchema(db, config.databaseSchema)
  return exists ? openCell(twinConfigOf(config), nodes, databases) : undefined
}

/** The configuration of the cell that the dealer leaves. @throws UsageError if it lacks a variable of a cell */
function checkSource({ config }: AdminDeps): CellConfig {
  if (isCellConfig(config)) return config
  throw new UsageError('Dealers can be moved only from a gateway that has DATABASE_URL and MASTER_KEY.')
}

/** Finds a cell in the cells file. @throws UsageError if it is not listed */
function findListed(cells: Cells['cells'], file: string, name: string): ListedCell {
  const listed = cells.find((cell) => cell.name === name)
  if (listed === undefined)
    throw new UsageError(`${file} does not list cell ${name}. Add it, or correct --to or CELL_NAME.`)
  return listed
}

type ListedCell = Cells['cells'][number]

/** Reads the variables of the target's nodes. @throws UsageError */
function readTargetConfig(source: CellConfig, file: string, { name, environmentFile }: ListedCell): CellConfig {
  if (environmentFile === undefined)
    throw new UsageError(
      `${file} has no environmentFile for cell ${name}. Set it to the path of the file with the variables of its nodes (DATABASE_URL, MASTER_KEY, CELL_NAME, …).`,
    )
  const path = resolve(dirname(file), environmentFile)
  const target = readConfig(parseEnv(readTextFile(path)) as NodeJS.ProcessEnv, [])
  if (target.cellName !== name)
    throw new UsageError(
      `CELL_NAME in ${path} is ${target.cellName}, but ${file} calls the cell ${name}. Correct one of them.`,
    )
  if (target.cellName === source.cellName) throw new UsageError(`The dealer is already in cell ${name}.`)
  if (!isCellConfig(target)) throw new UsageError(`${path} lacks DATABASE_URL or MASTER_KEY.`)
  return target
}

/**
 * Allows only one command at a time to move a dealer. The lock belongs to the session, so it ends with the process.
 * @throws UsageError
 */
async function lockMove({ databaseUrl, databaseSchema }: CellConfig, tenantId: string): Promise<Database> {
  const db = createDb({
    ...{ url: databaseUrl, schema: databaseSchema, poolSize: 1, keepConnections: true },
    applicationName: 'dealer-esim move',
  })
  let isLocked = false
  try {
    const [row] = await db.query<{ locked: boolean }>({
      text: `select pg_try_advisory_lock(${moveLock(tenantId)}) as locked`,
    })
    isLocked = row!.locked
  } finally {
    if (!isLocked) await db.close()
  }
  if (isLocked) return db
  throw new UsageError('Another command is moving this dealer. Wait until it ends, or stop it first.')
}
