import { systemClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import sql from 'sql-template-tag'
import { decryptLinkKey, findDeployment } from '#platform/deployment/ensure-deployment.ts'
import { listSuppliers, type SupplierSummary } from '#suppliers/manage-suppliers.ts'
import { testSupplier } from '#suppliers/state/test-supplier.ts'
import { loadSuppliers, type Suppliers } from '#suppliers/supplier-registry.ts'
import type { DatabaseCheckInput, Finding, Findings } from './finding.ts'

/** Tests every supplier without buying, saves the results, and looks for packages that no supplier can deliver. */
export async function checkSuppliers(input: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const { db, cipher, outbound } = input
  const packages = [
    ...(await packagesWithoutSupplier(input, findings)),
    ...(await packagesOfMissingSupplier(input, findings)),
  ]
  if (cipher === undefined || !(await hasMasterKey(input, cipher))) return packages // checkDeployment reports why
  const rows = await listSuppliers(db)
  const linkKey = Buffer.alloc(0) // nothing is issued with this key
  const wake = { wake() {}, on: () => () => {} } // nothing is bought
  const deps = { db, cipher, outbound, linkKey, ids: systemIds, clock: systemClock, log: silentLog, wake }
  const suppliers = await loadSuppliers(deps)
  const found = await Promise.all(rows.map((row) => judge(row, suppliers, input, findings)))
  found.push(...rows.flatMap(({ name }) => warnOfSenders(name, suppliers, findings)))
  if (rows.length === 0 && input.config.deployment === 'production') {
    found.push(
      findings.warning(
        'There is no supplier, so orders would wait. Add one under Suppliers in the console.',
        'npm run -s admin -- supplier add --help',
      ),
    )
  }
  return [...found, ...packages]
}

/** With the wrong master key, every configuration looks broken, and an operator might overwrite it. */
async function hasMasterKey({ db }: DatabaseCheckInput, cipher: Cipher): Promise<boolean> {
  const row = await findDeployment(db)
  try {
    if (row !== undefined) decryptLinkKey(cipher, row)
    return true
  } catch (error) {
    if (error instanceof StartRefused) return false
    throw error
  }
}

async function judge(row: SupplierSummary, suppliers: Suppliers, input: DatabaseCheckInput, findings: Findings) {
  const { name, type, paused } = row
  if (type === 'sandbox' && input.config.deployment === 'production') {
    return findings.fault(
      `${name} is a sandbox: a production gateway does not sell test eSIMs and will not start while a sandbox is configured. Remove it, or use a test deployment.`,
    )
  }
  const supplied = suppliers.get(name)
  if (supplied === undefined) {
    return findings.fault(
      `The configuration of ${name} cannot be used. Enter it again on the supplier’s page in the console.`,
      `npm run -s admin -- supplier set ${name} --help`,
    )
  }
  if (paused)
    return findings.warning(
      `${name} is paused: its orders wait. Resume it on its page in the console.`,
      `npm run -s admin -- supplier resume ${name}`,
    )
  const fault = await testSupplier({ db: input.db, suppliers }, name)
  if (fault === null && row.verificationFault !== null) {
    return findings.fault(
      `${name} is not verified, because the gateway does not read its charges correctly: ${row.verificationFault} To record its answers, run: npm run -s admin -- supplier record ${name} --help`,
    )
  }
  return fault === null ? findings.ok(`${name} (${type}) works.`) : findings.fault(`${name} does not work: ${fault}`)
}

function warnOfSenders(name: string, suppliers: Suppliers, findings: Findings): Finding[] {
  if (suppliers.get(name)?.supplier.eventsUnproven !== true) return []
  const problem = `${name} takes events from anybody, because its events carry no signature: anybody can make the gateway ask about its eSIMs, though rarely.`
  return [
    findings.warning(
      `${problem} Enter the addresses from which it sends them (eventAddresses) on its page in the console, or: npm run -s admin -- supplier set ${name} --help`,
    ),
  ]
}

async function packagesWithoutSupplier({ db }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const [row] = await db.query<{ count: number; example: string | null }>(sql`
    select count(*)::int as count, min(package_code) as example from packages p
    where on_sale and not exists (select from package_suppliers s where s.package_code = p.package_code)`)
  const { count, example } = row!
  if (count === 0) return []
  const which = count === 1 ? `${example} is` : `${count} packages are`
  const such = count === 1 ? '' : `, such as ${example}`
  const problem = `${which} on sale and ${count === 1 ? 'has' : 'have'} no supplier${such}: orders fail and are refunded.`
  return [
    findings.warning(
      `${problem} Assign one on its page in the console.`,
      `npm run -s admin -- package set ${example} --supplier NAME:PRODUCT`,
    ),
  ]
}

async function packagesOfMissingSupplier({ db }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const [row] = await db.query<{ count: number; example: string; supplier: string }>(sql`
    select count(distinct package_code)::int as count, (min(array[package_code, supplier]))[1] as example,
      (min(array[package_code, supplier]))[2] as supplier
    from package_suppliers s where not exists (select from suppliers x where x.supplier = s.supplier)`)
  const { count, example, supplier } = row!
  if (count === 0) return []
  const problem =
    count === 1
      ? `The package ${example} lists a nonexistent supplier, ${supplier}.`
      : `${count} packages list a nonexistent supplier, such as ${example} (${supplier}).`
  return [
    findings.warning(
      `${problem} Add it under Suppliers in the console, or assign another on the package’s page.`,
      'npm run -s admin -- package set --help',
    ),
  ]
}
