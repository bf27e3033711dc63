import { execFileSync } from 'node:child_process'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import type { Command } from 'commander'
import { type Cells, withMovedAppKey } from '#cells/cells-file.ts'
import type { Move, MovingCell } from '#cells/move/cell-session.ts'
import { abortMove, removeMoved } from '#cells/move/leftovers.ts'
import { findMove, listMoves, type MoveRow } from '#cells/move/move-state.ts'
import { type MoveDeps, moveTenant } from '#cells/move/move-tenant.ts'
import { type Config, readConfig } from '#platform/config/config.ts'
import { nameWithKeys } from '#platform/deployment/peers.ts'
import { getTenantId } from '#tenants/tenant-views.ts'
import { readCells } from '../cells.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { readTextFile } from '../kernel/cli-files.ts'
import type { AdminContext } from '../kernel/context.ts'
import { table } from '../kernel/text-table.ts'

interface MoveOptions {
  to?: string
  file: string
  afterSwitch?: string
  abort?: boolean
  clean?: boolean
  status?: boolean
}

export function moveCommand(tenant: Command, context: AdminContext): void {
  tenant
    .command('move [tenant-id]')
    .description(
      'Move a dealer from this cell to another one while its sales continue. At the end, its requests are refused (000002), usually for less than a second. Both cells need the same release and the same master key. After an interruption, run the command again, or undo the move with --abort.',
    )
    .option('--to <cell>', 'the cell that will serve the dealer, by its name in the file that lists the cells')
    .option('--file <file>', 'the file that lists the cells', 'cells.json')
    .option(
      '--after-switch <command>',
      'command to run once that file lists the new cell of the AppKey; it must write the configuration of the load balancer and reload it',
    )
    .option('--abort', 'undo a move that has not yet switched to the new cell')
    .option('--clean', 'remove the data that this cell still holds of a dealer that was moved away')
    .option('--status', 'show the moves of this cell')
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- tenant move ID --to eu1 --after-switch "./reload-haproxy.sh"\n  npm run -s admin -- tenant move ID --clean',
    )
    .action((tenantId: string | undefined, options: MoveOptions) =>
      context.withDeps(async (deps) => {
        if (options.status) return showStatus(context, deps, tenantId)
        if (tenantId === undefined) throw new UsageError('Specify the dealer: tenant move TENANT_ID --to CELL.')
        if (options.clean) return clean(context, deps, await getTenantId(deps.db, tenantId))
        await move(context, deps, await getTenantId(deps.db, tenantId), options)
      }),
    )
}

async function showStatus(context: AdminContext, deps: AdminDeps, tenantId: string | undefined): Promise<void> {
  const moves = (await listMoves(deps.db)).filter((one) => tenantId === undefined || one.tenantId === tenantId)
  const human = table<MoveRow>(
    moves,
    [
      { title: 'TENANT', value: (one) => one.tenantId },
      { title: 'CELL', value: (one) => `${one.direction === 'OUT' ? 'to' : 'from'} ${one.otherCell}` },
      { title: 'STATE', value: stateText },
      { title: 'SINCE', value: (one) => one.updatedAt.toISOString() },
    ],
    'No dealer was moved to or from this cell.',
  )
  context.print(human, { moveList: moves })
}

/** The state as the dealer sees it. Once the fence has ended, the source serves the dealer as before. */
function stateText({ state, isFenced }: MoveRow): string {
  return (state === 'FENCED' || state === 'VERIFIED') && !isFenced ? 'COPYING' : state
}

async function clean(context: AdminContext, deps: AdminDeps, tenantId: string): Promise<void> {
  const source = openCell(checkSource(deps))
  try {
    await removeMoved(deps.ids, context.by, source, tenantId)
  } finally {
    await source.db.close()
  }
  context.print('Removed. This cell no longer has any data of the dealer.', { tenantId })
}

async function move(context: AdminContext, deps: AdminDeps, tenantId: string, options: MoveOptions): Promise<void> {
  const { to, file } = options
  if (to === undefined) throw new UsageError('Specify the cell with --to, by its name in the cells file.')
  const { cells } = readCells(file)
  const sourceConfig = checkSource(deps)
  const sourceNodes = findListed(cells, file, sourceConfig.cellName).nodes
  const listedTarget = findListed(cells, file, to)
  const targetConfig = readTargetConfig(sourceConfig, file, listedTarget)
  // A connection that stays open would keep the process alive.
  const databases = [await lockMove(sourceConfig, tenantId)]
  try {
    const source = openCell(sourceConfig)
    databases.push(source.db)
    const target = openCell(targetConfig)
    databases.push(target.db)
    const going = await findGoing(source, target, tenantId)
    const moving: Move = {
      moveId: going ?? deps.ids.uuid(),
      tenantId,
      source: { ...source, nodes: sourceNodes },
      target: { ...target, nodes: listedTarget.nodes },
    }
    const { by } = context
    if (options.abort) {
      if (going === undefined) throw new UsageError(`There is no move of this dealer to cell ${to}.`)
      await abortMove({ ids: deps.ids, by }, moving)
      context.print(`Aborted. Cell ${source.name} continues to serve the dealer.`, { tenantId, aborted: true })
      return
    }
    const steps: MoveDeps = {
      ids: deps.ids,
      cipher: deps.cipher,
      by,
      progress: (line) => context.progress(line),
      route: () => route(context, deps, tenantId, options, to),
    }
    const report = await moveTenant(steps, moving)
    const fenced = report.fencedMs === undefined ? '' : ` Its requests were refused for ${report.fencedMs} ms.`
    context.print(`Moved. Cell ${to} serves the dealer.${fenced}`, { tenantId, cell: to, ...report })
  } finally {
    await Promise.all(databases.map((db) => db.close()))
  }
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

function openCell({ cellName, databaseUrl, databaseSchema, masterKeys }: CellConfig): { name: string; db: Database } {
  const db = createDb({
    ...{ url: databaseUrl, schema: databaseSchema, poolSize: CONNECTIONS },
    applicationName: nameWithKeys('admin', createCipher(masterKeys), databaseSchema),
    ...{ statementTimeoutMs: STATEMENT_MS, idleInTransactionMs: STATEMENT_MS },
  })
  return { name: cellName, db }
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
      text: `select pg_try_advisory_lock(${advisoryKey(`move ${tenantId}`)}) as locked`,
    })
    isLocked = row!.locked
  } finally {
    if (!isLocked) await db.close()
  }
  if (isLocked) return db
  throw new UsageError('Another command is moving this dealer. Wait until it ends, or stop it first.')
}

/** Records in the file of cells which cell the dealer's AppKeys lead to, and runs the command that informs the load balancer. */
async function route(
  context: AdminContext,
  deps: AdminDeps,
  tenantId: string,
  { file, afterSwitch }: MoveOptions,
  cell: string,
): Promise<void> {
  const appKeys = await deps.db.query<{ appKey: string }>({
    text: `select app_key from tenants where tenant_id = $1
           union all
           select app_key from tenant_keys where tenant_id = $1 and revoked_at is null`,
    values: [tenantId],
  })
  const changed = `${file}.new`
  writeFileSync(
    changed,
    appKeys.reduce((text, { appKey }) => withMovedAppKey(text, appKey, cell), readFileSync(file, 'utf8')),
  )
  renameSync(changed, file)
  if (afterSwitch === undefined) {
    context.progress(`${file} is changed: write the load balancer's configuration (cells proxy) and reload it now`)
    return
  }
  execFileSync('/bin/sh', ['-c', afterSwitch], { stdio: ['ignore', 'ignore', 'inherit'] })
}
