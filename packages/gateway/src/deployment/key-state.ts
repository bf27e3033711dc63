import type { Cipher } from '../lib/crypto.ts'
import type { Db } from '../lib/postgres/db.ts'
import { processesOf, readPeers } from './peers.ts'
import { countOutdated } from './reseal.ts'
import { SEALED } from './sealed.ts'

export interface KeyState {
  /** Fingerprints: of the database's key, of the first configured one, and of the one that a rotation goes to. */
  fingerprint: string
  configured: string
  rotatingTo: string | null
  /** Of these, null: not one of ours. By it connected processes name their keys. */
  keyIds: { fingerprint: string | null; configured: string; rotatingTo: string | null }
  /** Ciphertexts that are not under the first configured key. */
  outdated: number
  /** Processes. */
  connected: ReturnType<typeof processesOf>
}

export async function readKeyState(db: Db, cipher: Cipher): Promise<KeyState> {
  const [rows, counts, connected] = await Promise.all([
    db.query<{ fingerprint: string; rotatingTo: string | null }>({
      text: 'select master_key_fingerprint as fingerprint, rotating_to from deployment',
    }),
    Promise.all(SEALED.map((sealed) => countOutdated({ db, cipher }, sealed))),
    readPeers(db),
  ])
  const outdated = counts.reduce((sum, count) => sum + count, 0)
  const { fingerprint, rotatingTo } = rows[0]!
  const keyIds = {
    fingerprint: cipher.keyIdOf(fingerprint) ?? null,
    configured: cipher.keyIds[0]!,
    rotatingTo: rotatingTo === null ? null : (cipher.keyIdOf(rotatingTo) ?? null),
  }
  const processes = processesOf(connected)
  return { fingerprint, configured: cipher.fingerprint, rotatingTo, keyIds, outdated, connected: processes }
}
