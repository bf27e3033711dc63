import { randomUUID } from 'node:crypto'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { isFree } from '@dealer-esim/lib/leases.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { Supplier, SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { seeSupplier } from '#suppliers/state/see-supplier.ts'
import { type CostsFollowed, followCosts, NOTHING_FOLLOWED } from '../rules/follow-costs.ts'
import { type Doubt, findDoubts } from './check-catalogue.ts'
import { keepKnown, type ReadCatalogue, readCatalogue } from './read-catalogue.ts'
import { type ProductChanges, readProducts, saveProducts } from './save-products.ts'
import { alertAbout, alertOffSale, doubtsText, failureText } from './sync-alert.ts'
import { nextDue, SYNC_LEASE_MS } from './sync-state.ts'
import { type Unread, unreadOf, unreadText } from './unread.ts'

export interface SyncDeps {
  db: Db
  ids: Ids
  log: Pick<Log, 'warn' | 'info'>
}

/** A sync that this node is allowed to run. */
export interface SyncClaim {
  supplier: string
  leaseToken: string
  /** By the database's clock. */
  claimedAt: Date
}

export type SyncResult =
  | ({ outcome: 'DONE'; listed: number; followed: CostsFollowed } & ProductChanges & Unread)
  /** Nothing was changed: an operator may accept the answer read at `heldAt`. */
  | ({ outcome: 'HELD'; message: string; doubts: Doubt[]; heldAt: Date } & Unread)
  /** Nothing was changed. */
  | { outcome: 'FAILED'; message: string }
  /** Another node has taken over. */
  | { outcome: 'LOST' }

const RENEW_MS = SYNC_LEASE_MS / 4
const PROGRESS_EVERY = 250
/** Longer than reading the largest catalogue of a wholesaler with a rate limit takes. */
const READ_MAX_MS = 15 * 60_000
/** SQL: when a failed sync will be retried, unless catalogues are read only on demand. */
const RETRY_MINUTES = 'case when every_minutes is not null then 15 end'

/** Claims the longest-due sync of these suppliers. `anyTime`: even if none is due. */
export async function claimSync(
  db: Pick<Db, 'query'>,
  suppliers: readonly string[],
  anyTime = false,
): Promise<SyncClaim | undefined> {
  const leaseToken = randomUUID()
  const [row] = await db.query<Omit<SyncClaim, 'leaseToken'>>({
    text: `update supplier_syncs set lease_token = $2, lease_until = now() + $3 * interval '1 millisecond',
             started_at = now(), products_read = 0
           where supplier = (
             select supplier from supplier_syncs
             where supplier = any ($1) and (due_at <= now() or $4) and ${isFree('lease_until', SYNC_LEASE_MS)}
             order by due_at, supplier limit 1 for no key update skip locked)
           returning supplier, now() as claimed_at`,
    values: [suppliers, leaseToken, SYNC_LEASE_MS, anyTime],
  })
  return row && { ...row, leaseToken }
}

/** Returns a claim: the sync is due again immediately. */
export async function releaseSync(db: Pick<Db, 'query'>, { supplier, leaseToken }: SyncClaim): Promise<void> {
  await db.query(sql`
    update supplier_syncs set lease_token = null, lease_until = null, due_at = now()
    where supplier = ${supplier} and lease_token = ${leaseToken}`)
}

/**
 * Reads a catalogue and, if it is plausible, makes it the supplier's products. Renews the lease during this time. A node
 * that has lost the lease writes nothing. A broken or implausible catalogue changes nothing; operators are alerted.
 * @param onProgress the number of products read so far
 */
export async function runSync(
  deps: SyncDeps,
  claim: SyncClaim,
  supplier: Pick<Supplier, 'catalogue'>,
  onProgress: (products: number) => void = () => {},
): Promise<SyncResult> {
  let read = 0
  const renewing = setInterval(() => void renew(deps, claim, read), RENEW_MS)
  let answer: ReadCatalogue | Error
  try {
    answer = await withinTime(
      readCatalogue(supplier, (products) => {
        read = products
        if (products % PROGRESS_EVERY !== 0) return
        onProgress(products)
        void renew(deps, claim, products)
      }),
    ).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
  } finally {
    clearInterval(renewing)
  }
  const result = await deps.db.tx(async (tx) => {
    if (!(await isStillOurs(tx, claim))) return { outcome: 'LOST' } as const
    const failure = answer instanceof Error ? failureText(answer) : null
    await seeSupplier(tx, claim.supplier, { by: 'CATALOGUE', failure }, { beganAt: claim.claimedAt })
    return answer instanceof Error ? fail(tx, deps, claim, answer) : take(tx, deps, claim, answer)
  })
  if (result.outcome !== 'DONE') return result
  return { ...result, followed: await followChanges(deps) }
}

/**
 * Makes packages follow the changed products of all suppliers, and alerts operators to packages that went off sale. Locks
 * the jobs of these suppliers, then the catalogue. If it fails, a worker's next pass does it.
 */
export async function followChanges(deps: SyncDeps): Promise<CostsFollowed> {
  return deps.db.tx(async (tx) => {
    const changed = await tx.query<{ supplier: string }>(sql`
      select supplier from supplier_syncs where has_changes order by supplier for no key update skip locked`)
    if (changed.length === 0) return NOTHING_FOLLOWED
    const suppliers = changed.map(({ supplier }) => supplier)
    const followed = await followCosts(tx, deps)
    tx.send({ text: 'update supplier_syncs set has_changes = false where supplier = any ($1)', values: [suppliers] })
    if (followed.offSale.length + followed.doubtful.length > 0) alertOffSale(tx, deps.ids, suppliers, followed)
    return followed
  })
}

