import { setTimeout as delay } from 'node:timers/promises'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By, NIL_TENANT } from '../audit/audit.ts'
import { ENCRYPTED_COLUMNS } from './encrypted-columns.ts'
import { listPeers, type Peer, peersText, processesOf } from './peers.ts'
import { countOutdated, reencryptColumn } from './reencrypt.ts'

/*
 * A rotation re-encrypts everything with the first key of MASTER_KEY while gateways are running:
 *
 *   1. every gateway knows both keys            MASTER_KEY=old,new   (other starts are refused by ensure.ts)
 *   2. every gateway encrypts with the new one  MASTER_KEY=new,old
 *   3. `admin master-key rotate`                deployment.rotating_to = new: a gateway that would encrypt with the old
 *                                               key cannot start; all ciphertexts are rewritten; fingerprint = new
 *   4. every gateway drops the old one          MASTER_KEY=new
 *
 * If step 3 is interrupted, run it again to continue.
 */

export interface RotationDeps {
  db: Db
  cipher: Cipher
  ids: Ids
}

export interface RotationProgress {
  done: number
  total: number
}

/** @returns the number of ciphertexts that were rewritten by this run @throws Refusal */
export async function rotateMasterKey(
  deps: RotationDeps,
  by: By,
  onProgress: (progress: RotationProgress) => void,
): Promise<{ rewritten: number; fingerprint: string }> {
  await refuseOtherKeys(deps)
  await markStarted(deps, by)
  try {
    // Finds any gateway that started after the first check and before the rotation was marked.
    await refuseOtherKeys(deps)
  } catch (error) {
    await deps.db.query({ text: 'update deployment set rotating_to = null' })
    throw error
  }
  const rewritten = await rewriteAll(deps, onProgress)
  await refuseOtherKeys(deps)
  await saveRotation(deps, rewritten, by)
  return { rewritten, fingerprint: deps.cipher.fingerprint }
}

/**
 * How often connections are checked. A gateway that is refused because of its keys and restarted by its supervisor connects
 * only briefly each time.
 */
const CHECKS_MAX = 8
const BETWEEN_CHECKS_MS = 250

async function refuseOtherKeys({ db, cipher }: RotationDeps): Promise<void> {
  let others: Peer[] = []
  for (let check = 0; check < CHECKS_MAX; check++) {
    if (check > 0) await delay(BETWEEN_CHECKS_MS)
    others = (await listPeers(db)).filter(({ keyIds }) => keyIds[0] !== cipher.keyIds[0])
    if (others.length === 0) return
  }
  throw new Refusal(
    409,
    'OTHER_KEY_IN_USE',
    `Gateways that encrypt with a different key are connected: ${peersText(others)}. Put the new key first in the MASTER_KEY of each, and restart them.`,
  )
}

async function markStarted({ db, cipher, ids }: RotationDeps, by: By): Promise<void> {
  await db.tx(async (tx) => {
    const [row] = await tx.query<{ from: string; to: string | null }>(sql`
      select master_key_fingerprint as from, rotating_to as to from deployment for update`)
    const { from, to } = row!
    if (to === cipher.fingerprint) return
    const after = { fingerprint: cipher.fingerprint }
    tx.send({ text: 'update deployment set rotating_to = $1', values: [cipher.fingerprint] })
    audit(tx, ids, { tenantId: null, ...by, action: 'master_key.rotate', before: { fingerprint: from }, after })
  })
}

/**
 * How often locked rows are retried. Rows are normally locked for milliseconds; a row that stays locked for a minute
 * belongs to an open transaction.
 */
const PASSES_MAX = 120
const BETWEEN_PASSES_MS = 500

async function rewriteAll(deps: RotationDeps, onProgress: (progress: RotationProgress) => void): Promise<number> {
  let rewritten = 0
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const counts = await Promise.all(
      ENCRYPTED_COLUMNS.map(async (column) => ({ column, left: await countOutdated(deps, column) })),
    )
    const left = counts.reduce((sum, count) => sum + count.left, 0)
    if (left === 0) return rewritten
    if (pass > 0) await delay(BETWEEN_PASSES_MS)
    const total = rewritten + left
    for (const { column } of counts.filter((count) => count.left > 0)) {
      await reencryptColumn(deps, column, (rows) => {
        rewritten += rows
        onProgress({ done: rewritten, total: Math.max(total, rewritten) })
      })
    }
  }
  throw new Refusal(
    409,
    'ROWS_LOCKED',
    'Some rows stayed locked by other transactions for a minute. Run the command again.',
  )
}

async function saveRotation({ db, cipher, ids }: RotationDeps, rewritten: number, by: By): Promise<void> {
  await db.tx(async (tx) => {
    const [row] = await tx.query<{ from: string; linkKey: Buffer }>(sql`
      select master_key_fingerprint as from, link_key from deployment for update`)
    const linkKey = cipher.encrypt(cipher.decrypt(row!.linkKey, NIL_TENANT), NIL_TENANT)
    tx.send({
      text: `update deployment set link_key = $1, master_key_fingerprint = $2, rotating_to = null,
               retired_keys = case when master_key_fingerprint = $2 then retired_keys
                                   else array_append(retired_keys, master_key_fingerprint) end`,
      values: [linkKey, cipher.fingerprint],
    })
    const before = { fingerprint: row!.from }
    const after = { fingerprint: cipher.fingerprint, rewritten }
    audit(tx, ids, { tenantId: null, ...by, action: 'master_key.rotated', before, after })
  })
}

export interface KeyState {
  /** Fingerprints of the database's key, the first configured key, and the key of a rotation in progress. */
  fingerprint: string
  configured: string
  rotatingTo: string | null
  /** The ids of these keys, as processes report them; null: not one of ours. */
  keyIds: { fingerprint: string | null; configured: string; rotatingTo: string | null }
  /** The number of ciphertexts that are not encrypted with the first configured key. */
  outdated: number
  connected: ReturnType<typeof processesOf>
}

export async function getKeyState(db: Db, cipher: Cipher): Promise<KeyState> {
  const [rows, counts, connected] = await Promise.all([
    db.query<{ fingerprint: string; rotatingTo: string | null }>(sql`
      select master_key_fingerprint as fingerprint, rotating_to from deployment`),
    Promise.all(ENCRYPTED_COLUMNS.map((column) => countOutdated({ db, cipher }, column))),
    listPeers(db),
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
