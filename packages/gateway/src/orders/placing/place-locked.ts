import type { Catalogue, Offer } from '../../catalogue/catalogue.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { failpoint } from '../../lib/process/failpoint.ts'
import type { CachedWallet } from '../../wallet/cache.ts'
import { lockWallets } from '../../wallet/lock.ts'
import { tellLowBalance } from '../../wallet/low-balance-notice.ts'
import { readOrderContext } from './context.ts'
import { decideBatch, type OrderInput, type Verdict } from './decide.ts'
import { writePlaced } from './write.ts'

export interface PlaceDeps {
  ids: Ids
  catalogue: Catalogue
  stock: { available(offer: Offer): number | undefined }
}

/** 'not-admitted': the request was not admitted in time, so nothing was decided about its order. */
export type BatchVerdict = Verdict | { kind: 'not-admitted' }

export const NOT_ADMITTED: BatchVerdict = { kind: 'not-admitted' }

export interface Placement {
  /** In the order of the inputs. */
  verdicts: BatchVerdict[]
  /** The debited wallets, as the batch leaves them. Known when the transaction has committed. */
  wallets: Promise<CachedWallet[]>
}

/**
 * Places the orders of several wallets in one transaction: locks the wallets, reads, decides and writes. Order, debit,
 * items, entries and event commit together or not at all.
 *
 * Locks: the wallets' rows, in ascending tenant order. All other rows are new. The context is read after the locks, by a
 * statement of its own: the snapshot of a statement is older than the lock that it waits for, and would not show the
 * orders of the transaction that it waited for.
 *
 * The locks are held for two round trips, whatever the number of orders: locks and reads, then the writing statement and
 * COMMIT. Orders whose requests are not admitted in between are left out.
 */
export async function placeLocked(tx: Tx, deps: PlaceDeps, inputs: OrderInput[]): Promise<Placement> {
  const tenantIds = [...new Set(inputs.map(({ tenant }) => tenant.tenantId))]
  const [wallets, context] = await Promise.all([lockWallets(tx, tenantIds), readOrderContext(tx, inputs)])
  const { now, catalogueVersion, existing } = context
  const catalogue = await deps.catalogue.current(catalogueVersion)
  await failpoint('orders.locked')
  const admitted = await admittedOf(inputs)
  const batch = decideBatch(wallets, admitted, { now, catalogue, existing, available: deps.stock.available })
  for (const fall of batch.falls) tellLowBalance(tx, deps.ids, fall)
  const written = writePlaced(tx, deps.ids, batch)
  written.catch(() => {}) // the transaction fails with it
  if (batch.placed.length > 0) await failpoint('orders.before-commit')
  return { verdicts: inputs.map((input) => batch.verdicts.get(input) ?? NOT_ADMITTED), wallets: written }
}

/** Waits for the requests that are still being admitted, and leaves out those that were not. */
export async function admittedOf(inputs: OrderInput[]): Promise<OrderInput[]> {
  if (inputs.every(({ isAdmitted }) => isAdmitted === undefined)) return inputs
  const admitted = await Promise.all(inputs.map(({ isAdmitted = true }) => isAdmitted))
  return inputs.filter((_, index) => admitted[index])
}
