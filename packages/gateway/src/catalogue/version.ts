import type { Db, Tx } from '../lib/db.ts'

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
           returning version, changed_at as "changedAt"`,
  })
  return row!
}

/** Keeps other changes out until the transaction ends. @returns the version that the change starts from */
export async function lockCatalogue(tx: Tx): Promise<bigint> {
  const [row] = await tx.query<{ version: bigint }>({ text: 'select version from catalogue_version for update' })
  return row!.version
}

/**
 * A change may stamp its rows at most this long before it commits: the change feed's `asOf` lags so much behind the
 * clock while nothing changes, so that no stamp ever lies before an `asOf` that was given out.
 */
export const LATE_COMMIT_MS = 60_000

/**
 * Runs one change of the catalogue in one transaction, alone. `work` compares under the lock and calls `stamp` for the
 * time that it writes; if it does not, nothing was to be done and there is no new version.
 */
export async function changeCatalogue<Result>(
  db: Db,
  work: (tx: Tx, stamp: () => Promise<Date>) => Promise<Result>,
): Promise<Result> {
  return db.tx(async (tx) => {
    await lockCatalogue(tx)
    let stamped: { changedAt: Date; monotonic_ms: number } | undefined
    const result = await work(tx, async () => {
      stamped ??= { monotonic_ms: performance.now(), changedAt: (await bumpCatalogue(tx)).changedAt }
      return stamped.changedAt
    })
    if (stamped && performance.now() - stamped.monotonic_ms > LATE_COMMIT_MS / 2) {
      throw new Error('The change took too long and was undone. Try again, or change less at a time.')
    }
    return result
  })
}
