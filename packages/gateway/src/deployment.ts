import type { Config } from './config.ts'
import { type Cipher, DecryptionFailed } from './lib/crypto.ts'
import type { Db } from './lib/db.ts'
import { type Ids, NIL_TENANT } from './lib/ids.ts'
import { StartRefused } from './lib/start-refused.ts'

const LINK_KEY_BYTES = 32

/**
 * A database remembers whose it is: the kind of deployment and the fingerprint of its master key are written at the first
 * start, and a gateway of another kind or with another key is refused before it can harm anything.
 * @returns the key that authenticates cursors and QR links, the same on every node.
 * @throws StartRefused
 */
export async function ensureDeployment(
  deps: { db: Db; cipher: Cipher; ids: Ids },
  kind: Config['deployment'],
): Promise<{ linkKey: Buffer; isNew: boolean }> {
  const { db, cipher, ids } = deps
  const created = await db.query({
    text: `insert into deployment (kind, master_key_fingerprint, link_key) values ($1, $2, $3)
           on conflict do nothing returning kind`,
    values: [kind, cipher.fingerprint, cipher.encrypt(ids.bytes(LINK_KEY_BYTES), NIL_TENANT)],
  })
  const [row] = await db.query<{ kind: string; link_key: Buffer }>({ text: 'select kind, link_key from deployment' })
  if (row!.kind !== kind) {
    throw new StartRefused(
      `The database belongs to a ${row!.kind} deployment, and this is a ${kind} one. Use another database, or set DEPLOYMENT=${row!.kind}.`,
    )
  }
  try {
    return { linkKey: cipher.decrypt(row!.link_key, NIL_TENANT), isNew: created.length > 0 }
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error
    throw new StartRefused(
      'The database is encrypted under another master key. Set MASTER_KEY to the key that it was started with (while keys are rotated: the new one first, then the old one).',
    )
  }
}
