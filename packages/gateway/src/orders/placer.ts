import { setTimeout as delay } from 'node:timers/promises'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import { CommitUnknown, isConnectionLoss, sqlState } from '../lib/postgres/errors.ts'
import { failpoint } from '../lib/process/failpoint.ts'
import { createWalletCache } from '../wallet/cache.ts'
import type { OrderInput, Verdict } from './decide.ts'
import { type DeskVerdict, placeOrders } from './place.ts'
import { placeOptimistically, type RememberedDeps } from './place-optimistic.ts'
import { openRepeats } from './repeats.ts'

export interface OrderPlacer {
  /** Places one order, together with those of the same moment. Never rejects: failures are verdicts too. */
  place(wish: OrderInput): Promise<Verdict>
  /**
   * The same for an order whose request is still being admitted: its transaction begins meanwhile, and is committed only
   * once it is. @throws what `admission` rejects with
   */
  placeOnceAdmitted(wish: OrderInput, admission: Promise<unknown>): Promise<Verdict>
}

export interface DeskDeps extends Omit<RememberedDeps, 'memory'> {
  clock: Clock
  maintainPartitions(): Promise<unknown>
  /** After a commit that placed so many orders: fulfilment and webhooks have work. */
  onPlaced(orders: number): void
  /** A batch failed; what was done about it follows from the failure. */
  onFailure(failure: unknown, orders: number): void
}

type Desk = DeskDeps & RememberedDeps

/**
 * Orders in one transaction at most: its locks are held for some ten milliseconds then. Twice as many cost the server
 * hardly less for each, and move through gateway and server as one herd: the two take turns instead of working at once.
 */
const BATCH_MAX = 128
/** One transaction goes on while another waits for the disk, or for a wallet that somebody holds. */
const LANES = 2
/** What comes a moment later goes with the next one. */
const PATIENCE_MS = 1
/** Answers of a crowd take about as long to be written, and its next orders to come. */
const GATHER_MS = 2
/** About a second's work: beyond it, saying so is kinder than waiting. */
const WAITING_MAX = 5_000

export function createOrderPlacer(deps: DeskDeps): OrderPlacer {
  const desk: Desk = { ...deps, memory: createWalletCache(deps.clock) }
  const batches = createBatcher<OrderInput, DeskVerdict>({
    limit: BATCH_MAX,
    concurrency: LANES,
    pace: { clock: deps.clock, overlapAfterMs: PATIENCE_MS, gatherMs: GATHER_MS },
    queueLimit: WAITING_MAX,
    queueFullError: () => new Error('too many orders wait'),
    key: (wish) => wish.tenant.tenantId, // two batches of one wallet would only wait for its lock
    keysShareBatch: true,
    run: (wishes) => placeSafely(desk, wishes),
  })
  const repeats = openRepeats(desk.db)
  const ask = async (wish: OrderInput) => {
    const repeated = repeats.isLikely(wish) ? await repeats.lookUp(wish) : undefined
    if (repeated) return repeated
    const verdict = await batches.add(wish).catch(() => UNAVAILABLE)
    if (verdict.kind !== 'not-admitted' && tellsOfAnOrder(verdict)) repeats.keep(wish)
    return verdict
  }
  const place = async (wish: OrderInput) => {
    const verdict = await ask(wish)
    return verdict.kind === 'not-admitted' ? UNAVAILABLE : verdict
  }
  return {
    place,
    async placeOnceAdmitted(wish, admission) {
      const { tenant, orderId, request } = wish
      const verdict = await ask({ tenant, orderId, request, isAdmitted: isKeptSoon(admission) })
      await admission
      return verdict.kind === 'not-admitted' ? place(wish) : verdict
    },
  }
}

/** Placed just now, or before: a conflict is one with an order that is there, too. */
function tellsOfAnOrder(verdict: Verdict): boolean {
  return verdict.kind !== 'refused' || verdict.code === '200012'
}

/** A wallet is kept locked no longer for an admission that does not come. */
const ADMISSION_PATIENCE_MS = 100

function isKeptSoon(admission: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ADMISSION_PATIENCE_MS, false)
    const tell = (isKept: boolean) => {
      clearTimeout(timer)
      resolve(isKept)
    }
    admission.then(
      () => tell(true),
      () => tell(false),
    )
  })
}

