import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { dataFolder } from '../temporary-folders.ts'
import { createTestDatabase } from './database.ts'
import { findOverflows, findUntyped } from './examine-statement.ts'

/*
 * Every statement run by a test file or one of its child processes is examined for parameters that do not take every amount.
 * test/lib/every-statement.test.ts examines those of the source that no test runs, too.
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
