import type { Fault, LocationNetwork } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { recordset } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { type AuditEntry, auditAll, type By } from '#platform/audit/audit.ts'
import { findDeployment } from '#platform/deployment/ensure-deployment.ts'
import { invalidField } from '../catalogue-checks.ts'
import { changeCatalogue } from '../catalogue-version.ts'
import { coverageId, coverageOf } from '../coverage.ts'
import { fitKey } from '../topup-fit.ts'
import { mergePackage, type PackageInput } from './merge-packages.ts'
import { differingMembers, type PackageChange, pickDifferences } from './package-difference.ts'
import type { PackageDocument } from './package-document.ts'
import { findDocuments, listDocumentBatches, type PackageFilter } from './read-packages.ts'
import { writePackages } from './write-packages.ts'

/** Package codes that begin with it are the sandbox's own (demo/demo-packages.ts), which every test twin sees. */
export const RESERVED_PREFIX = 'SANDBOX_'

/** The dependencies of catalogue changes. */
export interface ChangeDeps {
  readonly db: Db
  readonly ids: Ids
}

export interface PutResult {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
}

export interface PutOptions {
  readonly mustExist?: boolean
  readonly mustBeNew?: boolean
  /** The revision that a change to one package is based on (`getPackage`). A later revision is not overwritten. */
  readonly revision?: Date
}

/**
 * Adds packages or changes the members present in the inputs (merge.ts), all or nothing.
 * @throws Refusal with a detail for every fault; CHANGED_MEANWHILE if the package has a different revision
 */
export async function putPackages(
  deps: ChangeDeps,
  inputs: readonly PackageInput[],
  by: By,
  options: PutOptions = {},
): Promise<PutResult> {
  return changeCatalogue(deps.db, async (tx, stamp) => {
    const codes = inputs.map((input) => String(input.packageCode))
    const existing = await findDocuments(tx, codes)
    if (options.revision) await checkRevision(tx, codes[0]!, options.revision)
    const changes: PackageChange[] = []
    for (const [i, input] of inputs.entries()) {
      const before = existing.get(codes[i]!)
      if (!before && options.mustExist) throw notFound('package', codes[i]!)
      if (before && options.mustBeNew)
        throw invalidField('packageCode', `${codes[i]} already exists: choose another code.`)
      const merged = mergePackage(before, input)
      if ('faults' in merged) throw invalidPackage(codes[i]!, merged.faults)
      if (codes.indexOf(codes[i]!) < i) throw invalidField('packageCode', `${codes[i]} is listed twice: remove one.`)
      changes.push({ before, after: merged.document })
    }
    await refuseReserved(tx, changes)
    const owners = await findSlugOwners(tx, changes)
    const taken = changes.find(({ after }) => (owners.get(after.slug) ?? after.packageCode) !== after.packageCode)
    if (taken)
      throw invalidField(
        'slug',
        `${taken.after.slug} is already the slug of ${owners.get(taken.after.slug)}: choose another one.`,
      )
    for (const [{ after }, faults] of await findRepeatedSuppliers(tx, changes))
      throw invalidPackage(after.packageCode, faults)
    return applyChanges(tx, deps, stamp, changes, by)
  })
}

/** Codes of the sandbox are sold only where dealers have no money: a test twin would see another package under such a code. */
async function refuseReserved(tx: Tx, changes: readonly PackageChange[]): Promise<void> {
  const added = changes.find(({ before, after }) => !before && after.packageCode.startsWith(RESERVED_PREFIX))
  if (added === undefined || (await findDeployment(tx))?.kind !== 'production') return
  throw invalidField(
    'packageCode',
    `${added.after.packageCode} is reserved: codes that begin with ${RESERVED_PREFIX} are test packages of the sandbox. Choose another code.`,
  )
}

async function checkRevision(tx: Tx, packageCode: string, revision: Date): Promise<void> {
  const [row] = await tx.query<{ touchedAt: Date }>(sql`
    select touched_at from packages where package_code = ${packageCode}`)
  if (!row || row.touchedAt.getTime() === revision.getTime()) return
  const message = `${packageCode} has changed since you loaded it, so nothing was saved. Reload it and repeat your change.`
  throw new Refusal(409, 'CHANGED_MEANWHILE', message)
}

