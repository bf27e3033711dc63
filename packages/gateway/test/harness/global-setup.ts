import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import type { TestProject } from 'vitest/node'
import { createDb } from '../../src/lib/postgres/db.ts'
import { migrate } from '../../src/lib/postgres/migrate.ts'
import { silentLog } from '../../src/lib/telemetry/log.ts'
import { maintainPartitions } from '../../src/retention/table.ts'
import { createDatabase, dropDatabasesOf, withDatabaseName } from './databases/database.ts'
import { createRunFolder, memoryFolder } from './temporary-folders.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** `dataDir` is where `copyUsedDataDir` keeps its original. */
    testServer: { url: string; run: string; dataDir: string }
  }
}

/**
 * Starts one server for the whole run, with a template database that is migrated once and cloned by test files
 * (databases/database.ts). TEST_DATABASE_URL names another server to use; its user must be allowed to create databases.
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
  const externalUrl = process.env.TEST_DATABASE_URL
  const server = externalUrl ? { url: externalUrl, stop: async () => {} } : await startOwnServer(join(folder, 'server'))
  try {
    await createTemplate(server.url, run)
  } catch (error) {
    await server.stop()
    remove()
    throw error
  }
  project.provide('testServer', { url: server.url, run, dataDir: join(dataParent, 'data') })
  return async () => {
    await dropDatabasesOf(server.url, run)
    await server.stop()
    remove()
  }
}

/** A run of two projects, as of the mutations, sets up each of them. */
function createProjectFolder(runFolder: string, { name }: TestProject): string {
  const folder = join(runFolder, name)
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  return folder
}

interface Server {
  url: string
  stop(): Promise<void>
}

async function startOwnServer(dataDir: string): Promise<Server> {
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog, fsync: false, maxConnections: 400 })
  return { url: server.url, stop: () => server.stop() }
}

async function createTemplate(serverUrl: string, run: string): Promise<void> {
  const name = `${run}_template`
  await createDatabase(serverUrl, name)
  const url = withDatabaseName(serverUrl, name)
  await migrate({ databaseUrl: url, log: silentLog })
  const db = createDb({ url, poolSize: 1, applicationName: 'test template' })
  await maintainPartitions(db)
  await db.close()
}
