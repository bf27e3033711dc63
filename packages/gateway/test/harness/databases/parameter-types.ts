import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { createTestDatabase } from './database.ts'

/*
 * PostgreSQL infers the type of a parameter from what stands next to it. In `$3 > 0` the literal makes it an integer, which
 * refuses every amount above 2^31, while the tests' small amounts pass. So every statement that a test file runs is prepared
 * once more with each of its literals as a bigint: a parameter that is then a bigint had its type from the literal alone.
 * Correct it with a cast: `$3::bigint > 0`. Parameters that belong to an integer column or to a function's argument keep
 * their type, and are not found.
 */

/** Statements by text; true: checked already, by this file or an earlier one of the worker. */
const seen = recordStatements()

afterAll(async () => {
  const texts = [...seen].flatMap(([text, isChecked]) => (isChecked ? [] : [text]))
  for (const text of texts) seen.set(text, true)
  if (texts.length === 0 || inject('testServer').workers.length > 0) return
  const client = await connect()
  const found: string[] = []
  try {
    for (const text of texts) found.push(...(await findUntyped(client, text)))
  } finally {
    await client.end()
  }
  if (found.length > 0) throw new Error(`Parameters without a type of their own:\n${found.join('\n\n')}`)
})

/** Records the texts that the driver sends for preparation, in all files of this worker. */
function recordStatements(): Map<string, boolean> {
  const { prototype } = pg.Connection as unknown as { prototype: RecordingConnection }
  if (prototype.recorded) return prototype.recorded
  const recorded = new Map<string, boolean>()
  const { parse } = prototype
  prototype.recorded = recorded
  prototype.parse = function (this: RecordingConnection, statement, ...more) {
    if (HAS_PARAMETERS.test(statement.text) && !recorded.has(statement.text)) recorded.set(statement.text, false)
    return parse.call(this, statement, ...more)
  }
  return recorded
}

interface RecordingConnection {
  recorded?: Map<string, boolean>
  parse(statement: { text: string }, ...more: unknown[]): void
}

/** Only these can be prepared by name. */
const HAS_PARAMETERS = /^\s*(?:with|select|insert|update|delete|merge|values)\b.*\$1\b/is

let databaseUrl: Promise<string> | undefined

async function connect(): Promise<pg.Client> {
  databaseUrl ??= createTestDatabase().then(({ url }) => url) // dropped at the end of the run
  const client = new pg.Client({ connectionString: await databaseUrl })
  await client.connect()
  return client
}

/** @returns a text for each parameter that has its type from a literal */
export async function findUntyped(client: pg.Client, text: string): Promise<string[]> {
  const types = await parameterTypes(client, text)
  if (!types?.some((type) => NARROW.test(type))) return []
  const found = new Map<number, string>()
  for (const { at, literal } of literalsOf(text)) {
    const widened = `${text.slice(0, at)}${literal}::bigint${text.slice(at + literal.length)}`
    for (const [index, type] of (await parameterTypes(client, widened))?.entries() ?? [])
      if (NARROW.test(types[index]!) && type.startsWith('bigint')) found.set(index, literal)
  }
  return [...found].map(([index, literal]) => `$${index + 1} is an integer because of ${literal} in: ${text.trim()}`)
}

const NARROW = /^(?:integer|smallint)/

/** undefined: the statement cannot be prepared here, such as one about a table of its test */
async function parameterTypes(client: pg.Client, text: string): Promise<string[] | undefined> {
  try {
    await client.query(`prepare examined as ${text}`)
  } catch {
    return undefined
  }
  const { rows } = await client.query<{ types: string[] }>(
    `select parameter_types::text[] as types from pg_prepared_statements where name = 'examined'`,
  )
  await client.query('deallocate examined')
  return rows[0]!.types
}

/** The whole numbers of a statement, outside texts, names and comments. */
function literalsOf(text: string): { at: number; literal: string }[] {
  const tokens = text.matchAll(/'[^']*'|"[^"]*"|--[^\n]*|\$\d+|[a-z_][\w$]*|\d+\.\d*|\d+/gi)
  return [...tokens].flatMap(({ index, 0: token }) => (/^\d+$/.test(token) ? [{ at: index, literal: token }] : []))
}