/** Puts packages on sale or takes them off. @returns the codes of the changed packages */
export async function setOnSale(deps: ChangeDeps, filter: PackageFilter, onSale: boolean, by: By): Promise<string[]> {
  const status = onSale ? 'ON_SALE' : 'OFF_SALE'
  return changeCatalogue(deps.db, async (tx, stamp) => {
    const switched: string[] = []
    for await (const documents of listDocumentBatches(tx, filter)) {
      const changes: PackageChange[] = []
      for (const before of documents) {
        if (before.status === status) continue
        const merged = mergePackage(before, { status })
        if ('faults' in merged) throw invalidPackage(before.packageCode, merged.faults)
        changes.push({ before, after: merged.document })
        switched.push(before.packageCode)
      }
      await applyChanges(tx, deps, stamp, changes, by)
    }
    return switched
  })
}

/** Writes and audits the packages that differ. The caller holds the catalogue's lock and has checked them. */
export async function applyChanges(
  tx: Tx,
  deps: Pick<ChangeDeps, 'ids'>,
  stamp: () => Promise<Date>,
  changes: readonly PackageChange[],
  by: By,
): Promise<PutResult> {
  const differing = changes.filter((one) => differingMembers(one).length > 0)
  if (differing.length > 0) {
    const at = await stamp()
    await touchFormerBases(tx, differing, at)
    writePackages(tx, differing, at)
    auditAll(
      tx,
      deps.ids,
      differing.map((one) => auditEntry(one, by)),
    )
  }
  const added = differing.filter(({ before }) => !before).length
  return { added, changed: differing.length - added, unchanged: changes.length - differing.length }
}

/** Finds the packages that have the slugs used in the changes. */
export async function findSlugOwners(tx: Tx, changes: readonly PackageChange[]): Promise<Map<string, string>> {
  const wanted = changes.filter(({ before, after }) => before?.slug !== after.slug).map(({ after }) => after.slug)
  if (wanted.length === 0) return new Map()
  const rows = await tx.query<{ slug: string; packageCode: string }>(sql`
    select slug, package_code from packages where slug = any (${wanted})`)
  return new Map(rows.map((row) => [row.slug, row.packageCode]))
}

function auditEntry(change: PackageChange, by: By): AuditEntry {
  const action = change.before ? 'package.change' : 'package.add'
  const { before, after } = pickDifferences(change)
  return {
    ...{ tenantId: null, action, subject: change.after.packageCode },
    ...by,
    ...(before && change.before ? { before: shortened(before, change.before) } : {}),
    after: shortened(after, change.after),
  }
}

/**
 * For the log, replaces networks with the id of their coverage. Networks are long and many packages share them; the row of
 * a coverage is never deleted.
 */
function shortened({ locationNetworkList, ...rest }: Partial<PackageDocument>, whole: PackageDocument) {
  if (locationNetworkList === undefined) return rest
  return { ...rest, coverageId: coverageId(whole.locationCodes, whole.locationNetworkList) }
}

function invalidPackage(packageCode: string, faults: readonly Fault[]): Refusal {
  const details = faults.map(({ field, reason }) => ({ field, reason }))
  const lines = details.map(({ field, reason }) => `${field}: ${reason}`)
  const message = [`Nothing was changed: ${packageCode} would not be valid.`, ...lines].join('\n')
  return new Refusal(422, 'PACKAGE_INVALID', message, { details })
}

/**
 * Finds packages whose changed suppliers include a supplier twice, which is allowed only for stock suppliers. An eSIM has
 * one key at a supplier, and under that key the supplier has refused the first product. Only a stock supplier, which does
 * not record refusals, is certain to sell another product under the same key. The type of a supplier never changes, so an
 * accepted package stays valid.
 */
