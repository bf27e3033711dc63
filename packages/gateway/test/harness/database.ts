import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { createDatabase, dropDatabase, withDatabaseName } from './server.ts'

export interface TestDatabase {
  url: string
  /** Also ends connections that are still open. */
  drop(): Promise<void>
}

/** A migrated database of one's own, cloned from the run's template: one per test file, in `beforeAll`. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { run } = inject('testServer')
  return clone(`${run}_template`)
}

/** A database with nothing in it, for tests of the migrations themselves. */
export async function createEmptyDatabase(encoding = 'UTF8'): Promise<TestDatabase> {
  return clone(encoding === 'UTF8' ? 'template0' : `template0 encoding '${encoding}' locale_provider libc locale 'C'`)
}

async function clone(template: string): Promise<TestDatabase> {
  const { url: serverUrl, run } = inject('testServer')
  const name = `${run}_${randomBytes(5).toString('hex')}`
  await createDatabase(serverUrl, name, template)
  return { url: withDatabaseName(serverUrl, name), drop: () => dropDatabase(serverUrl, name) }
}
