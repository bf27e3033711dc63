import { randomBytes } from 'node:crypto'
import { sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import pg from 'pg'
import { inject } from 'vitest'
import { keepsDatabases, logsStatements } from '../debugging.ts'
import { ONLY_HERE } from './tables.ts'

export interface TestDatabase {
  url: string
  /** Also closes any open connections. */
  drop(): Promise<void>
}

/** The test server; on Citus, its coordinator and its workers. */
export interface TestNodes {
  url: string
  workers: readonly string[]
}

/**
 * A separate migrated database, cloned from the run's template. Use one per test file, in `beforeAll`. On Citus its URL is
 * that of the node with the schema, so that tests see the locks there.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { run, schemaUrl } = inject('testServer')
  return clone(`${run}_template`, schemaUrl)
}

/** An empty database, for testing the migrations. */
export async function createEmptyDatabase(encoding = 'UTF8'): Promise<TestDatabase> {
  return clone(encoding === 'UTF8' ? 'template0' : `template0 encoding '${encoding}' locale_provider libc locale 'C'`)
}

async function clone(template: string, url = inject('testServer').url): Promise<TestDatabase> {
  const { run, ...nodes } = inject('testServer')
  const name = `${run}_${randomBytes(5).toString('hex')}`
  await createDatabase(nodes, name, template)
  if (logsStatements)
    await withServerClient(url, (client) => client.query(`alter database ${name} set log_statement = 'all'`))
  const drop = () => (keepsDatabases ? Promise.resolve() : dropDatabase(nodes, name))
  return { url: withDatabaseName(url, name), drop }
}

/** Runs `work` on the test server over a new connection. */
export async function withServerClient<Result>(
  serverUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Copies the template's files. The default writes each page to the log, which takes one and a half to three times as long. */
export async function createDatabase(nodes: TestNodes, name: string, template = 'template0'): Promise<void> {
  await onEachNode(nodes, async (client) => {
    await client.query(`create database ${name} template ${template} strategy file_copy`)
    if (nodes.workers.length === 0) return
    // For test connections that specify no schema.
    await client.query(ONLY_HERE)
    await client.query(`alter database ${name} set search_path to ${DEFAULT_SCHEMA}, public`)
  })
}

/** Citus maintenance keeps opening new connections to a database until it is dropped. */
const DROPS_MAX = 10
const OBJECT_IN_USE = '55006'

/** Also closes any open connections. */
async function dropDatabase(nodes: TestNodes, name: string): Promise<void> {
  await onEachNode(nodes, async (client) => {
    for (let left = DROPS_MAX; ; left--) {
      try {
        return await client.query(`drop database if exists ${name} with (force)`)
      } catch (error) {
        if (sqlState(error) !== OBJECT_IN_USE || left === 0) throw error
      }
    }
  })
}

/** On Citus, a database is a separate one on each node. */
async function onEachNode(nodes: TestNodes, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  for (const url of [nodes.url, ...nodes.workers]) await withServerClient(url, work)
}

/** Drops the databases left behind by test files of the run. */
export async function dropDatabasesOf(nodes: TestNodes, run: string): Promise<void> {
  for (const name of await databasesOf(nodes, run)) await dropDatabase(nodes, name)
}

/** The databases of a run, oldest first. */
export function databasesOf(nodes: TestNodes, run: string): Promise<string[]> {
  return withServerClient(nodes.url, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where datname like $1 order by oid',
      [`${run}\\_%`],
    )
    return rows.map((row) => row.datname)
  })
}

export function withDatabaseName(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
