import type { Clock, DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { createDb, type Database, type Db, type DbOptions } from '@dealer-esim/lib/postgres/db.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { Config } from '#platform/config/config.ts'
import { ADMISSION_CONNECTIONS, TWIN_CONNECTIONS } from '#platform/config/connections.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { createKeyUse } from '../keys/key-use.ts'
import { findByAppKey, type Tenant, type TenantSecret } from '../tenant.ts'
import { type AdmissionDeps, createTenantCache } from './admission.ts'
import { createAdmissionBatcher } from './admit-batch.ts'
import { createFailureLimit } from './failure-limit.ts'
import type { TwinAdmission } from './twin-admission.ts'

/** Short limits: admission takes milliseconds, and dealers are waiting for the answer. */
const LIMITS = { lockTimeoutMs: 3_000, statementTimeoutMs: 3_000, stallMs: 4_000, connectTimeoutMs: 3_000 }

interface AdmissionOptions {
  /** The settings of the dealer API's connections. */
  hot: Omit<DbOptions, 'poolSize' | 'applicationName'>
  config: Pick<Config, 'deployment' | 'defaultQpsLimit' | 'twinQpsLimit'>
  clock: Clock
  databaseClock: DatabaseClock
  db: Db
  cipher: Cipher
  /** The key that recognises the RequestIDs of the gateway's own attempts to send events. */
  linkKey: Buffer
  log: Log
  /** What is known about test twins; only in their own admission. */
  twins?: TwinAdmission | undefined
}

/** Creates the dependencies of admission, with its own database connections. */
export function createAdmission(options: AdmissionOptions): AdmissionDeps & { db: Database } {
  const { hot, config, clock, databaseClock, db, cipher, linkKey, log, twins } = options
  const { defaultQpsLimit } = config
  const qpsLimitMax = twins && config.twinQpsLimit
  const admissionDb = createDb({
    ...hot,
    ...LIMITS,
    poolSize: twins ? TWIN_CONNECTIONS.admission : ADMISSION_CONNECTIONS,
    applicationName: 'dealer-esim admission',
    asynchronousCommit: true,
  })
  return {
    tenantCache: createTenantCache(async (appKey) => {
      const tenant = await findByAppKey(admissionDb, cipher, appKey)
      return tenant && twins ? twins.withStanding(tenant) : tenant
    }),
    ...(twins && { twins }),
    qpsLimitMax,
    batches: createAdmissionBatcher({
      db: admissionDb,
      ...{ clock, databaseClock, defaultQpsLimit, qpsLimitMax },
      maintainPartitions: () => maintainPartitions(db),
    }),
    failures: createFailureLimit(clock),
    databaseClock,
    deployment: config.deployment,
    revealsStringToSign: config.deployment !== 'production',
    defaultQpsLimit,
    linkKey,
    onKeyUsed: createKeyUse({ db, clock, log }),
    onSecretProven(tenant, secret) {
      saveFirstUse(db, tenant, secret).catch((err) => {
        secret.provenAtMs = null // the next request tries again: until then events are signed with the old secret
        log.warn({ err }, 'the first use of a secret could not be saved')
      })
    },
    db: admissionDb,
  }
}

/**
 * Saves that a secret was used for the first time. Until that is saved, events are signed with the previous secret
 * (contract §7).
 */
async function saveFirstUse(db: Db, tenant: Tenant, { secretId }: TenantSecret): Promise<void> {
  await db.query({
    text: `update tenant_secrets set proven_at = clock_timestamp()
           where tenant_id = $1 and secret_id = $2 and proven_at is null`,
    values: [tenant.tenantId, secretId],
  })
}
