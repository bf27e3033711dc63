import { setTimeout as delay } from 'node:timers/promises'
import { createBatcher, groupBy } from '@dealer-esim/lib/batch.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import { CommitUnknown, isConnectionLoss, isOutOfResources, sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { createWalletCache } from '#wallet/ledger/cached-wallets.ts'
import type { OrderMetrics } from '../change-order.ts'
import type { Verdict } from './decide-order.ts'
import { type DryRunVerdict, dryRun } from './dry-run.ts'
import type { OrderInput, ToppedUpEsim, TopUpInput } from './order-input.ts'
import { type PlacementDeps, placeBatch } from './place-batch.ts'
import { placeOptimistically } from './place-optimistically.ts'
import { createRecentOrders } from './recent-orders.ts'
import { readToppedUpEsims } from './topped-up-esims.ts'

/*
 * The path of an order through this folder:
 * 1. recent-orders.ts answers a repeat of an order that this node placed recently, without a lock.
 * 2. This file collects orders into batches, retries a batch after a temporary failure, and splits one that fails otherwise.
 * 3. place-optimistically.ts decides a batch on cached wallets, and writes it if they are unchanged.
 * 4. Otherwise place-batch.ts locks the wallets, reads, decides (decide-order.ts) and writes (write-orders.ts), in one transaction.
 */

export interface OrderPlacer {
  /**
   * Places one order, together with others that arrive at about the same time. Never rejects: a failure is also a verdict.
   */
  place(input: OrderInput): Promise<Verdict>
  /** Decides what `place` would currently answer, without writing anything. */
  dryRun(input: OrderInput): Promise<DryRunVerdict>
}

export interface OrderPlacerDeps extends Omit<PlacementDeps, 'walletCache'> {
  clock: Clock
  log: Pick<Log, 'warn'>
  wake: Pick<Wakeups<'fulfilment' | 'webhooks'>, 'wake'>
  orderMetrics?: OrderMetrics
  maintainPartitions(): Promise<unknown>
}

type PlacerDeps = OrderPlacerDeps & PlacementDeps

/**
 * Orders per transaction, which holds its locks for about ten milliseconds. With 256, the server's time per order is hardly
 * less, and gateway and server take turns instead of working at the same time.
 */
const BATCH_MAX = 128
/** One transaction proceeds while another waits for the disk, or for a wallet that a third transaction holds. */
const CONCURRENT_BATCHES = 2
/** An order that arrives up to this much later joins the next batch. */
const OVERLAP_AFTER_MS = 1
/** After a large batch, its callers take about this long to send their next orders. */
const GATHER_MS = 2
/** About a second's work. If more orders are waiting, a prompt refusal is better than a longer wait. */
const QUEUE_MAX = 5_000

export function createOrderPlacer(options: OrderPlacerDeps): OrderPlacer {
  const deps: PlacerDeps = { ...options, walletCache: createWalletCache(options.clock) }
  const recent = createRecentOrders(deps.db, {
    limit: BATCH_MAX,
    concurrency: CONCURRENT_BATCHES,
    queueLimit: QUEUE_MAX,
  })
  const iccidLookups = createBatcher<TopUpInput, ToppedUpEsim | undefined>({
    limit: BATCH_MAX,
    concurrency: 1, // larger batches: most top-ups wait for a batch of orders anyway
    queueLimit: QUEUE_MAX,
    queueFullError: () => new Error('too many top-ups are waiting'),
    async run(inputs) {
      const esims = await readToppedUpEsims(deps.db, inputs)
      return inputs.map((input) => esims.get(input))
    },
  })
  const batchesOf = () =>
    createBatcher<OrderInput, Verdict>({
      limit: BATCH_MAX,
      concurrency: CONCURRENT_BATCHES,
      pace: { clock: deps.clock, overlapAfterMs: OVERLAP_AFTER_MS, gatherMs: GATHER_MS },
      queueLimit: QUEUE_MAX,
      queueFullError: () => new Error('too many orders are waiting'),
      key: (input) => input.tenant.tenantId, // a second batch for one wallet would only wait for its lock
      keysShareBatch: true,
      run: (inputs) => placeInTime(deps, inputs),
    })
  // Orders of restricted keys and orders that are handed over need reads before they are decided, so they have batches of their
  // own. Unsigned orders and orders at a test time need reads too, but are too rare for that.
  const [batches, readingBatches] = [batchesOf(), batchesOf()]
  /** Looks up the eSIM's id: a batch that does not read eSIMs needs it. If no eSIM is found, the batch looks again. */
  const withNamedEsim = async (input: TopUpInput): Promise<TopUpInput> => {
    const named = await iccidLookups.add(input).catch(() => undefined)
    return named ? { ...input, named } : input
  }
  return {
    async place(input) {
      const replayed = recent.has(input) ? await recent.lookUp(input) : undefined
      if (replayed) return replayed
      const isByIccid = input.orderType === 'TOPUP' && input.request.esimTranNo === undefined
      const verdict = await (input.key || input.handOver ? readingBatches : batches)
        .add(isByIccid ? await withNamedEsim(input) : input)
        .catch(() => UNAVAILABLE)
      if (orderExists(verdict)) recent.add(input)
      return verdict
    },
    dryRun: (input) => dryRun(deps, input),
  }
}

