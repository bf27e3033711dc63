import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { dataFolder } from '../temporary-folders.ts'
import { createTestDatabase } from './database.ts'

/*
 * PostgreSQL infers the type of a parameter from its context. In `$3 > 0` the literal makes it an integer, which rejects
 * every amount above 2^31, while the tests' small amounts pass. So every statement run by a test file or one of its child
 * processes is prepared once more with each of its literals as a bigint: if a parameter is then a bigint, its type came
 * from the literal alone. Correct it with a cast: `$3::bigint > 0`. Parameters that belong to an integer column or to a
 * function's argument keep their type, and are not found.
 * Then the statement is executed with the largest and the smallest amounts in its bigints, and rolled back: `$3::int` or
 * `$3 * 10000` must not overflow.
 */

const RECORDER = new URL('./record-statements.mjs', import.meta.url).href
const EXAMINED = Symbol.for('examined statements')
type Examining = typeof globalThis & { [EXAMINED]?: Set<string> }

const folder = recordStatements()
/** The texts already examined by this file or an earlier file of the worker. */
const examined = (globalThis as Examining)[EXAMINED] ?? new Set<string>()
;(globalThis as Examining)[EXAMINED] = examined

afterAll(async () => {
  if (inject('testServer').workers.length > 0) return
  const texts = recordedTexts().filter((text) => HAS_PARAMETERS.test(text) && !examined.has(text))
  if (texts.length === 0) return
  const client = await connect()
  const found: string[] = []
  try {
    for (const text of new Set(texts)) {
      examined.add(text)
      found.push(...(await findUntyped(client, text)), ...(await findOverflows(client, text)))
    }
  } finally {
    await client.end()
  }
  if (found.length > 0) throw new Error(`Parameters that do not take every amount:\n${found.join('\n\n')}`)
})

/**
 * Records the statements of this worker and of the children that inherit its environment.
 * @returns the folder with their texts
 */
function recordStatements(): string {
  const folder = join(dataFolder(), `statements-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  process.env.STATEMENTS_FOLDER = folder
  const option = `--import=${RECORDER}`
  const { NODE_OPTIONS = '' } = process.env
  if (!NODE_OPTIONS.includes(option)) process.env.NODE_OPTIONS = `${NODE_OPTIONS} ${option}`.trim()
  return folder
}
await import(RECORDER)

/** The texts sent so far by this worker and its children. */
export function recordedTexts(): string[] {
  // A killed child may have left half a line.
  const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
  return lines.map((line) => JSON.parse(line) as string)
}

/** Only these statements can be prepared by name. */
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

/** Amounts that every statement has to accept. */
const AMOUNTS = [2n ** 53n - 1n, 0n, -1n]
const NUMERIC_VALUE_OUT_OF_RANGE = '22003'

/** Executes the statement with each of these amounts in its bigints. @returns a text for each that is out of range */
export async function findOverflows(client: pg.Client, text: string): Promise<string[]> {
  const types = await parameterTypes(client, text)
  if (!types?.some((type) => AMOUNT.test(type))) return []
  const found: string[] = []
  for (const amount of AMOUNTS) {
    await client.query(`begin; set local statement_timeout = '2s'`)
    try {
      await client.query({ text, values: types.map((type) => amountIn(type, amount)) })
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      // It reads a table of its test, or violates a constraint, or the amount is not a sensible limit or time.
      if (code === NUMERIC_VALUE_OUT_OF_RANGE) found.push(`${amount}: ${message} in: ${text.trim()}`)
    }
    await client.query('rollback')
  }
  return found
}

const AMOUNT = /^(?:bigint|numeric)/

/** The other numbers are 1, so that products with them can be computed. */
function amountIn(type: string, amount: bigint): unknown {
  const value = AMOUNT.test(type) ? String(amount) : /^(?:integer|smallint|double|real)/.test(type) ? '1' : null
  return type.endsWith('[]') && value !== null ? [value] : value
}

/** undefined: the statement cannot be prepared here, e.g. because it uses a table of its test */
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

/** The integers of a statement, outside strings, names and comments. */
function literalsOf(text: string): { at: number; literal: string }[] {
  const tokens = text.matchAll(/'[^']*'|"[^"]*"|--[^\n]*|\$\d+|[a-z_][\w$]*|\d+\.\d*|\d+/gi)
  return [...tokens].flatMap(({ index, 0: token }) => (/^\d+$/.test(token) ? [{ at: index, literal: token }] : []))
}
