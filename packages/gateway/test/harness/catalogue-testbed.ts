import { randomBytes } from 'node:crypto'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { type Catalogue, createCatalogue } from '#catalogue/catalogue.ts'
import { type ChangeDeps, putPackages } from '#catalogue/packages/put-packages.ts'
import type { By } from '#platform/audit/audit.ts'
import { createTestDatabase } from './databases/database.ts'

/** A catalogue on a separate database, with functions for its tests. */
export interface CatalogueTestbed {
  readonly db: Db
  readonly deps: ChangeDeps
  readonly by: By
  /** A catalogue in which nothing has been loaded. */
  freshCatalogue(): Catalogue
  addTenant(currencyCode: string): Promise<{ tenantId: string; currencyCode: string }>
  put(...packages: Record<string, unknown>[]): Promise<unknown>
  close(): Promise<void>
}

export async function createCatalogueTestbed(): Promise<CatalogueTestbed> {
  const database = await createTestDatabase()
  const db = createDb({ url: database.url, poolSize: 4, applicationName: 'test' })
  const linkKey = randomBytes(32)
  const deps = { db, ids: systemIds }
  const by: By = { actor: 'cli:tester' }
  return {
    db,
    deps,
    by,
    freshCatalogue: () => createCatalogue({ db, linkKey, databaseClock: { now: () => Date.now() } }),
    async addTenant(currencyCode) {
      const tenantId = systemIds.uuid()
      await db.query({
        text: 'insert into tenants (tenant_id, app_key, tenant_name, currency_code) values ($1, $2, $2, $3)',
        values: [tenantId, `key_${tenantId}`, currencyCode],
      })
      return { tenantId, currencyCode }
    },
    put: (...packages) => putPackages(deps, packages.map(packageInput), by),
    async close() {
      await db.close()
      await database.drop()
    },
  }
}

/** A package in Japan with these members changed. */
export function packageInput(members: Record<string, unknown>): Record<string, unknown> {
  const packageCode = String(members.packageCode ?? 'JP_1_7')
  return {
    packageCode,
    name: `Japan ${packageCode}`,
    dataType: 'TOTAL',
    volume: 1_073_741_824,
    duration: 7,
    locationCodes: ['JP'],
    suppliers: [{ supplier: 'sandbox', productCode: packageCode }],
    ...members,
  }
}
