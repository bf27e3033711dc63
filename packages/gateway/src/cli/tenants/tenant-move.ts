import { execFileSync } from 'node:child_process'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Database } from '@dealer-esim/lib/postgres/db.ts'
import type { Command } from 'commander'
import { withMovedAppKey } from '#cells/cells-file.ts'
import type { Move } from '#cells/move/cell-session.ts'
import { abortMove, removeMoved } from '#cells/move/leftovers.ts'
import { type MoveDeps, moveTenant } from '#cells/move/move-tenant.ts'
import { getTenantId } from '#tenants/tenant-views.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import type { AdminContext } from '../kernel/context.ts'
import { table } from '../kernel/text-table.ts'
import { type ListedMove, listAllMoves, openMove, openSource } from './moving-cells.ts'

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
      'Move a dealer, with its test twin, from this cell to another one while its sales continue. At the end, its requests are refused (000002), usually for less than a second. Both cells need the same release and the same master key. After an interruption, run the command again, or undo the move with --abort.',
    )
    .option('--to <cell>', 'the cell that will serve the dealer, by its name in the file that lists the cells')
    .option('--file <file>', 'the file that lists the cells', 'cells.json')
    .option(
      '--after-switch <command>',
      'command to run once that file lists the new cell of the AppKey; it must write the configuration of the load balancer and reload it',
    )
    .option('--abort', 'undo a move that has not yet switched to the new cell')
    .option('--clean', 'remove the data that this cell still holds of a dealer that was moved away')
    .option('--status', 'show the moves of this cell, of dealers and of their test twins')
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
  const moves = (await listAllMoves(deps)).filter(
    (one) => tenantId === undefined || one.tenantId === tenantId || one.liveTenantId === tenantId,
  )
  const human = table<ListedMove>(
    moves,
    [
      { title: 'TENANT', value: (one) => one.tenantId },
      { title: 'ACCOUNT', value: accountText },
      { title: 'CELL', value: (one) => `${one.direction === 'OUT' ? 'to' : 'from'} ${one.otherCell}` },
      { title: 'STATE', value: stateText },
      { title: 'SINCE', value: (one) => one.updatedAt.toISOString() },
    ],
    'No dealer was moved to or from this cell.',
  )
  context.print(human, { moveList: moves })
}

/** `dealer`, or `test twin of 01a1fd8b-dc30-7373-b571-a5a73161e676`. */
function accountText({ mode, liveTenantId }: ListedMove): string {
  if (mode === 'LIVE') return 'dealer'
  return liveTenantId === null ? 'test twin' : `test twin of ${liveTenantId}`
}

/** The state as the dealer sees it. Once the fence has ended, the source serves the dealer as before. */
function stateText({ state, isFenced }: ListedMove): string {
  return (state === 'FENCED' || state === 'VERIFIED') && !isFenced ? 'COPYING' : state
}

async function clean(context: AdminContext, deps: AdminDeps, tenantId: string): Promise<void> {
  const { ids } = deps
  await withDatabases(async (databases) => {
    const { source, twin } = await openSource(deps, tenantId, databases)
    // The twin first: it is found through its dealer.
    if (twin) await removeMoved(ids, context.by, twin.cell, twin.tenantId)
    await removeMoved(ids, context.by, source, tenantId)
  })
  context.print('Removed. This cell no longer has any data of the dealer.', { tenantId })
}

async function move(context: AdminContext, deps: AdminDeps, tenantId: string, options: MoveOptions): Promise<void> {
  const { to, file, abort = false } = options
  if (to === undefined) throw new UsageError('Specify the cell with --to, by its name in the cells file.')
  await withDatabases(async (databases) => {
    const { move: moving, begun } = await openMove(deps, { tenantId, to, file, abort }, databases)
    if (abort) {
      if (begun.length === 0) throw new UsageError(`There is no move of this dealer to cell ${to}.`)
      for (const each of begun) await abortMove({ ids: deps.ids, by: context.by }, each)
      const human = `Aborted. Cell ${moving.source.name} continues to serve the dealer.`
      context.print(human, { tenantId, aborted: true })
      return
    }
    const steps: MoveDeps = {
      ids: deps.ids,
      cipher: deps.cipher,
      by: context.by,
      progress: (line) => context.progress(line),
      route: (switched) => route(context, switched, options),
    }
    const report = await moveTenant(steps, moving)
    const fenced = report.fencedMs === undefined ? '' : ` Its requests were refused for ${report.fencedMs} ms.`
    context.print(`Moved. Cell ${to} serves the dealer.${fenced}`, { tenantId, cell: to, ...report })
  })
}

/** Closes the databases that `work` has opened: a connection that stays open would keep the process alive. */
async function withDatabases(work: (databases: Database[]) => Promise<void>): Promise<void> {
  const databases: Database[] = []
  try {
    await work(databases)
  } finally {
    await Promise.all(databases.map((db) => db.close()))
  }
}

/** Records in the file of cells which cell the AppKeys of the dealer, or of its twin, lead to, and runs the command that informs the load balancer. */
async function route(
  context: AdminContext,
  { source, target, tenantId }: Move,
  { file, afterSwitch }: MoveOptions,
): Promise<void> {
  const appKeys = await source.db.query<{ appKey: string }>({
    text: `select app_key from tenants where tenant_id = $1
           union all
           select app_key from tenant_keys where tenant_id = $1 and revoked_at is null`,
    values: [tenantId],
  })
  const changed = `${file}.new`
  writeFileSync(
    changed,
    appKeys.reduce((text, { appKey }) => withMovedAppKey(text, appKey, target.name), readFileSync(file, 'utf8')),
  )
  renameSync(changed, file)
  if (afterSwitch === undefined) {
    context.progress(`${file} is changed: write the load balancer's configuration (cells proxy) and reload it now`)
    return
  }
  execFileSync('/bin/sh', ['-c', afterSwitch], { stdio: ['ignore', 'ignore', 'inherit'] })
}
