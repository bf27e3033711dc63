import type { Cipher } from '../lib/crypto.ts'
import type { Db, Statement, Tx } from '../lib/postgres/db.ts'
import { failpoint } from '../lib/process/failpoint.ts'
import type { EncryptedColumn } from './encrypted-columns.ts'

/** Rows that are locked at once, for the milliseconds that rewriting them takes. */
const BATCH_ROWS = 500

type Deps = { db: Db; cipher: Cipher }

/** How many ciphertexts of a column are not under the current key. */
export async function countOutdated({ db, cipher }: Deps, sealed: EncryptedColumn): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    text: `select count(*)::int as count from ${sealed.table} where ${outdated(sealed)}`,
    values: [cipher.keyId],
  })
  return row!.count
}

/**
 * Brings a column under the current key, in batches, each a transaction of its own: whoever kills it loses one batch, and
 * what is done is passed over when it comes again. Rows that somebody else has locked are left for the next pass, so that
 * nobody waits for us who does not happen to want the same row in the same milliseconds, and we wait for nobody.
 */
export async function reencryptColumn(
  deps: Deps,
  sealed: EncryptedColumn,
  onRows: (rows: number) => void,
): Promise<void> {
  const { within } = sealed
  const scopes = within
    ? (await deps.db.query<{ value: string }>({ text: within.listed })).map(({ value }) => value)
    : [null]
  for (const scope of scopes) {
    let after: string | null = null
    do {
      const { rows, last }: Batch = await deps.db.tx((tx) => reencryptBatch(tx, deps.cipher, sealed, scope, after))
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
  /** The id to go on after; null: there is no more. */
  last: string | null
}

/** Locks: rows of one table, within one tenant or supplier. */
async function reencryptBatch(
  tx: Tx,
  cipher: Cipher,
  sealed: EncryptedColumn,
  scope: string | null,
  after: string | null,
): Promise<Batch> {
  const rows = await tx.query<Row>(selectBatch(cipher, sealed, scope, after))
  if (rows.length === 0) return { rows: 0, last: null }
  const { table, column, id, within } = sealed
  const resealed = rows.map(({ ciphertext, owner }) => cipher.encrypt(cipher.decrypt(ciphertext, owner), owner))
  tx.send({
    text: `update ${table} t set ${column} = n.ciphertext
           from unnest($1::${id.type}[], $2::bytea[]) as n (id, ciphertext)
           where t.${id.column} = n.id ${within ? `and t.${within.column} = $3::${within.type}` : ''}`,
    values: [rows.map((row) => row.id), resealed, ...(within ? [scope] : [])],
  })
  return { rows: rows.length, last: rows.length < BATCH_ROWS ? null : rows.at(-1)!.id }
}

interface Row {
  id: string
  owner: string
  ciphertext: Buffer
}

function selectBatch(cipher: Cipher, sealed: EncryptedColumn, scope: string | null, after: string | null): Statement {
  const { table, column, owner, id, within } = sealed
  const values: unknown[] = [cipher.keyId]
  const conditions = [outdated(sealed)]
  if (within) conditions.push(`${within.column} = $${values.push(scope)}`)
  if (after !== null) conditions.push(`${id.column} > $${values.push(after)}`)
  return {
    text: `select ${id.column}::text as id, ${owner} as owner, ${column} as ciphertext from ${table}
           where ${conditions.join(' and ')} order by ${id.column} limit ${BATCH_ROWS} for no key update skip locked`,
    values,
  }
}

/** The key's id stands behind the version (lib/crypto). */
function outdated({ column }: EncryptedColumn): string {
  return `${column} is not null and substring(${column} from 2 for 4) <> $1`
}
