import { decryptLinkKey, findDeployment } from '../deployment/ensure.ts'
import { systemClock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import { systemIds } from '../lib/ids.ts'
import { StartRefused, settlesWithin } from '../lib/process/lifecycle.ts'
import { silentLog } from '../lib/telemetry/log.ts'
import { listSuppliers, type SupplierSummary } from '../suppliers/manage.ts'
import { loadSuppliers, type Suppliers } from '../suppliers/registry.ts'
import type { Finding, Findings, OpenPatient } from './finding.ts'

const TESTED_WITHIN_MS = 10_000

/** Calls every supplier without buying, and looks for packages that nobody can deliver. */
export async function checkSuppliers(patient: OpenPatient, say: Findings): Promise<Finding[]> {
  const { db, cipher, outbound } = patient
  const packages = [...(await packagesWithoutSupplier(patient, say)), ...(await packagesOfNobody(patient, say))]
  if (cipher === undefined || !(await isOurs(patient, cipher))) return packages // nothing can be read, and why was told
  const rows = await listSuppliers(db)
  const linkKey = Buffer.alloc(0) // nothing is issued under it
  const wake = { wake() {}, on: () => () => {} } // nothing is bought
  const deps = { db, cipher, outbound, linkKey, ids: systemIds, clock: systemClock, log: silentLog, wake }
  const suppliers = await loadSuppliers(deps)
  const found = await Promise.all(rows.map((row) => judge(row, suppliers, patient, say)))
  if (rows.length === 0 && patient.config.deployment === 'production') {
    found.push(say.warning('There is no supplier: orders would wait. Add one: npm run -s admin -- supplier add --help'))
  }
  return [...found, ...packages]
}

/** With another master key every configuration looks broken, and to set it anew would lose it. */
async function isOurs({ db }: OpenPatient, cipher: Cipher): Promise<boolean> {
  const row = await findDeployment(db)
  try {
    if (row !== undefined) decryptLinkKey(cipher, row)
    return true
  } catch (error) {
    if (error instanceof StartRefused) return false
    throw error
  }
}

async function judge(row: SupplierSummary, suppliers: Suppliers, patient: OpenPatient, say: Findings) {
  const { name, type, paused } = row
  if (type === 'sandbox' && patient.config.deployment === 'production') {
    return say.fault(`${name} is a sandbox: a production gateway sells no test eSIMs, and does not start with one.`)
  }
  const supplied = suppliers.get(name)
  if (supplied === undefined) {
    return say.fault(
      `${name} has a configuration that cannot be used. Set it anew: npm run -s admin -- supplier set ${name} --help`,
    )
  }
  if (paused)
    return say.warning(`${name} is paused: its orders wait. Let it go on: npm run -s admin -- supplier resume ${name}`)
  const testing = supplied.supplier.test()
  if (!(await settlesWithin(testing, TESTED_WITHIN_MS)))
    return say.fault(`${name} does not answer within ${TESTED_WITHIN_MS / 1000} s.`)
  const words = await testing
  return words === undefined ? say.ok(`${name} (${type}) works.`) : say.fault(`${name} does not work: ${words}`)
}

async function packagesWithoutSupplier({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const [row] = await db.query<{ count: number; example: string | null }>({
    text: `select count(*)::int as count, min(package_code) as example from packages p
           where on_sale and not exists (select from package_suppliers s where s.package_code = p.package_code)`,
  })
  const { count, example } = row!
  if (count === 0) return []
  const which = count === 1 ? `${example} is` : `${count} packages are`
  const such = count === 1 ? '' : `, such as ${example}`
  const words = `${which} on sale and ${count === 1 ? 'has' : 'have'} no supplier${such}: orders fail and are refunded.`
  return [say.warning(`${words} Name one: npm run -s admin -- package set ${example} --supplier NAME:PRODUCT`)]
}

async function packagesOfNobody({ db }: OpenPatient, say: Findings): Promise<Finding[]> {
  const [row] = await db.query<{ count: number; example: string; supplier: string }>({
    text: `select count(distinct package_code)::int as count, (min(array[package_code, supplier]))[1] as example,
             (min(array[package_code, supplier]))[2] as supplier
           from package_suppliers s where not exists (select from suppliers x where x.supplier = s.supplier)`,
  })
  const { count, example, supplier } = row!
  if (count === 0) return []
  const words =
    count === 1
      ? `The package ${example} names a supplier that does not exist, ${supplier}.`
      : `${count} packages name a supplier that does not exist, such as ${example} (${supplier}).`
  return [say.warning(`${words} Add it (supplier add), or name another: npm run -s admin -- package set --help`)]
}
