import { endorsementText, formatTime, KEYS_NAME } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { getSigningKey, type KeyDeps, lockKeys } from './ledger-keys.ts'

interface Cell {
  name: string
  db: Db
}

/**
 * Copies the public keys of a cell to the cell that a tenant moves to, and has the source's key endorse those with which the target
 * signs, so that a dealer who trusts the one can trust the others. May be repeated: Ed25519 signs the same text alike.
 */
export async function bringLedgerKeys(
  deps: Pick<KeyDeps, 'ids' | 'cipher'>,
  source: Cell,
  target: Cell,
): Promise<void> {
  const endorser = await source.db.tx((tx) => getSigningKey(tx, { ...deps, config: { cellName: source.name } }))
  const keys = await source.db.query<SourceKey>(sql`
    select key_id, cell, public_key, valid_from, valid_until, endorsement from ledger_keys`)
  await target.db.tx(async (tx) => {
    await lockKeys(tx)
    await getSigningKey(tx, { ...deps, config: { cellName: target.name } })
    for (const { keyId, cell, publicKey, validFrom, validUntil, endorsement } of keys) {
      tx.send(sql`
        insert into ledger_keys (key_id, cell, public_key, valid_from, valid_until, endorsement)
        values (${keyId}, ${cell}, ${publicKey}, ${validFrom}, ${validUntil}, ${endorsement})
        on conflict (public_key) do update set valid_until = excluded.valid_until, endorsement = excluded.endorsement
          where ledger_keys.cell <> ${target.name}`)
    }
    const own = await tx.query<Pick<SourceKey, 'keyId' | 'publicKey' | 'validFrom' | 'endorsement'>>(sql`
      select key_id, public_key, valid_from, endorsement from ledger_keys where private_key is not null for no key update`)
    for (const { keyId, publicKey, validFrom, endorsement } of own) {
      const text = endorsementText(publicKey, formatTime(validFrom))
      const line = endorser.signatureOf(KEYS_NAME, text)
      if (endorsement?.includes(line)) continue
      tx.send(sql`update ledger_keys set endorsement = ${(endorsement ?? `${text}\n`) + line} where key_id = ${keyId}`)
    }
  })
}

interface SourceKey {
  keyId: string
  cell: string
  publicKey: string
  validFrom: Date
  validUntil: Date | null
  endorsement: string | null
}
