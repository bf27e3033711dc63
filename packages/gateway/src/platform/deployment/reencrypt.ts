import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db, Statement, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { EncryptedColumn } from './encrypted-columns.ts'

/** Rows per transaction. They stay locked for the few milliseconds of the rewrite. */
const BATCH_ROWS = 500

type Deps = { db: Db; cipher: Cipher }

/** Counts the ciphertexts of a column that are not encrypted with the current key. */
export async function countOutdated({ db, cipher }: Deps, encrypted: EncryptedColumn): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    text: `select count(*)::int as count from ${encrypted.table} where ${outdated(encrypted)}`,
    values: [cipher.keyId],
  })
  return row!.count
}

/**
 * Re-encrypts a column with the current key, in batches. Each batch is a transaction, so an interruption loses one batch,
 * and the next run skips finished rows. Locked rows are left for the next pass, so this never waits for others.
 */
export async function reencryptColumn(
  deps: Deps,
  encrypted: EncryptedColumn,
  onRows: (rows: number) => void,
): Promise<void> {
  const { within } = encrypted
  const scopes = within
    ? (await deps.db.query<{ value: string }>({ text: within.listSql })).map(({ value }) => value)
    : [null]
  for (const scope of scopes) {
    let after: string | null = null
    do {
      const { rows, last }: Batch = await deps.db.tx((tx) => reencryptBatch(tx, deps.cipher, encrypted, scope, after))
      after = last
      if (rows > 0) {
        onRows(rows)
        await failpoint('master-key.after-batch')
      }
    } while (after !== null)
  }
}

interface Batch {
  rows: number
  /** The id to continue after; null: no more rows. */
  last: string | null
}

/** Re-encrypts one batch. Locks its rows, which all belong to one table and to one tenant or supplier. */
async function reencryptBatch(
  tx: Tx,
  cipher: Cipher,
  encrypted: EncryptedColumn,
  scope: string | null,
  after: string | null,
): Promise<Batch> {
  const rows = await tx.query<Row>(selectBatch(cipher, encrypted, scope, after))
  if (rows.length === 0) return { rows: 0, last: null }
  const { table, column, id, within } = encrypted
  const reencrypted = rows.map(({ ciphertext, owner }) => cipher.encrypt(cipher.decrypt(ciphertext, owner), owner))
  tx.send({
    text: `update ${table} t set ${column} = n.ciphertext
           from unnest($1::${id.type}[], $2::bytea[]) as n (id, ciphertext)
           where t.${id.column} = n.id ${within ? `and t.${within.column} = $3::${within.type}` : ''}`,
    values: [rows.map((row) => row.id), reencrypted, ...(within ? [scope] : [])],
  })
  return { rows: rows.length, last: rows.length < BATCH_ROWS ? null : rows.at(-1)!.id }
}

interface Row {
  id: string
  owner: string
  ciphertext: Buffer
}

function selectBatch(
  cipher: Cipher,
  encrypted: EncryptedColumn,
  scope: string | null,
  after: string | null,
): Statement {
  const { table, column, owner, id, within } = encrypted
  const values: unknown[] = [cipher.keyId]
  const conditions = [outdated(encrypted)]
  if (within) conditions.push(`${within.column} = $${values.push(scope)}`)
  if (after !== null) conditions.push(`${id.column} > $${values.push(after)}`)
  return {
    text: `select ${id.column}::text as id, ${owner} as owner, ${column} as ciphertext from ${table}
           where ${conditions.join(' and ')} order by ${id.column} limit ${BATCH_ROWS} for no key update skip locked`,
    values,
  }
}

/** The key's id follows the version byte of a ciphertext (lib/crypto). */
function outdated({ column }: EncryptedColumn): string {
  return `${column} is not null and substring(${column} from 2 for 4) <> $1`
}
