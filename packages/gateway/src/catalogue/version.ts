import type { Db, Tx } from '../lib/postgres/db.ts'

export interface CatalogueVersion {
  readonly version: bigint
  /** The time that every row of this version carries; strictly increasing, in whole milliseconds. */
  readonly changedAt: Date
}

/**
 * Makes a new version of the catalogue. Called by every change, in its transaction, before it writes: the row lock on
 * catalogue_version makes changes one after the other, so what a version writes is seen with it or not at all.
 */
export async function bumpCatalogue(tx: Tx): Promise<CatalogueVersion> {
  const [row] = await tx.query<CatalogueVersion>({
    text: `update catalogue_version
           set version = version + 1,
               changed_at = greatest(date_trunc('milliseconds', clock_timestamp()),
                                     date_trunc('milliseconds', changed_at) + interval '1 millisecond')
           returning version, changed_at`,
  })
  return row!
}

/**
 * A change may stamp its rows at most this long before it commits: the change feed's `asOf` lags so much behind the
 * clock while nothing changes, so that no stamp ever lies before an `asOf` that was given out.
 */
export const COMMIT_WITHIN_MS = 120_000

/** A change under way: alone in the catalogue, and stamped once it knows that there is something to write. */
export interface CatalogueChange {
  /** The version that it starts from. */
  readonly baseVersion: bigint
  /** Makes the new version, at the first call. @returns the time that every row written carries */
  stamp(): Promise<Date>
  /** @throws Error when the change has taken so long that pollers might miss it */
  checkTime(): void
}

/** Keeps other changes out until the transaction ends. */
export async function beginChange(tx: Tx): Promise<CatalogueChange> {
  const [row] = await tx.query<{ version: bigint }>({ text: 'select version from catalogue_version for update' })
  let stamped: { changedAt: Date; monotonicMs: number } | undefined
  return {
    baseVersion: row!.version,
    async stamp() {
      stamped ??= { monotonicMs: performance.now(), changedAt: (await bumpCatalogue(tx)).changedAt }
      return stamped.changedAt
    },
    checkTime() {
      // The rest is left for the commit itself.
      if (stamped && performance.now() - stamped.monotonicMs > COMMIT_WITHIN_MS * 0.75) {
        throw new Error('The change took too long and was undone. Try again, or change less at a time.')
      }
    },
  }
}

/** Runs one change of the catalogue in one transaction, alone. Without a call of `stamp` there is no new version. */
export async function changeCatalogue<Result>(
  db: Db,
  work: (tx: Tx, stamp: () => Promise<Date>) => Promise<Result>,
): Promise<Result> {
  return db.tx(async (tx) => {
    const stamping = await beginChange(tx)
    const result = await work(tx, stamping.stamp)
    stamping.checkTime()
    return result
  })
}
