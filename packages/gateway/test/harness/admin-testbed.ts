import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { createTestDatabase } from './databases/database.ts'
import { createShop, type Shop, TEST_KEY } from './shop.ts'

/** A shop on a separate database that is used by this process's admin commands (admin-in-process.ts). */
export interface AdminTestbed extends Shop {
  /** A path in the operator's temporary folder. */
  path(name: string): string
  /** Writes a file there. @returns its path */
  file(name: string, text: string): string
  /** Audit entries for one action by a CLI user, oldest first. */
  audited(action: string): Promise<{ subject: string; after: Record<string, unknown> | null }[]>
}

export async function createAdminTestbed(): Promise<AdminTestbed> {
  const database = await createTestDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-operator-'))
  vi.stubEnv('DATABASE_URL', database.url)
  vi.stubEnv('MASTER_KEY', TEST_KEY.toString('base64'))
  vi.stubEnv('DATA_DIR', folder)
  const shop = await createShop(database.url)
  const path = (name: string) => join(folder, name)
  return {
    ...shop,
    path,
    file(name, text) {
      writeFileSync(path(name), text)
      return path(name)
    },
    audited: (action) =>
      shop.db.query({
        text: `select subject, after from audit_log where action = $1 and actor like 'cli:%' order by audit_id`,
        values: [action],
      }),
    async close() {
      vi.unstubAllEnvs()
      await shop.close()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
