import type { Ids } from '@dealer-esim/lib/ids.ts'
import { isAhead, isFree, type TimesAhead } from '@dealer-esim/lib/leases.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'

/** The lease is renewed continually. If a node dies, another node may sync after this time. */
export const SYNC_LEASE_MS = 120_000
/** Wholesalers change their prices daily. */
export const EVERY_MINUTES_DEFAULT = 360
export const EVERY_MINUTES_MIN = 15
/** 30 days. */
export const EVERY_MINUTES_MAX = 43_200

/** Syncs due later than their interval allows. Only a fast clock can have written such a time. */
export const SYNCS_AHEAD: TimesAhead = {
  table: 'supplier_syncs',
  key: ['supplier'],
  isAhead: `due_at < 'infinity' and ${isAhead('due_at', `coalesce(every_minutes, ${EVERY_MINUTES_MAX}) * 60000`)}`,
  repair: 'due_at = now()',
}

export type SyncOutcome = 'DONE' | 'HELD' | 'FAILED'

/** The state of a supplier's catalogue, and of the job that reads it. */
export interface SyncState {
  supplier: string
  /** null: only on demand. */
  everyMinutes: number | null
  /** When the next sync begins automatically; null: only on demand. */
  dueAt: Date | null
  isRunning: boolean
  startedAt: Date | null
  /** Read by the running sync, or by the latest one. */
  productsRead: number
  finishedAt: Date | null
  outcome: SyncOutcome | null
  /** Why the latest one was held or failed, and the remedy. */
  message: string | null
  /** The number of products in the latest accepted catalogue, and when it was accepted. */
  listed: number
  acceptedAt: Date | null
  /** When the catalogue waiting to be accepted was read; null: no catalogue is waiting. */
  heldAt: Date | null
  /** The unreadable entries of the latest answer, the number of products left unchanged, and the first entries by name. */
  unreadable: number
  kept: number
  unreadableEntries: { entry: string; reason: string }[]
}

const STATE = `
  select supplier, every_minutes, nullif(due_at, 'infinity') as due_at, not ${isFree('lease_until', SYNC_LEASE_MS)} as is_running,
    started_at, products_read, finished_at, outcome, message, listed, accepted_at, held_at,
    unreadable, kept, unreadable_entries
  from supplier_syncs`

export function listSyncs(db: Pick<Db, 'query'>): Promise<SyncState[]> {
  return db.query<SyncState>({ text: `${STATE} order by supplier` })
}

/** @throws Refusal if the supplier has no catalogue that the gateway reads */
export async function getSync(db: Pick<Db, 'query'>, supplier: string): Promise<SyncState> {
  const [row] = await db.query<SyncState>({ text: `${STATE} where supplier = $1`, values: [supplier] })
  if (row === undefined) throw notFound('catalogue of a supplier', supplier)
  return row
}

export interface RequestDeps {
  db: Db
  ids: Ids
  suppliers: Pick<Suppliers, 'get'>
  wake: Pick<Wakeups<'settings'>, 'wake'>
}

/** @throws Refusal if the supplier does not exist, cannot be used, or has no catalogue */
export function requireCatalogue(suppliers: Pick<Suppliers, 'get'>, supplier: string): void {
  const known = suppliers.get(supplier)
  if (known === undefined) throw notFound('usable supplier', supplier)
  if (known.supplier.catalogue === undefined) {
    const message = `Suppliers of type ${known.supplier.type} have no catalogue to read. Enter the product codes of ${supplier} in each package.`
    throw new Refusal(422, 'NO_CATALOGUE', message)
  }
}

/** Makes a sync due now. Has no effect while a sync is running. @throws Refusal */
export async function requestSync(deps: RequestDeps, supplier: string, by: By): Promise<void> {
  requireCatalogue(deps.suppliers, supplier)
  await deps.db.tx(async (tx) => {
    await ensureSync(tx, supplier)
    tx.send({
      text: `update supplier_syncs set due_at = now()
             where supplier = $1 and due_at > now() and ${isFree('lease_until', SYNC_LEASE_MS)}`,
      values: [supplier],
    })
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'supplier.sync', subject: supplier })
  })
  deps.wake.wake('settings')
}

/** Sets how often a catalogue is read; null: only on demand. @throws Refusal */
export async function setSyncInterval(
  deps: RequestDeps,
  supplier: string,
  everyMinutes: number | null,
  by: By,
): Promise<void> {
  requireCatalogue(deps.suppliers, supplier)
  if (
    everyMinutes !== null &&
    (!Number.isInteger(everyMinutes) || everyMinutes < EVERY_MINUTES_MIN || everyMinutes > EVERY_MINUTES_MAX)
  ) {
    throw new Refusal(422, 'INVALID', 'The interval must be from 15 minutes to 30 days, or never.')
  }
  await deps.db.tx(async (tx) => {
    await ensureSync(tx, supplier)
    const [before] = await tx.query<{ everyMinutes: number | null }>(sql`
      select every_minutes from supplier_syncs where supplier = ${supplier} for no key update`)
    if (before!.everyMinutes === everyMinutes) return
    tx.send({
      text: `update supplier_syncs set every_minutes = $2, due_at = ${nextDue('$2::integer')} where supplier = $1`,
      values: [supplier, everyMinutes],
    })
    const sides = { before: { everyMinutes: before!.everyMinutes }, after: { everyMinutes } }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'supplier.set_sync', subject: supplier, ...sides })
  })
  deps.wake.wake('settings')
}

/** SQL: when the next sync is due. */
export function nextDue(everyMinutes: string): string {
  return `coalesce(now() + ${everyMinutes} * interval '1 minute', 'infinity')`
}

/** Adds a supplier's job, due immediately. Does nothing if the job exists. */
export async function ensureSync(tx: Pick<Tx, 'query'>, supplier: string): Promise<void> {
  await tx.query({
    text: `insert into supplier_syncs (supplier, every_minutes, due_at)
           select $1, $2, now() where exists (select from suppliers where supplier = $1) on conflict do nothing`,
    values: [supplier, EVERY_MINUTES_DEFAULT],
  })
}
