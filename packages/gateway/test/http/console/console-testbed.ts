import { randomBytes } from 'node:crypto'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createOutbound, type Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import { createCatalogue } from '#catalogue/catalogue.ts'
import { addConsoleApi } from '#http/console/console-server.ts'
import { CONSOLE_API, type ConsoleDeps } from '#http/console/kernel/route.ts'
import { createBodyBudget } from '#http/load-shedding/byte-budget.ts'
import { createLocalSignIn } from '#people/local-sign-in.ts'
import { createPerson } from '#people/manage-people.ts'
import type { Role } from '#people/person.ts'
import type { Provider } from '#people/provider/provider.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import type { Config } from '#platform/config/config.ts'
import { NO_TWINS } from '#platform/deployment/open-twins.ts'
import { createSuppliers } from '#suppliers/supplier-registry.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'

export const ORIGIN = 'https://gateway.test'
export const PASSWORD = 'correct horse battery staple'
/** The members of requests that ask for the password again. */
export const REAUTHENTICATION = { password: PASSWORD }
const COOKIE = '__Host-console'

/** A clock that tests can move, because authenticator codes depend on it. */
function movableClock(startMs: number) {
  const clock = { timeMs: startMs, now: () => clock.timeMs, monotonic: () => clock.timeMs }
  return clock
}

/** Starts the console API on its own database, with `config` and `provider` as an operator might set them. */
export async function startConsole(
  options: {
    config?: Partial<Config>
    provider?: (deps: { outbound: Outbound }) => Provider | undefined
    /** The memory available for unfinished bodies. */
    bodiesMaxBytes?: number
  } = {},
) {
  const database = await createTestDatabase()
  const db = createDb({ url: database.url, poolSize: 5, applicationName: 'console test' })
  const clock = movableClock(Date.now())
  const linkKey = randomBytes(32)
  const config = {
    deployment: 'test' as const,
    cellName: 'main',
    defaultQpsLimit: 100,
    oidcDomains: [],
    oidcRoles: new Map(),
    ...options.config,
  }
  const outbound = createOutbound()
  const cipher = createCipher([randomBytes(32)])
  const wake = { wake() {}, on: () => () => {} }
  const shared = { db, ids: systemIds, clock, cipher, linkKey, log: silentLog, wake, config, outbound }
  const suppliers = await createSuppliers(shared)
  const deps = {
    ...shared,
    suppliers,
    catalogue: createCatalogue({ db, linkKey, databaseClock: clock }),
    databaseClock: clock,
    links: { publicUrl: ORIGIN },
    localSignIn: createLocalSignIn(),
    consoleUrl: () => `${ORIGIN}/console`,
    provider: options.provider?.({ outbound }),
    twins: NO_TWINS,
  } as unknown as ConsoleDeps
  const app = Fastify()
  addConsoleApi(app, deps, {
    origins: [ORIGIN],
    loopback: false,
    addressOf: (request) => request.ip,
    bodies: createBodyBudget(options.bodiesMaxBytes ?? 64 * 1024 * 1024),
    bodyRefusals: { pace: (write) => write() },
    cookieName: COOKIE,
  })
  await app.ready()
  return {
    app,
    deps,
    db,
    clock,
    async stop() {
      await app.close()
      await suppliers.stop(1_000)
      await outbound.close()
      await db.close()
      await database.drop()
    },
  }
}

export type ConsoleTestbed = Awaited<ReturnType<typeof startConsole>>

/** Creates a person who has chosen a password. */
export async function addPerson(
  { db, deps }: Pick<ConsoleTestbed, 'db' | 'deps'>,
  role: Role,
  tenantId: string | null = null,
): Promise<{ personId: string; email: string }> {
  const email = `${randomBytes(5).toString('hex')}@people.test`
  const person = { email, name: 'A. Person', role, tenantId, oneTimePassword: PASSWORD }
  const { personId } = await db.tx((tx) => createPerson(tx, deps.ids, person, SYSTEM))
  await db.query({
    text: 'update people set password_change_required = false where person_id = $1',
    values: [personId],
  })
  return { personId, email }
}

/** Each browser has a different address, so that tests do not share rate limits. */
let browsers = 1

/** Calls the console API as one person's browser does. */
export function browser(app: FastifyInstance) {
  const jar = new Map<string, string>()
  const cookie = () => [...jar.values()].join('; ')
  const address = `10.0.${browsers >> 8}.${browsers++ & 255}`
  const headers: Record<string, string> = { origin: ORIGIN }
  return {
    address,
    headers,
    get cookie() {
      return cookie()
    },
    async call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown) {
      const answer = await app.inject({
        method,
        url: CONSOLE_API + path,
        remoteAddress: address,
        headers: { ...headers, ...(jar.size > 0 && { cookie: cookie() }) },
        ...(body !== undefined && { payload: body as object }),
      })
      for (const set of [answer.headers['set-cookie'] ?? []].flat()) {
        const [pair = ''] = set.split(';')
        jar.set(pair.slice(0, pair.indexOf('=')), pair)
      }
      const isJson = String(answer.headers['content-type']).startsWith('application/json')
      return { status: answer.statusCode, body: isJson ? answer.json() : answer.body, headers: answer.headers }
    },
    async signIn(email: string, password = PASSWORD, code?: string) {
      return this.call('POST', '/session', { email, password, ...(code && { code }) })
    },
  }
}

/** Creates a person with this role and signs them in. */
export async function signedInAs(testbed: ConsoleTestbed, role: Role, tenantId: string | null = null) {
  const person = await addPerson(testbed, role, tenantId)
  const window = browser(testbed.app)
  const answer = await window.signIn(person.email)
  if (answer.status !== 200) throw new Error(`sign-in failed: ${JSON.stringify(answer.body)}`)
  return { ...window, ...person, call: window.call, window }
}

/** Inserts a tenant and its wallet. */
export async function addTenant(
  { db, deps }: Pick<ConsoleTestbed, 'db' | 'deps'>,
  clientName: string,
): Promise<string> {
  const tenantId = deps.ids.uuid()
  const appKey = `key_${tenantId.slice(-12)}`
  await db.query({
    text: `with t as (
             insert into tenants (tenant_id, app_key, tenant_name, currency_code) values ($1, $2, $3, 'USD') returning 1)
           insert into wallets (tenant_id, currency_code) select $1, 'USD' from t`,
    values: [tenantId, appKey, clientName],
  })
  return tenantId
}
