import { createHash } from 'node:crypto'
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { dataFolder } from '../temporary-folders.ts'
import { createTestDatabase } from './database.ts'
import { findOverflows, findUntyped, parameterTypes } from './examine-statement.ts'

/*
 * Every statement run by a test file or one of its child processes is examined for parameters that do not take every amount,
 * once in a run. test/lib/every-statement.test.ts examines those of the source that no test runs, too.
 */

const RECORDER = new URL('./record-statements.mjs', import.meta.url).href

/** What a worker keeps between its test files, each of which loads this module again. */
interface Examining {
  /** The texts read so far. */
  texts: Set<string>
  /** Those of them that an earlier file has dealt with. */
  examined: Set<string>
  /** How much of each file has been read. */
  readBytes: Map<string, number>
  /** Dropped at the end of the run. */
  databaseUrl?: Promise<string>
}
const EXAMINING = Symbol.for('examining statements')
const kept = globalThis as typeof globalThis & { [EXAMINING]?: Examining }
kept[EXAMINING] ??= { texts: new Set(), examined: new Set(), readBytes: new Map() }
const examining = kept[EXAMINING]

const folder = recordStatements()

afterAll(async () => {
  const { workers, run } = inject('testServer')
  if (workers.length > 0) return
  const claims = join(dataFolder(), `examined-${run}`)
  mkdirSync(claims, { recursive: true })
  const texts = [...recordedTexts()].filter((text) => isNew(text) && HAS_PARAMETERS.test(text) && claim(claims, text))
  if (texts.length === 0) return
  const client = await connect()
  const found: string[] = []
  try {
    for (const text of texts) {
      const types = await parameterTypes(client, text)
      if (!types) continue
      const faults = [...(await findUntyped(client, text, types)), ...(await findOverflows(client, text, types))]
      // Other workers report it, too, among them those of the next run while vitest watches.
      if (faults.length > 0) rmSync(claimOf(claims, text))
      found.push(...faults)
    }
  } finally {
    await client.end()
  }
  if (found.length > 0) throw new Error(`Parameters that do not take every amount:\n${found.join('\n\n')}`)
})

/** True once for each text in this worker. */
const isNew = (text: string) => !examining.examined.has(text) && examining.examined.add(text)

const claimOf = (claims: string, text: string) => join(claims, createHash('sha256').update(text).digest('hex'))

/** @returns false if a worker of this run has examined the text, or is doing so */
function claim(claims: string, text: string): boolean {
  try {
    writeFileSync(claimOf(claims, text), '', { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}

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
export function recordedTexts(): ReadonlySet<string> {
  for (const name of readdirSync(folder))
    for (const line of readLines(name)) examining.texts.add(JSON.parse(line) as string)
  return examining.texts
}

const NEWLINE = 10

/** The lines that have been added to a file since it was read. A killed child may have left half a line. */
function readLines(name: string): string[] {
  const descriptor = openSync(join(folder, name), 'r')
  try {
    const from = examining.readBytes.get(name) ?? 0
    const added = Buffer.alloc(fstatSync(descriptor).size - from)
    const length = added.subarray(0, readSync(descriptor, added, { position: from })).lastIndexOf(NEWLINE) + 1
    examining.readBytes.set(name, from + length)
    return length === 0 ? [] : added.toString('utf8', 0, length - 1).split('\n')
  } finally {
    closeSync(descriptor)
  }
}

/** Only these statements can be prepared by name. */
const HAS_PARAMETERS = /^\s*(?:with|select|insert|update|delete|merge|values)\b.*\$1\b/is

async function connect(): Promise<pg.Client> {
  examining.databaseUrl ??= createTestDatabase().then(({ url }) => url)
  const client = new pg.Client({ connectionString: await examining.databaseUrl })
  await client.connect()
  return client
}
