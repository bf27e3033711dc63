import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { createTestDatabase } from './database.ts'
import { openShop, type Shop, TEST_KEY } from './shop.ts'

/** A shop on a database of its own, which the admin commands of this process (admin-here.ts) are about. */
export interface OperatorShop extends Shop {
  /** In a folder of the operator's. */
  path(name: string): string
  /** Writes such a file. @returns its path */
  file(name: string, text: string): string
  /** Of one action, oldest first, by whoever runs this. */
  audited(action: string): Promise<{ subject: string; after: Record<string, unknown> | null }[]>
}

export async function openOperatorShop(): Promise<OperatorShop> {
  const database = await createTestDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-operator-'))
  vi.stubEnv('DATABASE_URL', database.url)
  vi.stubEnv('MASTER_KEY', TEST_KEY.toString('base64'))
  vi.stubEnv('DATA_DIR', folder)
  const shop = await openShop(database.url)
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
