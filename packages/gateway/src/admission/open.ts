import type { Config } from '../config/config.ts'
import { ADMISSION_CONNECTIONS } from '../config/connections.ts'
import type { Clock, DatabaseClock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import { createDb, type Db, type DbOptions } from '../lib/postgres/db.ts'
import type { Log } from '../lib/telemetry/log.ts'
import { maintainPartitions } from '../retention/partitions.ts'
import { loadTenant, type Tenant, type TenantSecret } from '../tenants/load.ts'
import type { AdmissionDeps } from './admission.ts'
import { entrance } from './enter.ts'
import { failureLimit } from './failures.ts'
import { knownTenants } from './known-tenants.ts'

export interface OpenAdmission {
  /** How connections of the dealers' door are made. */
  hot: Omit<DbOptions, 'poolSize' | 'applicationName'>
  config: Pick<Config, 'deployment' | 'defaultQpsLimit'>
  clock: Clock
  databaseClock: DatabaseClock
  db: Db
  cipher: Cipher
  log: Log
}

export function openAdmission(options: OpenAdmission): AdmissionDeps & { pool: Db['pool']; close(): Promise<void> } {
  const { hot, config, clock, databaseClock, db, cipher, log } = options
  const entranceDb = createDb({
    ...hot,
    poolSize: ADMISSION_CONNECTIONS,
    applicationName: 'dealer-esim admission',
    asynchronousCommit: true,
  })
  const known = knownTenants((appKey) => loadTenant(db, cipher, { appKey }))
  return {
    known,
    entrance: entrance({
      db: entranceDb,
      clock,
      databaseClock,
      defaultQpsLimit: config.defaultQpsLimit,
      maintainPartitions: () => maintainPartitions(db),
    }),
    failures: failureLimit(clock),
    databaseClock,
    tellStringToSign: config.deployment !== 'production',
    defaultQpsLimit: config.defaultQpsLimit,
    onSecretProven(tenant, secret) {
      proveSecret(db, tenant, secret).catch((err) => {
        secret.provenAtMs = null // or no later request would tell it: events would stay signed with the old secret
        log.warn({ err }, 'the first use of a secret was not noted')
      })
    },
    pool: entranceDb.pool,
    close: () => entranceDb.close(),
  }
}

/** Until then events are signed with the secret before it (contract §7). */
async function proveSecret(db: Db, tenant: Tenant, { secretId }: TenantSecret): Promise<void> {
  await db.query({
    text: `update tenant_secrets set proven_at = clock_timestamp()
           where tenant_id = $1 and secret_id = $2 and proven_at is null`,
    values: [tenant.tenantId, secretId],
  })
}
