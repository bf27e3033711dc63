import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import type { TestProject } from 'vitest/node'
import { migrationsFolder } from '#platform/package-root.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { closeForCloning, findCitusNodes, joinDatabases, urlOfSchema } from './databases/citus.ts'
import { createDatabase, databasesOf, dropDatabasesOf, type TestNodes, withDatabaseName } from './databases/database.ts'
import { keepsDatabases, testLog } from './debugging.ts'
import { createRunFolder, memoryFolder } from './temporary-folders.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** `schemaUrl`: the server with the template's tables. `dataDir` is where `copyUsedDataDir` keeps its original. */
    testServer: TestNodes & { schemaUrl: string; run: string; dataDir: string }
  }
}

/**
 * Starts one server for the whole run, with a template database that is migrated once and cloned by test files
 * (databases/database.ts). TEST_DATABASE_URL specifies another server to use; its user must be allowed to create databases.
 * TEST_CITUS_URL specifies a Citus cluster (databases/citus.ts).
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const run = `dealer_esim_test_${randomBytes(4).toString('hex')}`
  const folder = createProjectFolder(createRunFolder(tmpdir()), project)
  const memory = memoryFolder(folder)
  const dataParent = memory === folder ? folder : createProjectFolder(memory, project)
  // Inherited by the processes that run the tests.
  process.env.TEST_SCRATCH = dataParent
  const remove = () => {
    for (const each of [folder, dataParent]) {
      rmSync(each, { recursive: true, force: true })
      if (existsSync(dirname(each)) && readdirSync(dirname(each)).length === 0) rmdirSync(dirname(each))
    }
  }
  const server = (await findExternalServer()) ?? (await startOwnServer(join(dataParent, 'server')))
  let schemaUrl: string
  try {
    schemaUrl = await createTemplate(server, run)
  } catch (error) {
    await server.stop()
    remove()
    throw error
  }
  project.provide('testServer', {
    url: server.url,
    workers: [...server.workers],
    schemaUrl,
    run,
    dataDir: join(dataParent, 'data'),
  })
  return async () => {
    if (keepsDatabases) await showDatabases(server, run)
    await dropDatabasesOf(server, run)
    await server.stop()
    remove()
  }
}

/** Lists the databases, the last test file's last, and waits for Enter. */
async function showDatabases(server: TestNodes, run: string): Promise<void> {
  const urls = (await databasesOf(server, run)).map(
    (name) => `  psql '${withDatabaseName(server.url, name).replace(/\?.*/, '')}'\n`,
  )
  process.stdout.write(`\nTEST_KEEP=1: the databases of this run. Press Enter to drop them.\n${urls.join('')}`)
  await new Promise((resolve) => process.stdin.once('data', resolve).once('end', resolve))
  process.stdin.pause()
}

/** Creates the folder of a project: a run of two projects, such as a mutation run, sets up each. @returns its path */
function createProjectFolder(runFolder: string, { name }: TestProject): string {
  const folder = join(runFolder, name)
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  return folder
}

interface Server extends TestNodes {
  stop(): Promise<void>
}

async function findExternalServer(): Promise<Server | undefined> {
  const { TEST_CITUS_URL: citusUrl, TEST_DATABASE_URL: url } = process.env
  const stop = async () => {}
  if (citusUrl) return { ...(await findCitusNodes(citusUrl)), stop }
  return url ? { url, workers: [], stop } : undefined
}

async function startOwnServer(dataDir: string): Promise<Server> {
  const server = await startEmbeddedPostgres({ dataDir, log: testLog, fsync: false, maxConnections: 400 })
  return { url: server.url, workers: [], stop: () => server.stop() }
}

/** @returns the URL of the server that has the tables */
async function createTemplate(server: Server, run: string): Promise<string> {
  const name = `${run}_template`
  await createDatabase(server, name)
  const isCitus = server.workers.length > 0
  if (isCitus) await joinDatabases(server, name)
  const url = withDatabaseName(server.url, name)
  await migrate({ databaseUrl: url, log: testLog, directory: migrationsFolder() })
  const db = createDb({ url, poolSize: 1, applicationName: 'test template' })
  await maintainPartitions(db)
  await db.close()
  if (!isCitus) return server.url
  const schemaUrl = await urlOfSchema(url)
  await closeForCloning(server, name)
  return schemaUrl
}