export async function findRepeatedSuppliers(
  tx: Tx,
  changes: readonly PackageChange[],
): Promise<Map<PackageChange, Fault[]>> {
  const repeats = changes.flatMap((change) => {
    const names = change.after.suppliers.map(({ supplier }) => supplier)
    const places = names.flatMap((name, place) => (names.indexOf(name) < place ? [{ change, name, place }] : []))
    return places.length > 0 && differingMembers(change).includes('suppliers') ? places : []
  })
  if (repeats.length === 0) return new Map()
  const rows = await tx.query<{ supplier: string; type: string }>({
    text: 'select supplier, type from suppliers where supplier = any ($1)',
    values: [[...new Set(repeats.map(({ name }) => name))]],
  })
  const types = new Map(rows.map(({ supplier, type }) => [supplier, type]))
  const faults = new Map<PackageChange, Fault[]>()
  for (const { change, name, place } of repeats) {
    const type = types.get(name)
    if (type === 'stock') continue
    const fault: Fault = { code: '000108', field: `suppliers[${place}].supplier`, reason: reasonOf(name, type) }
    faults.set(change, [...(faults.get(change) ?? []), fault])
  }
  return faults
}

function reasonOf(name: string, type: string | undefined): string {
  const what = `${name} is listed twice, which only a stock supplier may be`
  if (type === undefined) {
    return `${what}, and supplier ${name} does not exist yet. Add the stock ${name} first, or name it once.`
  }
  const why = 'any other supplier gets one key per eSIM, and with that key it has already refused the first product'
  return `${what}: ${why}. Name ${name} once, and add a second account there as a separate supplier.`
}

/** The eSIMs that a TOPUP package fits: from packages with the same supplier, family, kind of data volume and area. */
interface Fit {
  readonly key: string
  readonly supplier: string
  readonly productFamily: string | null
  readonly dataType: string
}

/**
 * Marks packages as changed if a TOPUP package fitted their eSIMs before these changes but no longer does. Dealers see
 * whether a package can be topped up, and the change feed finds only TOPUP packages that fit now (snapshot/list.ts).
 */
async function touchFormerBases(tx: Tx, changes: readonly PackageChange[], at: Date): Promise<void> {
  const lost = new Map<string, Fit>()
  for (const { before, after } of changes) {
    if (before?.packageType !== 'TOPUP') continue
    const kept = new Set(fitsOf(after).map(({ key }) => key))
    for (const fit of fitsOf(before)) if (!kept.has(fit.key)) lost.set(fit.key, fit)
  }
  if (lost.size === 0) return
  // One row per coverage, from which its area follows: there are few coverages, but possibly many packages.
  const bases = await tx.query<{ coverageId: string } & Omit<Fit, 'key'> & CoverageRow>(sql`
    select distinct on (coverage_id, supplier, p.product_family, data_type)
      coverage_id, supplier, p.product_family, data_type, c.location_codes, c.location_networks
    from json_to_recordset(${recordset([...lost.values()])}) as r (supplier text, product_family text, data_type text)
    join package_suppliers s using (supplier) join packages p using (package_code, data_type)
    join coverages c using (coverage_id)
    where p.package_type = 'BASE' and p.product_family is not distinct from r.product_family`)
  const touched = bases.filter(({ supplier, locationCodes, locationNetworks, ...base }) =>
    lost.has(fitKey({ ...base, coverage: coverageOf(locationCodes, locationNetworks) }, supplier)),
  )
  if (touched.length === 0) return
  tx.send({
    text: `update packages p set updated_at = $2, touched_at = $2
           from json_to_recordset($1) as r (coverage_id text, supplier text, product_family text, data_type text)
           where p.package_type = 'BASE' and p.coverage_id = r.coverage_id and p.data_type = r.data_type
             and p.product_family is not distinct from r.product_family
             and exists (select from package_suppliers s
                         where s.package_code = p.package_code and s.supplier = r.supplier)`,
    values: [
      recordset(
        touched.map(({ coverageId, supplier, productFamily, dataType }) => ({
          ...{ coverageId, supplier, productFamily, dataType },
        })),
      ),
      at,
    ],
  })
}

interface CoverageRow {
  locationCodes: string[]
  locationNetworks: LocationNetwork[]
}

function fitsOf({ suppliers, productFamily, dataType, locationCodes, locationNetworkList }: PackageDocument): Fit[] {
  const coverage = coverageOf(locationCodes, locationNetworkList)
  return suppliers.map(({ supplier }) => ({
    ...{ supplier, productFamily, dataType },
    key: fitKey({ dataType, productFamily, coverage }, supplier),
  }))
}
