import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTwin } from '@dealer-esim/gateway/operations/twins/manage-twins.ts'
import { createAccessToken } from '@dealer-esim/gateway/people/account/access-token.ts'
import { createPerson } from '@dealer-esim/gateway/people/manage-people.ts'
import { SYSTEM } from '@dealer-esim/gateway/platform/audit/audit.ts'
import { ensureDeployment } from '@dealer-esim/gateway/platform/deployment/ensure-deployment.ts'
import { twinsSchemaOf } from '@dealer-esim/gateway/platform/deployment/twins-schema.ts'
import { migrationsFolder } from '@dealer-esim/gateway/platform/package-root.ts'
import { maintainPartitions } from '@dealer-esim/gateway/platform/retention/retention-table.ts'
import { addSupplier } from '@dealer-esim/gateway/suppliers/manage-suppliers.ts'
import { type CreateTenantDeps, createTenant } from '@dealer-esim/gateway/tenants/create-tenant.ts'
import { topUp } from '@dealer-esim/gateway/wallet/ledger/top-up-wallet.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import type { Credentials } from '../load.ts'

/** A gateway with dealers that go to their limits, and another one whose calls are measured. */
export interface Stage {
  baseUrl: string
  pid: number
  other: Credentials
  noisy: Credentials & { tenantId: string; token: string }
  /** A dealer whose receiver of events never answers. */
  deaf: Credentials
  /** Test twins that together exceed what all of them may send. */
  twins: Credentials[]
  /** A package whose supplier never answers. */
  hangingPackage: string
  close(): void
}

/** A supplier of this name takes events from anybody. */
export const OPEN_SUPPLIER = 'open'
const OPENING_BALANCE = 9_000_000_000_000n
/** Times TWIN_QPS_LIMIT, 50, this is twice TWINS_QPS_LIMIT. */
const TWINS = 8
const PASSWORD = 'correct horse battery staple'

interface StageDeps extends CreateTenantDeps {
  databaseUrl: string
  cipher: Cipher
}

export async function setStage(deps: StageDeps, gateway: { baseUrl: string; pid: number }): Promise<Stage> {
  const hanging = createServer(() => {}).listen(0, '127.0.0.1')
  await once(hanging, 'listening')
  const hangingUrl = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`
  const [noisy, other] = [await createDealer(deps, 'Noisy'), await createDealer(deps, 'Other')]
  const deaf = await createDealer(deps, 'Deaf')
  await deps.db.query({
    text: 'insert into webhook_endpoints (tenant_id, callback_url) values ($1, $2)',
    values: [deaf.tenantId, deps.cipher.encrypt(`${hangingUrl}/events`, deaf.tenantId)],
  })
  // Its own calls are measured, so its limit must not be what they meet.
  await deps.db.query({ text: 'update tenants set qps_limit = 10000 where tenant_id = $1', values: [other.tenantId] })
  const managing = { ...deps, wake: { wake() {} }, config: { deployment: 'local' } }
  const open = { apiKey: 'key', url: hangingUrl, dailySpendLimit: { amount: '1', currencyCode: 'USD' } }
  await addSupplier(managing, { name: OPEN_SUPPLIER, type: 'zendit', config: open }, SYSTEM)
  const upstream = { url: hangingUrl, appKey: 'app_key_of_ours', appSecret: 'secret' }
  await addSupplier(managing, { name: 'hanging', type: 'gateway', config: upstream }, SYSTEM)
  return {
    ...{ baseUrl: gateway.baseUrl, pid: gateway.pid, other, deaf },
    twins: await createTwins(deps),
    hangingPackage: await moveOnePackage(deps.db, 'hanging'),
    close: () => {
      hanging.close()
      hanging.closeAllConnections()
    },
    noisy: { ...noisy, token: await createToken(deps, noisy.tenantId) },
  }
}

/** Lets this supplier deliver one package of the demo catalogue. @returns the package */
async function moveOnePackage(db: Db, supplier: string): Promise<string> {
  const [moved] = await db.query<{ packageCode: string }>({
    text: `update package_suppliers set supplier = $1 where package_code =
             (select min(package_code) from packages where on_sale and package_code like '%\\_1\\_7' and package_code <> 'JP_1_7')
           returning package_code`,
    values: [supplier],
  })
  await db.query({ text: 'update catalogue_version set version = version + 1, changed_at = clock_timestamp()' })
  return moved!.packageCode
}

async function createDealer(deps: CreateTenantDeps, clientName: string): Promise<Credentials & { tenantId: string }> {
  const tenant = await createTenant(deps, { clientName, currencyCode: 'USD' }, SYSTEM)
  await topUp(deps, { tenantId: tenant.tenantId, amount: OPENING_BALANCE, reference: 'bench' }, SYSTEM)
  return tenant
}

async function createTwins({ databaseUrl, ...deps }: StageDeps): Promise<Credentials[]> {
  const schema = twinsSchemaOf(DEFAULT_SCHEMA)
  await migrate({ databaseUrl, schema, directory: migrationsFolder(), isProduction: false, log: silentLog })
  const db = createDb({ url: databaseUrl, schema, poolSize: 1, applicationName: 'bench twins' })
  const wake = { wake() {} }
  const live = { ...deps, wake, config: { ...deps.config, mode: 'LIVE' } } as const
  const twins = { ...live, db, config: { ...deps.config, mode: 'TEST' } } as const
  try {
    await ensureDeployment(twins, 'local')
    await maintainPartitions(db)
    const made: Credentials[] = []
    for (let index = 1; index <= TWINS; index++) {
      const { tenantId } = await createDealer(deps, `Has a twin ${index}`)
      const twin = await createTwin(live, async () => twins, tenantId, SYSTEM)
      await topUp(twins, { tenantId: twin.tenantId, amount: OPENING_BALANCE, reference: 'bench' }, SYSTEM)
      made.push(twin)
    }
    return made
  } finally {
    await db.close()
  }
}

function createToken({ db, ids }: CreateTenantDeps, tenantId: string): Promise<string> {
  const person = {
    email: `${ids.uuid()}@example.com`,
    name: 'A. Person',
    role: 'DEALER_STAFF' as const,
    tenantId,
    oneTimePassword: PASSWORD,
  }
  return db.tx(async (tx) => {
    const { personId } = await createPerson(tx, ids, person, SYSTEM)
    tx.send({
      text: 'update people set password_change_required = false where person_id = $1',
      values: [personId],
    })
    return (await createAccessToken(tx, ids, personId, { name: 'Bench', scope: 'WRITE', days: 1 })).token
  })
}
