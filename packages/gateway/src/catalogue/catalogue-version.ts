import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'

export interface CatalogueVersion {
  readonly version: bigint
  /** The time in every row of this version; strictly increasing, in whole milliseconds. */
  readonly changedAt: Date
}

/**
 * Creates a new version of the catalogue. Every change calls this in its transaction before writing: the row lock on
 * catalogue_version serialises changes, so all rows of a version become visible together.
 */
export async function bumpCatalogue(tx: Tx): Promise<CatalogueVersion> {
  const [row] = await tx.query<CatalogueVersion>(sql`
    update catalogue_version
    set version = version + 1,
        changed_at = greatest(date_trunc('milliseconds', clock_timestamp()),
                              date_trunc('milliseconds', changed_at) + interval '1 millisecond')
    returning version, changed_at`)
  return row!
}

/**
 * A change must commit within this time after the timestamp in its rows. While nothing changes, the change feed's `asOf`
 * lags behind the clock by the same amount, so no timestamp is earlier than an `asOf` that a poller has received.
 */
export const COMMIT_WITHIN_MS = 120_000

/** A change in progress. It holds the catalogue's lock, and gets a version once it has something to write. */
export interface CatalogueChange {
  /** The version before the change. */
  readonly baseVersion: bigint
  /** The first call creates the new version. @returns the timestamp for every row that is written */
  stamp(): Promise<Date>
  /** @throws Error if the change has taken so long that pollers might miss it */
  checkTime(): void
}

/**
 * The change of each transaction: functions that join a transaction share its version, and the time limit starts with its
 * first stamp.
 */
const begun = new WeakMap<Tx, CatalogueChange>()

/** Blocks other changes until the transaction ends. */
export async function beginChange(tx: Tx): Promise<CatalogueChange> {
  const change = begun.get(tx) ?? (await lockCatalogue(tx))
  begun.set(tx, change)
  return change
}

async function lockCatalogue(tx: Tx): Promise<CatalogueChange> {
  const [row] = await tx.query<{ version: bigint }>({ text: 'select version from catalogue_version for update' })
  let stamped: { changedAt: Date; monotonicMs: number } | undefined
  return {
    baseVersion: row!.version,
    async stamp() {
      stamped ??= { monotonicMs: performance.now(), changedAt: (await bumpCatalogue(tx)).changedAt }
      return stamped.changedAt
    },
    checkTime() {
      // The remaining time is for the commit.
      if (stamped && performance.now() - stamped.monotonicMs > COMMIT_WITHIN_MS * 0.75) {
        throw new Error('The change took too long and was rolled back. Try again, or make a smaller change.')
      }
    },
  }
}

/** Runs one catalogue change exclusively, in one transaction. Creates a new version only if the change calls `stamp`. */
export async function changeCatalogue<Result>(
  db: Db,
  work: (tx: Tx, stamp: () => Promise<Date>) => Promise<Result>,
): Promise<Result> {
  return db.tx(async (tx) => {
    const change = await beginChange(tx)
    const result = await work(tx, change.stamp)
    change.checkTime()
    return result
  })
}