/**
 * True if an order with the transactionId probably exists. A conflict can also come from an action, a send or a restore: then
 * the look-up finds no order, and the repeat is placed like any other order.
 */
function orderExists(verdict: Verdict): boolean {
  return verdict.kind !== 'refused' || verdict.code === '200012'
}

const UNAVAILABLE: Verdict = { kind: 'refused', code: '000002', parts: {} }
const UNKNOWN: Verdict = { kind: 'refused', code: '000001', parts: {} }

/** The number of attempts while it is certain that nothing was committed. */
const ATTEMPTS_MAX = 3
/**
 * No attempt begins this long after the batch's oldest request arrived, even if a COMMIT was not answered: callers get an
 * answer within ten seconds. Longer than one attempt on a stalled connection (deps.ts), so that a second attempt can follow
 * on a new connection.
 */
const RETRY_MS = 7_000
const BETWEEN_ATTEMPTS_MS = 100

/** What attempts to place a batch pass on to attempts to place its parts. */
interface Effort {
  /** When the oldest request arrived (monotonic). */
  since: number
  /** A COMMIT was not answered. */
  inDoubt: boolean
}

function isTimeUp({ clock }: PlacerDeps, { since }: Pick<Effort, 'since'>): boolean {
  return clock.monotonic() - since >= RETRY_MS
}

/**
 * Refuses orders that have waited too long behind an earlier batch of their dealer, because the wallet stays locked or the
 * database is unreachable.
 */
async function placeInTime(deps: PlacerDeps, inputs: OrderInput[]): Promise<Verdict[]> {
  const now = deps.clock.monotonic()
  const inTime = inputs.filter(({ receivedAt = now }) => !isTimeUp(deps, { since: receivedAt }))
  if (inTime.length === 0) return inputs.map(() => UNAVAILABLE)
  const since = Math.min(...inTime.map(({ receivedAt = now }) => receivedAt))
  const verdicts = await placeWithRetry(deps, inTime, { since, inDoubt: false })
  if (inTime.length === inputs.length) return verdicts
  const byInput = new Map(inTime.map((input, index) => [input, verdicts[index]!]))
  return inputs.map((input) => byInput.get(input) ?? UNAVAILABLE)
}

/**
 * Places a batch, and keeps a failure of one order from failing the others. A temporary failure (deadlock, lock time-out,
 * lost connection) is retried. After any other failure the batch is split until the order that causes it is alone. A batch
 * that waits for a lock is split by dealer and no further: all orders of a dealer need the same wallet.
 * A batch whose COMMIT was not answered runs again with the ids that it already has. The wallet's lock makes it wait until
 * the first attempt has ended, and an order found with its own id was placed by that attempt. An optimistic first attempt
 * may not have its lock yet: if it gets it later, it finds the wallet changed and writes nothing. The answer is 000001
 * (internal error, or unknown) if the database does not come back in time, or if an order fails for an unrelated reason.
 */
