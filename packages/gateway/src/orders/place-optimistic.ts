import { formatTime } from '@dealer-esim/contract'
import type { DatabaseClock } from '../lib/clock.ts'
import type { Db } from '../lib/postgres/db.ts'
import { violatedKey } from '../lib/postgres/errors.ts'
import { failpoint } from '../lib/process/failpoint.ts'
import type { WalletCache } from '../wallet/cache.ts'
import { dayOf, type OrderInput, type Verdict } from './decide.ts'
import { type Judged, judgeOrders } from './judge.ts'
import { admittedOf, type DeskVerdict, NOT_ADMITTED, type PlaceDeps } from './place.ts'
import { type Assumptions, writeIfUnchanged } from './write.ts'

export interface RememberedDeps extends PlaceDeps {
  db: Db
  databaseClock: Pick<DatabaseClock, 'now'>
  memory: WalletCache
}

/**
 * Places orders on wallets that this node remembers, in one round trip: they are judged on the memory of wallets and
 * catalogue, and written only if both are still the same when the wallets are locked and no order is there yet. It is for
 * the plain case: whatever else there is to say, a refusal or a replay, is said by who has looked (placeOrders).
 *
 * Locks: the wallets' rows, in ascending tenant order.
 * @returns undefined where nothing was placed, and has to be looked at
 */
export async function placeOptimistically(
  deps: RememberedDeps,
  wishes: OrderInput[],
): Promise<DeskVerdict[] | undefined> {
  const tenantIds = [...new Set(wishes.map(({ tenant }) => tenant.tenantId))].sort()
  const wallets = deps.memory.take(tenantIds)
  if (!wallets) return undefined
  const rowHashes = wallets.map((wallet) => wallet.rowHash)
  const catalogue = await deps.catalogue.current(0n)
  const now = new Date(deps.databaseClock.now())
  const judged = judgeOrders(wallets, wishes, { now, catalogue, existing: new Map(), available: deps.stock.available })
  if (!isPlain(judged)) return undefined
  const assumed = { rowHashes, catalogueVersion: catalogue.version, today: dayOf(now) }
  const written = await write(deps, wishes, judged, assumed)
  if (written === 'repeats') return undefined
  if (written === 'not admitted') return wishes.length === 1 ? [NOT_ADMITTED] : undefined
  if (written === undefined) {
    deps.memory.wasOutdated(tenantIds)
    return undefined
  }
  deps.memory.keep(written.wallets)
  const createTime = formatTime(written.now)
  return wishes.map((wish) => dated(judged.verdicts.get(wish)!, createTime))
}

/** Everything was placed, or repeats another one of these, and nobody has to be told of a low balance. */
function isPlain({ verdicts, falls }: Judged): boolean {
  return falls.length === 0 && [...verdicts.values()].every(({ kind }) => kind !== 'refused')
}

class NotAdmitted extends Error {}

/** What makes a transactionId the name of one order. */
const TRANSACTION_IDS = 'orders_tenant_id_transaction_id_key'

/** @returns 'repeats' where one of the transactionIds has an order */
async function write(deps: RememberedDeps, wishes: OrderInput[], judged: Judged, assumed: Assumptions) {
  try {
    const { writing } = await deps.db.tx(async (tx) => {
      const writing = writeIfUnchanged(tx, deps.ids, judged, assumed)
      writing.catch(() => {}) // its failure is the transaction's
      const admitted = await admittedOf(wishes)
      if (admitted.length < wishes.length) throw new NotAdmitted()
      await failpoint('orders.before-commit')
      return { writing }
    })
    return await writing
  } catch (failure) {
    if (failure instanceof NotAdmitted) return 'not admitted'
    const key = violatedKey(failure)
    if (key?.constraint !== TRANSACTION_IDS) throw failure
    // Where one dealer repeats again and again, its batches are read for a while, and not written in vain each time.
    deps.memory.wasOutdated(judged.touched.map(({ tenantId }) => tenantId).filter((id) => key.detail.includes(id)))
    return 'repeats'
  }
}

function dated(verdict: Verdict, createTime: string): Verdict {
  if (verdict.kind !== 'refused') verdict.answer.createTime = createTime
  return verdict
}
