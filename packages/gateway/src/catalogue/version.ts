import type { Tx } from '../lib/db.ts'

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