async function renew(deps: SyncDeps, { supplier, leaseToken }: SyncClaim, products: number): Promise<void> {
  await deps.db
    .query(sql`
      update supplier_syncs
      set products_read = ${products}, lease_until = now() + ${SYNC_LEASE_MS} * interval '1 millisecond'
      where supplier = ${supplier} and lease_token = ${leaseToken}`)
    .catch((error) => deps.log.warn({ err: error, supplier }, 'the lease of a catalogue could not be renewed'))
}

async function withinTime<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not read within ${READ_MAX_MS / 60_000} minutes`)), READ_MAX_MS)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Locks the job until the transaction is committed. */
async function isStillOurs(tx: Tx, { supplier, leaseToken }: SyncClaim): Promise<boolean> {
  const rows = await tx.query(sql`
    select from supplier_syncs where supplier = ${supplier} and lease_token = ${leaseToken} for no key update`)
  return rows.length > 0
}

async function take(tx: Tx, deps: SyncDeps, { supplier }: SyncClaim, answer: ReadCatalogue) {
  const known = await readProducts(tx, supplier)
  const listed = new Map([...known].filter(([, product]) => product.isListed))
  const kept = keepKnown(listed, answer)
  const unread = unreadOf(answer.unreadable, kept.length)
  saveUnread(tx, supplier, unread)
  const products = [...answer.products, ...kept.map(({ isListed: _, ...product }) => product)]
  const doubts = findDoubts(listed, answer.products, kept.length)
  if (doubts.length > 0) return hold(tx, deps, supplier, { products, unread, doubts })
  const changes = await saveProducts(tx, supplier, known, products)
  const isStale = kept.length * STALE_MAX.of > listed.size
  if (isStale) {
    const message = unreadText(unread)
    await alertAbout(tx, deps.ids, supplier, { outcome: 'DONE', message, kinds: ['UNREADABLE'] })
  }
  finishDone(tx, supplier, products.length, changes, isStale)
  return { outcome: 'DONE' as const, listed: products.length, ...changes, ...unread }
}

/** If more than a fifth of the products stay as they were because their entries are unreadable, operators are alerted. */
const STALE_MAX = { of: 5 }

function saveUnread(tx: Tx, supplier: string, { unreadable, kept, unreadableEntries }: Unread): void {
  tx.send({
    text: 'update supplier_syncs set unreadable = $2, kept = $3, unreadable_entries = $4 where supplier = $1',
    values: [supplier, unreadable, kept, JSON.stringify(unreadableEntries)],
  })
}

/**
 * Ends the job with an accepted catalogue. The caller holds the job's lock.
 * @param keepsAlert the alert about unreadable entries is still valid
 */
export function finishDone(
  tx: Tx,
  supplier: string,
  listed: number,
  { added, changed, removed }: ProductChanges,
  keepsAlert = false,
): void {
  tx.send({
    text: `update supplier_syncs set lease_token = null, lease_until = null, finished_at = now(), outcome = 'DONE',
             message = null, products_read = $2, listed = $2, accepted_at = now(), held = null, held_at = null,
             alerted_as = case when $4 then alerted_as end, has_changes = has_changes or $3, due_at = ${nextDue('every_minutes')}
           where supplier = $1`,
    values: [supplier, listed, added + changed + removed > 0, keepsAlert],
  })
}

async function hold(
  tx: Tx,
  deps: SyncDeps,
  supplier: string,
  { products, unread, doubts }: { products: readonly SupplierProduct[]; unread: Unread; doubts: Doubt[] },
): Promise<SyncResult> {
  const held = JSON.stringify(products, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
  const message = [doubtsText(doubts), unreadText(unread)].filter((text) => text !== '').join('; ')
  // In milliseconds, because an operator specifies this time to accept the answer.
  const [row] = await tx.query<{ heldAt: Date }>({
    text: `update supplier_syncs set lease_token = null, lease_until = null, finished_at = now(), outcome = 'HELD',
             message = $2, products_read = $3, held = $4, held_at = date_trunc('milliseconds', now()),
             due_at = ${nextDue('every_minutes')}
           where supplier = $1 returning held_at`,
    values: [supplier, message, products.length, held],
  })
  const { heldAt } = row!
  await alertAbout(tx, deps.ids, supplier, { outcome: 'HELD', message, kinds: doubts.map(({ kind }) => kind) })
  return { outcome: 'HELD', message, doubts, heldAt, ...unread }
}

async function fail(tx: Tx, deps: SyncDeps, { supplier }: SyncClaim, error: Error): Promise<SyncResult> {
  const message = failureText(error)
  tx.send({
    text: `update supplier_syncs set lease_token = null, lease_until = null, finished_at = now(), outcome = 'FAILED',
             message = $2, due_at = ${nextDue(RETRY_MINUTES)}
           where supplier = $1`,
    values: [supplier, message],
  })
  await alertAbout(tx, deps.ids, supplier, { outcome: 'FAILED', message, kinds: ['FAILED'] })
  return { outcome: 'FAILED', message }
}
