import { join } from 'node:path'
import type { OperationName } from '@dealer-esim/contract'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { seedDemoCatalogue } from './catalogue/demo/seed-catalogue.ts'
import type { Deps } from './deps.ts'
import { ensureFirstOperator, FIRST_OPERATOR } from './people/manage-people.ts'
import { consoleUrlOf, localSignInLink } from './people/personal-link.ts'
import { SYSTEM } from './platform/audit/audit.ts'
import { type LocalAccess, localAccessFile, readLocalAccess, writeLocalAccess } from './platform/config/local-access.ts'
import { createTenant } from './tenants/create-tenant.ts'
import { createKey, listKeys } from './tenants/keys/manage-keys.ts'
import { findByAppKey, findTenant } from './tenants/tenant.ts'
import { topUp } from './wallet/ledger/top-up-wallet.ts'

const CLIENT_NAME = 'Demo dealer'
const OPENING_BALANCE = 10_000_000n // 1 000.00

/** Creates a tenant with a balance and a demo catalogue at the first start of a local deployment. */
export async function ensureLocalDemo(deps: Deps): Promise<void> {
  if (await findDemoTenantId(deps)) return
  await deps.db.tx(async (tx) => {
    // Several nodes may start on one new database: the lock allows only one to create the demo.
    await tx.query({ text: `select pg_advisory_xact_lock(${advisoryKey('local demo')})` })
    if (await findDemoTenantId(deps)) return
    await seedDemoCatalogue(deps)
    const tenant = await createTenant(deps, { clientName: CLIENT_NAME, currencyCode: 'USD' }, SYSTEM)
    const opening = { tenantId: tenant.tenantId, amount: OPENING_BALANCE, reference: 'opening balance' }
    await topUp(deps, opening, SYSTEM)
    tx.send({ text: 'update deployment set demo_tenant_id = $1', values: [tenant.tenantId] })
  })
}

/** Writes local.json and prints the credentials to standard output. */
export async function printLocalAccess(deps: Deps, baseUrl: string): Promise<void> {
  const tenantId = await findDemoTenantId(deps)
  const tenant = tenantId && (await findTenant(deps.db, deps.cipher, { tenantId }))
  if (!tenant) return
  const { dataDir } = deps.config
  const firstPassword = await ensureFirstOperator(deps)
  const consolePassword = firstPassword ?? readLocalAccess(dataDir).consolePassword
  const agentKey = await ensureAgentKey(deps, tenantId)
  const access: LocalAccess = {
    baseUrl,
    appKey: tenant.appKey,
    appSecret: tenant.secrets[0]!.secret,
    ...(agentKey && { agentKey }),
    ...(deps.config.console === 'on' && consoleAccess(deps, consoleUrlOf({ ...deps.links, publicUrl: baseUrl }))),
    consoleUser: FIRST_OPERATOR,
    ...(consolePassword ? { consolePassword } : {}),
  }
  writeLocalAccess(dataDir, access)
  process.stdout.write(banner(access, firstPassword ?? '(unchanged, see the file below)', dataDir))
}

/** As docs/agents.md recommends for agents: what `dealer-esim mcp` calls, and limits that an agent cannot exceed. */
const AGENT_KEY = {
  label: 'agent',
  operations: [
    ...(['health', 'account/balance', 'account/statement', 'package/list', 'location/list', 'order/list'] as const),
    ...(['esim/order', 'esim/topup', 'esim/query', 'esim/profile/list', 'esim/usage/query'] as const),
    ...(['esim/cancel', 'esim/action/query'] as const),
  ] satisfies OperationName[],
  perOrderMax: 500_000n, // 50.00
  perDayMax: 2_000_000n, // 200.00
}

/** Finds the demo dealer's key for agents, or creates it. @returns undefined if it cannot have one now */
async function ensureAgentKey(deps: Deps, tenantId: string): Promise<LocalAccess['agentKey']> {
  const found = await findAgentKey(deps, tenantId)
  if (found) return found
  try {
    return await createKey(deps, tenantId, AGENT_KEY, SYSTEM)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // Another node has just created it, or a gateway of a release without keys is running.
    return findAgentKey(deps, tenantId)
  }
}

async function findAgentKey(deps: Deps, tenantId: string): Promise<LocalAccess['agentKey']> {
  const keys = await listKeys(deps.db, tenantId)
  const key = keys.find(({ label, revokedAt }) => label === AGENT_KEY.label && revokedAt === null)
  const found = key && (await findByAppKey(deps.db, deps.cipher, key.appKey))
  return found && { appKey: found.appKey, appSecret: found.secrets[0]!.secret }
}

function consoleAccess(deps: Pick<Deps, 'ids' | 'localSignIn'>, consoleUrl: string) {
  return { consoleUrl, signInUrl: localSignInLink(consoleUrl, deps.localSignIn.issue(deps.ids)) }
}

async function findDemoTenantId({ db }: Pick<Deps, 'db'>): Promise<string | undefined> {
  const [row] = await db.query<{ demoTenantId: string | null }>({ text: 'select demo_tenant_id from deployment' })
  return row?.demoTenantId ?? undefined
}

/** The CLI reads .data/local.json in its working directory; for another directory it needs DATA_DIR. */
export function tourCommand(dataDir: string, cwd = process.cwd()): string {
  const quoted = /^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`
  return `${dataDir === join(cwd, '.data') ? '' : `DATA_DIR=${quoted} `}npx dealer-esim tour`
}

function banner(access: LocalAccess, password: string, dataDir: string): string {
  return `
  Dealer eSIM Gateway, local deployment

    base URL    ${access.baseUrl}
    AppKey      ${access.appKey}
    AppSecret   ${access.appSecret}

    console     ${access.signInUrl ?? 'off'}
                (signs you in, once; then ${access.consoleUser} with the password)
    password    ${password}

    docs        ${access.baseUrl}/docs
    saved in    ${localAccessFile(dataDir)}

  Try it:  ${tourCommand(dataDir)}

`
}