const UNAVAILABLE: Verdict = { kind: 'refused', code: '000002', parts: {} }
const UNKNOWN: Verdict = { kind: 'refused', code: '000001', parts: {} }

/** Attempts while it is certain that nothing happened. */
const ATTEMPTS_MAX = 3
/** A COMMIT without an answer is looked into for this long: a database that restarts is back by then. */
const DOUBT_MS = 15_000
const BETWEEN_ATTEMPTS_MS = 100

/**
 * Bad luck of one order never fails its neighbours. A failure that may pass (deadlock, lock time-out, lost connection)
 * is tried again; one that will not is split until the poison fails alone. What died around COMMIT runs again with the
 * ids that it already made: the wallet's lock makes it wait for whatever is left of the first attempt, and an order
 * found under its own id is that attempt's. A first attempt on a remembered wallet may not have its lock yet: should it
 * come later, it finds the wallet moved, and writes nothing. Unknown is answered only when the database does not come back
 * in time.
 */
async function placeSafely(desk: Desk, wishes: OrderInput[], doubted = false): Promise<DeskVerdict[]> {
  const start = desk.clock.monotonic()
  let inDoubt = doubted
  for (let attempt = 1; ; attempt++) {
    try {
      const verdicts = await placeOnce(desk, wishes, inDoubt)
      const placed = verdicts.filter((verdict) => verdict.kind === 'placed').length
      if (placed === 0) return verdicts
      await failpoint('orders.committed')
      desk.onPlaced(placed)
      return verdicts
    } catch (failure) {
      desk.onFailure(failure, wishes.length)
      inDoubt ||= failure instanceof CommitUnknown
      const elapsedMs = desk.clock.monotonic() - start
      const remedy = remedyFor(failure, { inDoubt, attempt, elapsedMs, orders: wishes.length })
      if (remedy === 'split') return placeHalves(desk, wishes, inDoubt)
      if (remedy !== 'again') return wishes.map(() => remedy)
      if (sqlState(failure) === NO_PARTITION) await desk.maintainPartitions().catch(() => {})
      if (isConnectionLoss(failure)) await delay(BETWEEN_ATTEMPTS_MS * Math.min(attempt, 10))
    }
  }
}

/** What is done about a batch that failed; a verdict is the end of it for all of its orders. */
function remedyFor(
  failure: unknown,
  so: { inDoubt: boolean; attempt: number; elapsedMs: number; orders: number },
): 'again' | 'split' | Verdict {
  const lost = isConnectionLoss(failure)
  const mayPass = lost || PASSING.has(sqlState(failure) ?? '')
  if (mayPass && (so.inDoubt ? so.elapsedMs < DOUBT_MS : so.attempt < ATTEMPTS_MAX)) return 'again'
  if (so.orders > 1 && !lost) return 'split'
  return so.inDoubt || !mayPass ? UNKNOWN : UNAVAILABLE
}

/** On the memory of the wallets where that will do, else on what is read. */
async function placeOnce(desk: Desk, wishes: OrderInput[], inDoubt: boolean): Promise<DeskVerdict[]> {
  const remembered = inDoubt ? undefined : await placeOptimistically(desk, wishes)
  if (remembered) return remembered
  // Stock that ran out meanwhile must not refuse what may be placed already.
  const placing = inDoubt ? { ...desk, stock: UNCOUNTED } : desk
  const { verdicts, wallets } = await desk.db.tx((tx) => placeOrders(tx, placing, wishes))
  desk.memory.keep(await wallets)
  return verdicts
}

const UNCOUNTED: Desk['stock'] = { available: () => undefined }

async function placeHalves(desk: Desk, wishes: OrderInput[], inDoubt: boolean): Promise<DeskVerdict[]> {
  const middle = Math.ceil(wishes.length / 2)
  const first = await placeSafely(desk, wishes.slice(0, middle), inDoubt)
  return [...first, ...(await placeSafely(desk, wishes.slice(middle), inDoubt))]
}

const NO_PARTITION = '23514'
/** Serialization failure, deadlock, lock time-out, statement time-out, a partition that is late. */
const PASSING: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '57014', NO_PARTITION])
