// npm run schema: runs the migrations on an empty server and writes the resulting schema to packages/gateway/schema.sql.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { migrationsFolder, packageRoot } from '@dealer-esim/gateway/platform/package-root.ts'
import { schemaText } from '@dealer-esim/gateway/test/harness/databases/schema-text.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-schema-'))
const server = await startEmbeddedPostgres({ dataDir, log: silentLog, purpose: 'command', fsync: false })
try {
  await migrate({ databaseUrl: server.url, log: silentLog, directory: migrationsFolder() })
  const db = createDb({ url: server.url, poolSize: 1, applicationName: 'schema' })
  writeFileSync(join(packageRoot(), 'schema.sql'), await schemaText(db))
  await db.close()
} finally {
  await server.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