async function placeWithRetry(deps: PlacerDeps, inputs: OrderInput[], effort: Effort): Promise<Verdict[]> {
  const { since } = effort
  let { inDoubt } = effort
  for (let attempt = 1; ; attempt++) {
    try {
      const placedOptimistically = inDoubt ? undefined : await placeOptimistically(deps, inputs)
      const verdicts = placedOptimistically ?? (await placeBatch(deps, inputs, inDoubt))
      const placed = verdicts.filter((verdict) => verdict.kind === 'placed').length
      if (placed === 0) return verdicts
      await failpoint('orders.committed')
      deps.orderMetrics?.entered('PAID', placed)
      const tenantIds = [...new Set(inputs.map(({ tenant }) => tenant.tenantId))]
      deps.wake.wake('fulfilment', tenantIds)
      deps.wake.wake('webhooks', tenantIds)
      return verdicts
    } catch (failure) {
      deps.log.warn({ err: failure, orders: inputs.length }, 'a batch of orders failed')
      inDoubt ||= failure instanceof CommitUnknown
      const remedy = remedyFor(failure, inputs, { inDoubt, attempt, isLate: isTimeUp(deps, effort) })
      if (remedy === 'by dealer' || remedy === 'halve') return placeParts(deps, inputs, remedy, { since, inDoubt })
      if (remedy !== 'retry') return inputs.map(() => remedy)
      if (sqlState(failure) === NO_PARTITION) await deps.maintainPartitions().catch(() => {})
      if (isConnectionLoss(failure)) await delay(BETWEEN_ATTEMPTS_MS * Math.min(attempt, 10))
    }
  }
}

/** Decides how to proceed with a batch that failed. A verdict ends it for all its orders. */
function remedyFor(
  failure: unknown,
  inputs: readonly OrderInput[],
  { inDoubt, attempt, isLate }: { inDoubt: boolean; attempt: number; isLate: boolean },
): 'retry' | 'by dealer' | 'halve' | Verdict {
  const isContended = TEMPORARY.has(sqlState(failure) ?? '')
  const isTemporary = isContended || isConnectionLoss(failure) || isOutOfResources(failure)
  const lastVerdict = inDoubt || !isTemporary ? UNKNOWN : UNAVAILABLE
  if (isLate) return lastVerdict
  const isLocked = sqlState(failure) === LOCK_TIMEOUT
  // Waiting again for the locked wallet would use up the other dealers' time.
  if (isLocked && byDealer(inputs).length > 1) return 'by dealer'
  if (isTemporary && (inDoubt || attempt < ATTEMPTS_MAX)) return 'retry'
  // A smaller batch would not help with a full disk or a locked wallet.
  const mayBeOfOneOrder = !isTemporary || (isContended && !isLocked)
  return mayBeOfOneOrder && inputs.length > 1 ? 'halve' : lastVerdict
}

const NO_PARTITION = '23514'
const LOCK_TIMEOUT = '55P03'
/** Serialization failure, deadlock, lock time-out, statement time-out, or a partition that does not exist yet. */
const TEMPORARY: ReadonlySet<string> = new Set(['40001', '40P01', LOCK_TIMEOUT, '57014', NO_PARTITION])

function byDealer(inputs: readonly OrderInput[]): OrderInput[][] {
  return [...groupBy(inputs, ({ tenant }) => tenant.tenantId).values()]
}

/**
 * Places the parts of a split batch. Halves run one after the other, in the order of their requests. Dealers run in
 * parallel, so that none waits for another's lock, but they share one batch's connections: even while two batches are
 * split, other orders find a connection.
 */
async function placeParts(
  deps: PlacerDeps,
  inputs: OrderInput[],
  split: 'by dealer' | 'halve',
  effort: Effort,
): Promise<Verdict[]> {
  const middle = Math.ceil(inputs.length / 2)
  const parts = split === 'by dealer' ? byDealer(inputs) : [inputs.slice(0, middle), inputs.slice(middle)]
  const verdicts = new Map<OrderInput, Verdict>()
  const dealersAtOnce = Math.max(1, Math.floor(deps.db.pool.options.max / CONCURRENT_BATCHES))
  const placeNext = async () => {
    for (let part = parts.shift(); part; part = parts.shift()) {
      const own = isTimeUp(deps, effort)
        ? part.map(() => (effort.inDoubt ? UNKNOWN : UNAVAILABLE))
        : await placeWithRetry(deps, part, effort)
      for (const [index, input] of part.entries()) verdicts.set(input, own[index]!)
    }
  }
  await Promise.all(Array.from({ length: split === 'by dealer' ? dealersAtOnce : 1 }, placeNext))
  return inputs.map((input) => verdicts.get(input)!)
}
