import { endorsementText, formatTime, KEYS_NAME, type KeysAnswer, type LedgerKey } from '@dealer-esim/contract'
import { createSigningKey, type SigningKey } from '@dealer-esim/contract/signing-key'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'

/*
 * The Ed25519 keys that sign checkpoints. A cell has one at a time. Its successor is published, and endorsed by it, a day
 * before it begins to sign, so that every verifier has read it by then.
 */

export interface KeyDeps {
  ids: Ids
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
  config: { cellName: string }
}

/** The key that signs now; the first call of a deployment creates it. */
export async function getSigningKey(tx: Tx, deps: KeyDeps): Promise<SigningKey> {
  const found = await findSigningKey(tx, deps)
  if (found) return found
  await lockKeys(tx)
  return (await findSigningKey(tx, deps)) ?? (await addKey(tx, deps, 0)).key
}

/**
 * Creates the key that replaces the current one.
 * @param overlapHours until it begins to sign
 * @throws Refusal while an earlier successor has not begun to sign
 */
export async function rotateLedgerKey(
  { db, ...deps }: KeyDeps & { db: Db },
  overlapHours: number,
  by: By,
): Promise<LedgerKey> {
  return db.tx(async (tx) => {
    await lockKeys(tx)
    await getSigningKey(tx, deps)
    const [next] = await tx.query<{ validFrom: Date }>(sql`
      select valid_from from ledger_keys where private_key is not null and valid_from > clock_timestamp()`)
    if (next) {
      const message = `A new key begins to sign at ${formatTime(next.validFrom)}. Rotate again after that.`
      throw new Refusal(409, 'KEY_WAITS', message)
    }
    const { view } = await addKey(tx, deps, overlapHours)
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'ledger_key.rotate', after: { publicKey: view.publicKey } })
    return view
  })
}

/** All keys that this gateway knows, oldest first. */
export async function listLedgerKeys(db: Pick<Db, 'query'>): Promise<LedgerKey[]> {
  return (await db.query<KeyRow>(sql`select * from ledger_keys order by valid_from, key_id`)).map(viewOf)
}

/** The answer of `ledger/keys`: the keys of each cell that has signed for the tenant, and of this one. */
export async function getTenantKeys(
  db: Pick<Db, 'query'>,
  { cellName }: { cellName: string },
  tenantId: string,
): Promise<KeysAnswer> {
  const [keys, restores] = await Promise.all([
    db.query<KeyRow>(sql`
      select * from ledger_keys
      where cell = ${cellName} or private_key is not null
         or cell = any (array(select unnest(cells) from ledger_trees where tenant_id = ${tenantId}))
      order by valid_from, key_id`),
    db.query<{ note: string }>(sql`
      select note from ledger_restores where tenant_id = ${tenantId} and note is not null order by restored_at, restore_id`),
  ])
  return { keys: keys.map(viewOf), restores: restores.map(({ note }) => note) }
}

/** Deletes private keys that sign no more: nobody can sign with a key that does not exist. */
export async function forgetOldKeys(db: Pick<Db, 'query'>): Promise<void> {
  await db.query(sql`
    update ledger_keys set private_key = null where private_key is not null and valid_until < clock_timestamp() - interval '1 day'`)
}

interface KeyRow {
  publicKey: string
  validFrom: Date
  validUntil: Date | null
  endorsement: string | null
}

function viewOf({ publicKey, validFrom, validUntil, endorsement }: KeyRow): LedgerKey {
  return {
    publicKey,
    validFrom: formatTime(validFrom),
    validUntil: validUntil && formatTime(validUntil),
    endorsement,
  }
}

/** One process at a time creates keys. */
export async function lockKeys(tx: Tx): Promise<void> {
  await tx.query({ text: `select pg_advisory_xact_lock(${advisoryKey('ledger keys')})` })
}

/** The newest of our keys that has begun to sign; if the clock was set back before all of them, the earliest. */
async function findSigningKey(tx: Tx, { cipher }: Pick<KeyDeps, 'cipher'>): Promise<SigningKey | undefined> {
  const [row] = await tx.query<{ keyId: string; privateKey: Buffer }>(sql`
    select key_id, private_key from ledger_keys where private_key is not null
    order by valid_from <= clock_timestamp() desc, abs(extract(epoch from valid_from - clock_timestamp())) limit 1`)
  return row && createSigningKey(Buffer.from(cipher.decrypt(row.privateKey, row.keyId)))
}

async function addKey(tx: Tx, deps: KeyDeps, overlapHours: number): Promise<{ key: SigningKey; view: LedgerKey }> {
  const { ids, cipher, config } = deps
  const endorser = await findSigningKey(tx, deps)
  const [time] = await tx.query<{ validFrom: Date }>(sql`
    select date_trunc('milliseconds', clock_timestamp()) + make_interval(hours => ${overlapHours}::integer) as valid_from`)
  const { validFrom } = time!
  const seed = ids.bytes(32)
  const key = createSigningKey(seed)
  const [publicKey, keyId] = [key.publicKey.toString('base64'), ids.uuid()]
  const text = endorsementText(publicKey, formatTime(validFrom))
  const endorsement = endorser ? `${text}\n${endorser.signatureOf(KEYS_NAME, text)}` : null
  tx.send(sql`update ledger_keys set valid_until = ${validFrom} where private_key is not null and valid_until is null`)
  tx.send(sql`
    insert into ledger_keys (key_id, cell, public_key, private_key, valid_from, endorsement)
    values (${keyId}, ${config.cellName}, ${publicKey}, ${cipher.encrypt(seed, keyId)}, ${validFrom}, ${endorsement})`)
  return { key, view: viewOf({ publicKey, validFrom, validUntil: null, endorsement }) }
}
