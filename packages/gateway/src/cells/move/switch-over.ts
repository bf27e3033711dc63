import { setTimeout as delay } from 'node:timers/promises'
import { sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import type { KeyDeps } from '#wallet/books/ledger-keys.ts'
import { inSnapshot, type Move } from './cell-session.ts'
import { findOpenStock, requireOneRelease } from './check-move.ts'
import { copyChanges, copyPeople, copyTables, restartTable, type Shapes } from './copy-rows.ts'
import { closeSource, holdWork, liftFence, setFence, setState } from './move-state.ts'
import { proveBooks, SIGNED_TABLES } from './prove-books.ts'
import { compareTables, type LedgerEnd, readLedgerEnd, requireSoundLedger } from './verify-move.ts'

/**
 * How long the fence lasts, by the clock of the source's database. Requests are refused for at most five seconds. The
 * remaining time lets a target open on its own if the mover was killed (arrival.ts).
 */
export const FENCE_MAX_MS = 3_500
/** The source is not closed this close to the end of the fence. */
const MARGIN_MS = 500
/** How often the fence is set before the operator has to decide. */
const FENCES_MAX = 3
/** Behind the fence, this many changes are copied in a few hundred milliseconds. */
const FEW_CHANGES = 500
/** How many passes copy the changes that were made during the previous pass. */
const PASSES_MAX = 50
/** How long loops are kept from starting new work. Longer than a call to a supplier or a delivery attempt usually takes. */
const HOLD_MS = 60_000
const IDLE_WAIT_MS = 45_000
const POLL_MS = 50
const COMPARISONS_MAX = 3

export interface Switched {
  /** How long the source refused the tenant's requests before it was closed. */
  fencedMs: number
}

interface SwitchDeps extends Pick<KeyDeps, 'ids' | 'cipher'> {
  progress(line: string): void
}

/**
 * Compares the cells, then copies the last changes behind a fence, proves the books and closes the source. If the fence ends too early, the
 * source serves the tenant again, and the mover sets another fence.
 * @throws Refusal; the source then serves the tenant
 */
export async function switchOver(deps: SwitchDeps, move: Move, shapes: Shapes): Promise<Switched> {
  const { progress } = deps
  await liftFence(move) // of a mover that was killed
  const end = await compareCells(move, shapes)
  await requireOneRelease(move)
  progress('compared: the cells have the same rows, and the ledger is right in both')
  for (let fences = 1; ; fences++) {
    try {
      await catchUp(move, shapes)
      await waitUntilIdle(move, shapes)
      await failpoint('move.held')
      const startedAt = performance.now()
      const isClosed = await closeBehindFence(deps, move, shapes, end, startedAt + FENCE_MAX_MS)
      if (isClosed) return { fencedMs: Math.round(performance.now() - startedAt) }
    } catch (error) {
      await liftFence(move)
      if (!CONTENDED.has(sqlState(error) ?? '') || fences === FENCES_MAX) throw error
    }
    await liftFence(move)
    if (fences === FENCES_MAX) throw tooSlow()
    progress('the fence has ended before the last changes were copied: trying again')
    // The source continues its own books, so what the target signed in them is replaced.
    await copyAgain(move, shapes, SIGNED_TABLES)
  }
}

/** Lock time-out, deadlock. */
const CONTENDED: ReadonlySet<string> = new Set(['55P03', '40P01'])

function tooSlow(): Refusal {
  return new Refusal(
    409,
    'FENCE_TOO_SHORT',
    `The last changes could not be copied within ${FENCE_MAX_MS / 1_000} s, so the dealer is served by its old cell again. Run the command again at a quieter time, or stop the move with --abort.`,
  )
}

/** Copies changes, pass by pass, until few are left. */
async function catchUp(move: Move, shapes: Shapes): Promise<void> {
  for (let pass = 1; pass <= PASSES_MAX; pass++) {
    const changes = await inSnapshot(move.source, move.tenantId, (snapshot) => copyChanges(snapshot, move, shapes))
    if (changes < FEW_CHANGES) return
  }
}

/**
 * Brings the target up to a single snapshot of the source and compares all rows there. Tables that differ are copied again,
 * because one of the cells may have dropped a partition.
 * @returns the end of the ledger in that snapshot
 */
async function compareCells(move: Move, shapes: Shapes): Promise<LedgerEnd> {
  await catchUp(move, shapes)
  const { source, target, tenantId } = move
  for (let comparisons = 1; ; comparisons++) {
    const { differing, end } = await inSnapshot(source, tenantId, async (snapshot) => {
      await copyChanges(snapshot, move, shapes)
      const [end] = await snapshot.query<LedgerEnd>(sql`
        select version, balance from wallets where tenant_id = ${tenantId}`)
      return { differing: await compareTables(snapshot, move, shapes), end: end! }
    })
    if (differing.length === 0) {
      await Promise.all([source, target].map((cell) => requireSoundLedger(cell, tenantId)))
      return end
    }
    if (comparisons === COMPARISONS_MAX) {
      throw new Refusal(
        409,
        'CELLS_DIFFER',
        `These tables differ between the cells: ${differing.join(', ')}. Abort the move.`,
      )
    }
    await copyAgain(move, shapes, differing)
  }
}

async function copyAgain(move: Move, shapes: Shapes, tables: readonly string[]): Promise<void> {
  for (const table of tables) await restartTable(move, table)
  await copyTables(move, shapes, () => {})
}

/** Holds back the loops of the source and waits until they have finished the work that they had begun for the tenant. */
export async function waitUntilIdle(move: Move, shapes: Shapes): Promise<void> {
  await holdWork(move, HOLD_MS)
  const until = performance.now() + IDLE_WAIT_MS
  for (;;) {
    const leased = await listLeased(move)
    await catchUp(move, shapes)
    if (leased.length === 0) return requireNoOpenStock(move)
    if (performance.now() > until) {
      throw new Refusal(
        409,
        'WORK_IN_PROGRESS',
        `Nodes of cell ${move.source.name} are still working for the dealer (${leased.join(', ')}). Run the command again once the suppliers and the dealer's endpoint respond.`,
      )
    }
    await delay(POLL_MS)
  }
}

/**
 * Checks again for stock codes that have come into doubt since the move began. Loops that are held back buy nothing more.
 * @throws Refusal
 */
async function requireNoOpenStock(move: Move): Promise<void> {
  const obstacles = await findOpenStock(move)
  if (obstacles.length > 0) throw new Refusal(409, 'CANNOT_MOVE', obstacles.join(' '))
}

/** Lists the work that nodes of the source are doing for the tenant. */
async function listLeased({ source, tenantId }: Move): Promise<string[]> {
  const rows = await source.db.query<{ what: string }>({
    name: 'move-leased',
    text: `select what from (
             select 'orders' as what from orders where tenant_id = $1 and due_at is not null and lease_until > clock_timestamp()
             union all select 'actions' from esim_actions
               where tenant_id = $1 and due_at is not null and lease_until > clock_timestamp()
             union all select 'events' from endpoint_queues where tenant_id = $1 and lease_until > clock_timestamp()
             union all select 'health check' from webhook_checks where tenant_id = $1 and lease_until > clock_timestamp()
             union all select 'e-mail' from mails
               where tenant_id = $1 and due_at is not null and lease_until > clock_timestamp()) leased
           group by what order by what`,
    values: [tenantId],
  })
  return rows.map(({ what }) => what)
}

/** @returns false if there was not enough time; the caller then lifts the fence */
async function closeBehindFence(
  deps: SwitchDeps,
  move: Move,
  shapes: Shapes,
  verified: LedgerEnd,
  deadlineMs: number,
): Promise<boolean> {
  const isLate = () => performance.now() > deadlineMs - MARGIN_MS
  await setFence(move, FENCE_MAX_MS)
  await failpoint('move.fenced')
  // A loop may have begun work in the moment before it was held back.
  if ((await listLeased(move)).length > 0) return false
  for (let changes = 1; changes > 0; ) {
    if (isLate()) return false
    changes = await inSnapshot(move.source, move.tenantId, (snapshot) => copyChanges(snapshot, move, shapes))
  }
  await copyPeople(move, shapes)
  const [here, there] = await Promise.all(
    [move.source, move.target].map((cell) => readLedgerEnd(cell, move.tenantId, verified)),
  )
  if (here!.version !== there!.version || here!.balance !== there!.balance) {
    throw new Refusal(
      409,
      'CELLS_DIFFER',
      'The last version or balance in the ledger differs between the cells. Abort the move.',
    )
  }
  await failpoint('move.copied-behind-fence')
  await proveBooks(deps, move)
  await failpoint('move.books-proved')
  await setState(move, 'VERIFIED')
  await failpoint('move.verified')
  return !isLate() && (await closeSource(move))
}
