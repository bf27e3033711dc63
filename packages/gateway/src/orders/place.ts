import type { Catalogue, Offer } from '../catalogue/catalogue.ts'
import type { Ids } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { failpoint } from '../lib/process/failpoint.ts'
import type { CachedWallet } from '../wallet/cache.ts'
import { lockWallets } from '../wallet/lock.ts'
import { tellLowBalance } from '../wallet/low-balance-notice.ts'
import { readOrderContext } from './context.ts'
import type { OrderInput, Verdict } from './decide.ts'
import { judgeOrders } from './judge.ts'
import { writePlaced } from './write.ts'

export interface PlaceDeps {
  ids: Ids
  catalogue: Catalogue
  stock: { available(offer: Offer): number | undefined }
}

/** A verdict, or that the request was not admitted in time: then nothing was decided. */
export type DeskVerdict = Verdict | { kind: 'not-admitted' }

export const NOT_ADMITTED: DeskVerdict = { kind: 'not-admitted' }

export interface Placement {
  /** Each in the place of its wish. */
  verdicts: DeskVerdict[]
  /** Those that were debited, as they are now; known with the commit. */
  wallets: Promise<CachedWallet[]>
}

/**
 * Places the orders of several wallets in one transaction; every order gets its own verdict, in its own place. Order,
 * debit, items, entries and event commit together or not at all.
 *
 * Locks: the wallets' rows, in ascending tenant order; nothing else of an order exists before its commit. What is read
 * is read after the locks and by a statement of its own: the snapshot of a statement is older than the lock that it
 * waits for, and would not see the orders of the transaction that it waited for.
 *
 * Two round trips hold the locks, whatever the number of orders: locks and reads, then the writing statement and COMMIT.
 * Between them it learns which requests were admitted, and decides nothing about the others. Where the node remembers the
 * wallets, placeRemembered does with one.
 */
export async function placeOrders(tx: Tx, deps: PlaceDeps, wishes: OrderInput[]): Promise<Placement> {
  const tenantIds = [...new Set(wishes.map(({ tenant }) => tenant.tenantId))]
  const [wallets, around] = await Promise.all([lockWallets(tx, tenantIds), readOrderContext(tx, wishes)])
  const { now, catalogueVersion, existing } = around
  const catalogue = await deps.catalogue.current(catalogueVersion)
  await failpoint('orders.locked')
  const admitted = await admittedOf(wishes)
  const judged = judgeOrders(wallets, admitted, { now, catalogue, existing, available: deps.stock.available })
  for (const fall of judged.falls) tellLowBalance(tx, deps.ids, fall)
  const written = writePlaced(tx, deps.ids, judged)
  written.catch(() => {}) // its failure is the transaction's
  if (judged.placed.length > 0) await failpoint('orders.before-commit')
  return { verdicts: wishes.map((wish) => judged.verdicts.get(wish) ?? NOT_ADMITTED), wallets: written }
}

/** Waits for what is still being admitted. */
export async function admittedOf(wishes: OrderInput[]): Promise<OrderInput[]> {
  if (wishes.every(({ isAdmitted }) => isAdmitted === undefined)) return wishes
  const admitted = await Promise.all(wishes.map(({ isAdmitted = true }) => isAdmitted))
  return wishes.filter((_, position) => admitted[position])
}
