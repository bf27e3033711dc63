import { NIL_TENANT } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import { type Cipher, DecryptionFailed } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import { StartRefused } from '../lib/process/lifecycle.ts'
import { incompatible, named, readPeers } from './peers.ts'

const LINK_KEY_BYTES = 32

/**
 * A database remembers whose it is: the kind of deployment and the fingerprint of its master key are written at the first
 * start, and a gateway of another kind or with another key is refused before it can harm anything.
 * @returns the key that authenticates cursors and QR links, and that the sandbox derives from; the same on every node.
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
  const row = (await readDeployment(db))!
  refuseOtherKind(row, kind)
  const linkKey = openLinkKey(cipher, row)
  refuseOutdatedKey(cipher, row)
  await refuseStrangers(db, cipher)
  return linkKey
}

/** @returns undefined before the first start */
export async function readDeployment(db: Pick<Db, 'query'>): Promise<DeploymentRow | undefined> {
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
    `The database belongs to a ${row.kind} deployment, and this is a ${kind} one. Use another database, or set DEPLOYMENT=${row.kind}.`,
  )
}

/** @throws StartRefused when it is encrypted under a key that is not configured */
export function openLinkKey(cipher: Cipher, row: DeploymentRow): Buffer {
  try {
    return cipher.decrypt(row.linkKey, NIL_TENANT)
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error
    throw new StartRefused(
      'The database is encrypted under another master key. Set MASTER_KEY to the key that it was started with (while keys are rotated: the new one first, then the old one).',
    )
  }
}

/** What it would encrypt would have to be found and rewritten by a rotation that is past it already. @throws StartRefused */
export function refuseOutdatedKey(cipher: Cipher, row: DeploymentRow): void {
  if (row.rotatingTo !== null && row.rotatingTo !== cipher.fingerprint) {
    throw new StartRefused(
      `The master key is being rotated to the one with the fingerprint ${row.rotatingTo}. Put that one first in MASTER_KEY, and the old one after it.`,
    )
  }
  if (row.masterKeyFingerprint !== cipher.fingerprint && row.retiredKeys.includes(cipher.fingerprint)) {
    throw new StartRefused(
      `The first key of MASTER_KEY was replaced by a rotation. Put the one with the fingerprint ${row.masterKeyFingerprint} first.`,
    )
  }
}

/** @throws StartRefused while anybody is connected whose writing we could not read, or who could not read ours */
export async function refuseStrangers(db: Pick<Db, 'query'>, cipher: Cipher): Promise<void> {
  const unfitting = incompatible(await readPeers(db), cipher)
  if (unfitting.length === 0) return
  throw new StartRefused(
    `Other gateways use this database with other master keys: ${named(unfitting)}. Everybody must know the first key of everybody else: add a new key to MASTER_KEY as the second one everywhere, before it becomes the first one anywhere.`,
  )
}
