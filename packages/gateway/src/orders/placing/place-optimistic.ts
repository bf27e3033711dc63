import { formatTime } from '@dealer-esim/contract'
import type { DatabaseClock } from '../../lib/clock.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { violatedKey } from '../../lib/postgres/errors.ts'
import { failpoint } from '../../lib/process/failpoint.ts'
import type { WalletCache } from '../../wallet/ledger/cache.ts'
import { type BatchDecision, dayOf, decideBatch, type OrderInput, type Verdict } from './decide.ts'
import { admittedOf, type BatchVerdict, NOT_ADMITTED, type PlaceDeps } from './place-locked.ts'
import { type Assumptions, writeIfUnchanged } from './write.ts'

export interface OptimisticDeps extends PlaceDeps {
  db: Db
  databaseClock: Pick<DatabaseClock, 'now'>
  walletCache: WalletCache
}

/**
 * Places orders on wallets that this node has cached, in one round trip: they are decided on the cached wallets and
 * catalogue, and written only if both are unchanged when the wallets are locked and no order exists yet. It handles the
 * plain case only: refusals, replays and low-balance alerts are left to placeLocked, which reads first.
 *
 * Locks: the wallets' rows, in ascending tenant order.
 * @returns undefined where nothing was placed and placeLocked has to decide
 */
export async function placeOptimistically(
  deps: OptimisticDeps,
  inputs: OrderInput[],
): Promise<BatchVerdict[] | undefined> {
  const tenantIds = [...new Set(inputs.map(({ tenant }) => tenant.tenantId))].sort()
  const wallets = deps.walletCache.take(tenantIds)
  if (!wallets) return undefined
  const catalogue = await deps.catalogue.current(0n)
  const now = new Date(deps.databaseClock.now())
  const batch = decideBatch(wallets, inputs, { now, catalogue, existing: new Map(), available: deps.stock.available })
  if (!isPlain(batch)) return undefined
  const rowHashes = wallets.map((wallet) => wallet.rowHash)
  const assumed = { rowHashes, catalogueVersion: catalogue.version, today: dayOf(now) }
  const written = await write(deps, inputs, batch, assumed)
  switch (written) {
    case 'exists':
      return undefined
    case 'not-admitted':
      return inputs.length === 1 ? [NOT_ADMITTED] : undefined
    case 'changed':
      deps.walletCache.markOutdated(tenantIds)
      return undefined
    default: {
      deps.walletCache.put(written.wallets)
      const createTime = formatTime(written.now)
      return inputs.map((input) => withCreateTime(batch.verdicts.get(input)!, createTime))
    }
  }
}

/** Whether every order was placed or repeats another one of the batch, and no low-balance alert is due. */
function isPlain({ verdicts, falls }: BatchDecision): boolean {
  return falls.length === 0 && [...verdicts.values()].every(({ kind }) => kind !== 'refused')
}

class NotAdmitted extends Error {}

/** The constraint that makes a transactionId the name of one order. */
const TRANSACTION_IDS = 'orders_tenant_id_transaction_id_key'

/** @returns 'exists' where one of the transactionIds has an order; 'changed' where an assumption did not hold */
async function write(deps: OptimisticDeps, inputs: OrderInput[], batch: BatchDecision, assumed: Assumptions) {
  try {
    const { writing } = await deps.db.tx(async (tx) => {
      const writing = writeIfUnchanged(tx, deps.ids, batch, assumed)
      writing.catch(() => {}) // the transaction fails with it
      const admitted = await admittedOf(inputs)
      if (admitted.length < inputs.length) throw new NotAdmitted()
      await failpoint('orders.before-commit')
      return { writing }
    })
    return (await writing) ?? 'changed'
  } catch (failure) {
    if (failure instanceof NotAdmitted) return 'not-admitted'
    const key = violatedKey(failure)
    if (key?.constraint !== TRANSACTION_IDS) throw failure
    // A dealer that repeats orders again and again is read first for a while, instead of writing in vain each time.
    deps.walletCache.markOutdated(batch.wallets.map(({ tenantId }) => tenantId).filter((id) => key.detail.includes(id)))
    return 'exists'
  }
}

/** The time of the database under the lock replaces the assumed one. */
function withCreateTime(verdict: Verdict, createTime: string): Verdict {
  return verdict.kind === 'refused' ? verdict : { ...verdict, answer: { ...verdict.answer, createTime } }
}
