import type { Db } from '../lib/postgres/db.ts'
import { notFound, requireUuid } from '../lib/refusal.ts'
import { loadChanges } from './snapshot/load.ts'
import type { Buyer } from './snapshot/snapshot.ts'
import { LoadedSnapshot, type Snapshot, type SnapshotContext } from './snapshot/snapshot.ts'

export type { CataloguePackage, Route } from './snapshot/package.ts'
export type { Buyer, Offer, QuotedPackage, Snapshot } from './snapshot/snapshot.ts'
export { bumpCatalogue } from './version.ts'

/** The catalogue in memory, as immutable snapshots of one version each. */
export interface Catalogue {
  /** A snapshot of this version or a later one. Loads the changes if the current one is older. */
  current(version: bigint): Promise<Snapshot>
  /** The newest snapshot, after querying the database for its version. */
  latest(): Promise<Snapshot>
}

export function createCatalogue(deps: { db: Db } & SnapshotContext): Catalogue {
  let snapshot = LoadedSnapshot.empty(deps)
  let loading: Promise<void> | undefined

  async function load(): Promise<void> {
    try {
      snapshot = snapshot.with(await loadChanges(deps.db, snapshot.changedAt, snapshot.coverages))
    } finally {
      loading = undefined
    }
  }

  async function current(version: bigint): Promise<Snapshot> {
    // A load in progress may have begun before that version was made, so a second one may be needed.
    for (let loads = 0; snapshot.version < version; loads++) {
      if (loads === LOADS_MAX) throw new Error(`the database has no version ${version} of the catalogue`)
      loading ??= load()
      await loading
    }
    return snapshot
  }

  return {
    current,
    async latest() {
      const [row] = await deps.db.query<{ version: bigint }>({
        name: 'catalogue_version',
        text: 'select version from catalogue_version',
      })
      return current(row!.version)
    },
  }
}

/** The load in progress and one begun after the version was requested. */
const LOADS_MAX = 2

/** @throws Refusal if the tenant does not exist */
export async function getBuyer(db: Db, typedId: string): Promise<Buyer> {
  const tenantId = requireUuid(typedId, 'tenant')
  const [row] = await db.query<{ currencyCode: string }>({
    text: 'select currency_code from tenants where tenant_id = $1',
    values: [tenantId],
  })
  if (!row) throw notFound('tenant', tenantId)
  return { tenantId, currencyCode: row.currencyCode }
}
