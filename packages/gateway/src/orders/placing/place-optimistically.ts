import { violatedKey } from '@dealer-esim/lib/postgres/errors.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { type BatchDecision, decideBatch, type Verdict } from './decide-order.ts'
import { dayOf } from './exceeded-limit.ts'
import type { OrderInput } from './order-input.ts'
import { type PlacementDeps, reenter } from './place-batch.ts'
import { type AssumedEsims, assumeEsims, expectedEsims } from './topped-up-esims.ts'
import { type Assumptions, writeIfUnchanged } from './write-orders.ts'

/*
 * An optimisation: without this file, place-batch.ts would place every order. With it, a single order takes 0.62 of the
 * time, and a batch on one wallet 0.85 to 0.97 (docs/decisions/0003-wallet-cache.md).
 */

/**
 * Places orders on wallets that this node has cached, in one round trip: they are decided on the cached wallets and
 * catalogue, and written only if both are unchanged when the wallets are locked and no order exists yet. The eSIMs of top-ups
 * are not read: they are assumed to fit, and the writing statement checks that (topped-up-esims.ts). This handles the plain
 * case only. placeBatch, which reads first, handles refusals, replays, low-balance alerts, orders that are handed over or have
 * a test time, unsigned orders, because they are audited, and those of restricted keys, whose limits are read under the lock.
 *
 * Locks: the wallets' rows, in ascending tenant order.
 * @returns undefined if nothing was placed and placeBatch has to decide
 */
export async function placeOptimistically(deps: PlacementDeps, inputs: OrderInput[]): Promise<Verdict[] | undefined> {
  if (
    inputs.some(
      ({ sent, key, handOver, tenant }) =>
        sent?.unsignedFrom !== undefined || key !== undefined || handOver !== undefined || tenant.testOffsetMs,
    )
  )
    return undefined
  const tenantIds = [...new Set(inputs.map(({ tenant }) => tenant.tenantId))].sort()
  const wallets = deps.walletCache.take(tenantIds)
  if (!wallets) return undefined
  const catalogue = await deps.catalogue.current(0n)
  const offered = { catalogue, available: deps.stock.available, suppliers: deps.suppliers }
  const topUps = inputs.filter((input) => input.orderType === 'TOPUP')
  const assumedEsims = topUps.length > 0 ? assumeEsims(topUps, offered) : NO_ESIMS
  if (!assumedEsims) return undefined
  const now = new Date(deps.databaseClock.now())
  const batch = decideBatch(wallets, inputs, {
    ...offered,
    ...{ now, existing: new Map(), esims: assumedEsims.byInput },
  })
  if (!isPlain(batch)) return undefined
  const rowHashes = wallets.map((wallet) => wallet.rowHash)
  const esims = topUps.length > 0 ? expectedEsims(batch.placed, assumedEsims, catalogue) : []
  const assumed = { rowHashes, catalogueVersion: catalogue.version, today: dayOf(now), esims }
  const written = await tryToWrite(deps, inputs, batch, assumed)
  switch (written) {
    case 'exists':
      return undefined
    case 'changed':
      // In a batch with top-ups, the likely reason is an eSIM that is not as expected: only their dealers' wallets are outdated.
      deps.walletCache.markOutdated(esims.length > 0 ? esims.map(({ tenantId }) => tenantId) : tenantIds)
      return undefined
    default: {
      deps.walletCache.put(written)
      return inputs.map((input) => batch.verdicts.get(input)!)
    }
  }
}

const NO_ESIMS: AssumedEsims = { byInput: new Map(), fitting: new Map() }

/** True if every order was placed or repeats another order of the batch, and no low-balance percentage changed. */
function isPlain({ verdicts, lowBalanceChanges }: BatchDecision): boolean {
  return lowBalanceChanges.length === 0 && [...verdicts.values()].every(({ kind }) => kind !== 'refused')
}

/** The constraint that permits only one order per transactionId. */
const TRANSACTION_IDS = 'orders_tenant_id_transaction_id_key'

/** @returns 'exists' if one of the transactionIds already has an order; 'changed' if an assumption did not hold */
async function tryToWrite(deps: PlacementDeps, inputs: OrderInput[], batch: BatchDecision, assumed: Assumptions) {
  try {
    const { writing } = await deps.db.tx(async (tx) => {
      const writing = writeIfUnchanged(tx, deps.ids, batch, assumed)
      writing.catch(() => {}) // if it fails, so does the transaction
      reenter(tx, deps, inputs)
      await failpoint('orders.before-commit')
      return { writing }
    })
    return (await writing) ?? 'changed'
  } catch (failure) {
    const key = violatedKey(failure)
    if (key?.constraint !== TRANSACTION_IDS) throw failure
    // For a while, this dealer's wallet is read first: a dealer that keeps repeating orders would make every write fail.
    deps.walletCache.markOutdated(batch.wallets.map(({ tenantId }) => tenantId).filter((id) => key.detail.includes(id)))
    return 'exists'
  }
}
