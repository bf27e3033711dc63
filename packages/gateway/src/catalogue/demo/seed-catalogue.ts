import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { audit, SYSTEM } from '#platform/audit/audit.ts'
import { changeCatalogue } from '../catalogue-version.ts'
import type { PackageDocument } from '../packages/package-document.ts'
import { writePackages } from '../packages/write-packages.ts'
import { demoPackages, sandboxPackages } from './demo-packages.ts'

/**
 * Adds the demo packages and those of the sandbox, on a local deployment. Existing packages keep the operator's changes.
 * @returns the number of added packages
 */
export async function seedDemoCatalogue(deps: { db: Db; ids: Ids }): Promise<number> {
  return seed(deps, [...demoPackages(), ...sandboxPackages()])
}

/** Adds only the sandbox packages, on a test deployment, where operators import their own catalogue. */
export async function seedSandboxPackages(deps: { db: Db; ids: Ids }): Promise<number> {
  return seed(deps, sandboxPackages())
}

async function seed(deps: { db: Db; ids: Ids }, documents: PackageDocument[]): Promise<number> {
  return changeCatalogue(deps.db, async (tx, stamp) => {
    const rows = await tx.query<{ packageCode: string }>({
      text: 'select package_code from packages where package_code = any ($1)',
      values: [documents.map((document) => document.packageCode)],
    })
    const existing = new Set(rows.map((row) => row.packageCode))
    const missing = documents.filter((document) => !existing.has(document.packageCode))
    if (missing.length === 0) return 0
    writePackages(
      tx,
      missing.map((after) => ({ before: undefined, after })),
      await stamp(),
    )
    // One audit entry for all packages, as for an import: one per package would hide people's actions on a new gateway.
    audit(tx, deps.ids, {
      ...{ tenantId: null, ...SYSTEM, action: 'package.import', after: { added: missing.length, changed: 0 } },
    })
    return missing.length
  })
}
