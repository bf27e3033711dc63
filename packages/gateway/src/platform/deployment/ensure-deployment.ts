import { type Cipher, DecryptionFailed } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import { NIL_TENANT } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import { incompatiblePeers, listPeers, peersText } from './peers.ts'

const LINK_KEY_BYTES = 32

/**
 * Stores the deployment's kind and the fingerprint of the master key in a new database. Refuses to start a gateway of
 * another kind or with a different key before it can do harm.
 * @returns the key that authenticates cursors and QR links and seeds the sandbox; the same on every node
 * @throws StartRefused
 */
export async function ensureDeployment(
  deps: { db: Db; cipher: Cipher; ids: Ids },
  kind: Config['deployment'],
): Promise<Buffer> {
  const { db, cipher, ids } = deps
  await db.query({
    text: `insert into deployment (kind, master_key_fingerprint, link_key) values ($1, $2, $3)
           on conflict do nothing`,
    values: [kind, cipher.fingerprint, cipher.encrypt(ids.bytes(LINK_KEY_BYTES), NIL_TENANT)],
  })
  const row = (await findDeployment(db))!
  refuseOtherKind(row, kind)
  const linkKey = decryptLinkKey(cipher, row)
  refuseOutdatedKey(cipher, row)
  await refuseIncompatiblePeers(db, cipher)
  return linkKey
}

/** @returns undefined before the first start */
export async function findDeployment(db: Pick<Db, 'query'>): Promise<DeploymentRow | undefined> {
  const [row] = await db.query<DeploymentRow>({ text: 'select * from deployment' })
  return row
}

export interface DeploymentRow {
  kind: string
  linkKey: Buffer
  masterKeyFingerprint: string
  rotatingTo: string | null
  retiredKeys: string[]
}

/** @throws StartRefused */
export function refuseOtherKind(row: DeploymentRow, kind: Config['deployment']): void {
  if (row.kind === kind) return
  throw new StartRefused(
    `The database belongs to a ${row.kind} deployment, but this is a ${kind} one. Use another database, or set DEPLOYMENT=${row.kind}.`,
  )
}

/** @throws StartRefused if it is encrypted under a key that is not configured */
export function decryptLinkKey(cipher: Cipher, row: DeploymentRow): Buffer {
  try {
    return cipher.decrypt(row.linkKey, NIL_TENANT)
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error
    throw new StartRefused(
      'The database is encrypted with a different master key. Set MASTER_KEY to the key of this database (during a rotation: the new key first, then the old one).',
    )
  }
}

/**
 * Refuses an old key, because a running or finished rotation would miss whatever is encrypted with it.
 * @throws StartRefused
 */
export function refuseOutdatedKey(cipher: Cipher, row: DeploymentRow): void {
  if (row.rotatingTo !== null && row.rotatingTo !== cipher.fingerprint) {
    throw new StartRefused(
      `The master key is being rotated to the key with the fingerprint ${row.rotatingTo}. Put that key first in MASTER_KEY, and the old one after it.`,
    )
  }
  if (row.masterKeyFingerprint !== cipher.fingerprint && row.retiredKeys.includes(cipher.fingerprint)) {
    throw new StartRefused(
      `The first key of MASTER_KEY has been replaced by a rotation. Put the key with the fingerprint ${row.masterKeyFingerprint} first.`,
    )
  }
}

/** @throws StartRefused if a connected process cannot decrypt what this one encrypts, or the reverse */
export async function refuseIncompatiblePeers(db: Pick<Db, 'query'>, cipher: Cipher): Promise<void> {
  const peers = incompatiblePeers(await listPeers(db), cipher)
  if (peers.length === 0) return
  throw new StartRefused(
    `Other gateways use this database with different master keys: ${peersText(peers)}. Each gateway must have the first keys of all the others: add a new key to MASTER_KEY as the second key on every gateway before it becomes the first key on any of them.`,
  )
}
