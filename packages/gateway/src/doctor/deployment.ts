import {
  decryptLinkKey,
  findDeployment,
  refuseIncompatiblePeers,
  refuseOtherKind,
  refuseOutdatedKey,
} from '../deployment/ensure.ts'
import { listPeers } from '../deployment/peers.ts'
import type { Finding, Findings, OpenPatient } from './finding.ts'

/** Whose the database is, whether we have its key, and who else works on it. */
export async function checkDeployment({ db, cipher, config }: OpenPatient, say: Findings): Promise<Finding[]> {
  const row = await findDeployment(db)
  if (!row) return [say.ok('No gateway was ever started on this database; the first start makes it its own.')]
  const found: Finding[] = []
  if (config.deployment !== undefined) refuseOtherKind(row, config.deployment)
  found.push(say.ok(`The database belongs to a ${row.kind} deployment.`))
  if (cipher === undefined) {
    // On test and production its absence is a fault of the configuration already.
    if (config.deployment !== 'local') return found
    const words = 'The database is encrypted, and DATA_DIR holds no master.key.'
    return [...found, say.fault(`${words} Put back the file that belongs to it, or set MASTER_KEY.`)]
  }
  decryptLinkKey(cipher, row)
  refuseOutdatedKey(cipher, row)
  await refuseIncompatiblePeers(db, cipher)
  if (row.rotatingTo !== null) {
    const words = `The master key is being rotated to ${row.rotatingTo}.`
    found.push(say.warning(`${words} Run npm run -s admin -- master-key rotate until it says that it is done.`))
  } else if (row.masterKeyFingerprint !== cipher.fingerprint) {
    const words = `The first key of MASTER_KEY (${cipher.fingerprint}) is new to this database (${row.masterKeyFingerprint}).`
    found.push(say.warning(`${words} Rotate to it: npm run -s admin -- master-key rotate`))
  } else found.push(say.ok(`The master key is the database's (fingerprint ${row.masterKeyFingerprint}).`))
  const peers = await listPeers(db)
  const machines = new Set(peers.map(({ address }) => address ?? 'this machine'))
  if (machines.size > 0) found.push(say.ok(`Connected to the database: gateways at ${[...machines].join(', ')}.`))
  return found
}
