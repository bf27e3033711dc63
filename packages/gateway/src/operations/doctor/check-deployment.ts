import { findPublicAddress } from '@dealer-esim/lib/outbound/resolve.ts'
import sql from 'sql-template-tag'
import {
  decryptLinkKey,
  findDeployment,
  refuseIncompatiblePeers,
  refuseOtherKind,
  refuseOutdatedKey,
} from '#platform/deployment/ensure-deployment.ts'
import { listPeers } from '#platform/deployment/peers.ts'
import type { DatabaseCheckInput, Finding, Findings } from './finding.ts'

/** Requests of dealers who moved are forwarded over HTTP, so the other cell's nodes must be in a private network. */
async function checkForwarding(db: DatabaseCheckInput['db'], findings: Findings): Promise<Finding[]> {
  const nodes = await db.query<{ cell: string; host: string }>(sql`
    select distinct other_cell as cell, node ->> 'host' as host
    from tenant_moves cross join lateral jsonb_array_elements(other_nodes) node order by 1, 2`)
  const found = await Promise.all(
    nodes.map(async ({ cell, host }) => {
      const address = await findPublicAddress(host)
      if (address === undefined) return []
      return findings.warning(
        `Requests of dealers who moved to or from the cell ${cell} are forwarded to ${host} over HTTP, and ${address} is not in a private network. Requests with RT-SecretKey are not forwarded there. List private addresses in cells.json, and let dealers with RT-SecretKey sign their requests.`,
      )
    }),
  )
  return found.flat()
}

/** Checks which deployment owns the database and whether we have its key, and lists other gateways that use it. */
export async function checkDeployment(
  { db, cipher, config }: DatabaseCheckInput,
  findings: Findings,
): Promise<Finding[]> {
  const row = await findDeployment(db)
  if (!row) return [findings.ok('No gateway has been started on this database yet.')]
  const found: Finding[] = []
  if (config.deployment !== undefined) refuseOtherKind(row, config.deployment)
  found.push(findings.ok(`The database belongs to a ${row.kind} deployment.`))
  if (cipher === undefined) {
    // On test and production, a missing key is already reported as a configuration fault.
    if (config.deployment !== 'local') return found
    return [
      ...found,
      findings.fault(
        'The database is encrypted, but DATA_DIR contains no valid master.key. Restore that file, or set MASTER_KEY.',
      ),
    ]
  }
  decryptLinkKey(cipher, row)
  refuseOutdatedKey(cipher, row)
  await refuseIncompatiblePeers(db, cipher)
  if (row.rotatingTo !== null) {
    found.push(
      findings.warning(
        `The master key is being rotated to ${row.rotatingTo}. Repeat the rotation on the server until it says that it is done.`,
        'npm run -s admin -- master-key rotate',
      ),
    )
  } else if (row.masterKeyFingerprint !== cipher.fingerprint) {
    found.push(
      findings.warning(
        `The first key of MASTER_KEY (${cipher.fingerprint}) is new to this database (${row.masterKeyFingerprint}). Rotate to it on the server.`,
        'npm run -s admin -- master-key rotate',
      ),
    )
  } else
    found.push(findings.ok(`The database is encrypted with this master key (fingerprint ${row.masterKeyFingerprint}).`))
  found.push(...(await checkForwarding(db, findings)))
  const peers = await listPeers(db)
  const machines = new Set(peers.map(({ address }) => address ?? 'this machine'))
  if (machines.size > 0) found.push(findings.ok(`Gateways connected to the database: ${[...machines].join(', ')}.`))
  return found
}

/** Warns if catalogues of other cells are imported without a key: anyone who can write such a file sets prices here. */
export async function checkPublications(
  { db, config }: DatabaseCheckInput,
  { ok, warning }: Findings,
): Promise<Finding[]> {
  if (config.publicationKeyFile !== undefined) return [ok('Publications between cells are checked by a key.')]
  const imported = await db.query<{ cellName: string }>({ text: 'select cell_name from cell_imports order by 1' })
  if (imported.length === 0 && config.cellsFile === undefined) return []
  const from = imported.length === 0 ? '' : ` of ${imported.map(({ cellName }) => cellName).join(', ')}`
  return [
    warning(
      `Publications${from} are imported as they are: a changed file would change prices here. Set PUBLICATION_KEY_FILE in every cell, to files with the same content.`,
    ),
  ]
}
