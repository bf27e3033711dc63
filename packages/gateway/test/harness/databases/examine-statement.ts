import type pg from 'pg'

/*
 * PostgreSQL infers the type of a parameter from its context. In `$3 > 0` the literal makes it an integer, which rejects
 * every amount above 2^31, while the tests' small amounts pass. So a statement is prepared once more with each of its literals
 * as a bigint: if a parameter is then a bigint, its type came from the literal alone. Correct it with a cast: `$3::bigint > 0`.
 * Parameters that belong to an integer column or to a function's argument keep their type, and are not found.
 * Then the statement is executed with the largest and the smallest amounts in its bigints, and rolled back: `$3::int` or
 * `$3 * 10000` must not overflow.
 */

/** @returns a text for each parameter that has its type from a literal */
export async function findUntyped(client: pg.Client, text: string, known?: string[]): Promise<string[]> {
  const types = known ?? (await parameterTypes(client, text))
  if (!types?.some((type) => NARROW.test(type))) return []
  const found = new Map<number, string>()
  for (const { at, literal } of literalsOf(text)) {
    const widened = `${text.slice(0, at)}${literal}::bigint${text.slice(at + literal.length)}`
    for (const [index, type] of (await parameterTypes(client, widened))?.entries() ?? [])
      if (NARROW.test(types[index]!) && type.startsWith('bigint')) found.set(index, literal)
  }
  return [...found].map(([index, literal]) => `$${index + 1} is an integer because of ${literal} in: ${text.trim()}`)
}

export const NARROW = /^(?:integer|smallint)/

/** Amounts that every statement has to accept. */
const AMOUNTS = [2n ** 53n - 1n, 0n, 1n, -1n]
const NUMERIC_VALUE_OUT_OF_RANGE = '22003'

/** Executes the statement with each of these amounts in its bigints. @returns a text for each that is out of range */
export async function findOverflows(client: pg.Client, text: string, known?: string[]): Promise<string[]> {
  const types = known ?? (await parameterTypes(client, text))
  if (!types?.some((type) => AMOUNT.test(type))) return []
  const found: string[] = []
  await client.query(BEGIN)
  for (const amount of AMOUNTS) {
    try {
      await client.query({ text, values: types.map((type) => amountIn(type, amount)) })
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      // It reads a table of its test, or violates a constraint, or the amount is not a sensible limit or time.
      if (code === NUMERIC_VALUE_OUT_OF_RANGE) found.push(`${amount}: ${message} in: ${text.trim()}`)
    }
    await client.query(`rollback; ${BEGIN}`)
  }
  await client.query('rollback')
  return found
}

const BEGIN = `begin; set local statement_timeout = '2s'`
const AMOUNT = /^(?:bigint|numeric)/

/** The other numbers are 1, so that products with them can be computed. */
function amountIn(type: string, amount: bigint): unknown {
  const value = AMOUNT.test(type) ? String(amount) : /^(?:integer|smallint|double|real)/.test(type) ? '1' : null
  return type.endsWith('[]') && value !== null ? [value] : value
}

/** undefined: the statement cannot be prepared here, e.g. because it uses a table of its test */
export async function parameterTypes(client: pg.Client, text: string): Promise<string[] | undefined> {
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
