import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { examineRunning } from '#operations/doctor/examine.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { hasSecondFactor } from '#people/person.ts'
import { audit, NIL_TENANT } from '#platform/audit/audit.ts'
import { SELLS_THROUGH } from '#tenants/change-tenant.ts'
import { type Context, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { nullable } from '../kernel/route-schemas.ts'

const setup = Type.Object({
  /** Each step, and whether it is complete. */
  steps: Type.Object({
    secondFactor: Type.Boolean({ description: 'The caller has one' }),
    supplier: Type.Boolean({
      description: 'A supplier other than the sandbox was seen to work. On a local gateway the sandbox is enough',
    }),
    catalogue: Type.Boolean({ description: 'A package other than those of the sandbox is on sale' }),
    dealer: Type.Boolean({ description: 'A dealer has a person, and something was posted to its wallet' }),
    brand: Type.Boolean({ description: 'The operator has a name, and an address for questions' }),
    testOrder: Type.Boolean(),
    webhook: Type.Boolean(),
    goLive: Type.Boolean({ description: 'The latest go-live checks found no fault' }),
  }),
  dealer: nullable(
    Type.Object({
      tenantId: Type.String(),
      clientName: Type.String(),
      appKey: Type.String(),
      currencyCode: Type.String(),
      sellsThrough: Type.Enum(SELLS_THROUGH),
      hasPeople: Type.Boolean(),
      hasMoney: Type.Boolean({ description: 'Something was ever posted to its wallet' }),
    }),
  ),
  testPackage: nullable(
    Type.String({ description: 'The sandbox package that is delivered immediately, if it is on sale' }),
  ),
})
export type Setup = Static<typeof setup>

const checks = Type.Object({
  findings: Type.Array(
    Type.Object({
      check: sentence(),
      state: Type.Enum(['OK', 'WARNING', 'FAULT']),
      message: sentence(),
    }),
  ),
})
export type GoLiveChecks = Static<typeof checks>

/** A low limit, because checks call suppliers, the mail server and PUBLIC_URL. */
const CHECKS_PER_MINUTE = 6

export const setupRoutes: Route[] = [
  route('GET /setup', {
    access: OPERATORS_WRITE,
    summary: 'The steps of setting up a gateway that are done',
    answer: setup,
    handle: (context) => getSetup(context),
  }),
  route('POST /setup/checks', {
    access: OPERATORS_WRITE,
    summary: 'Run the checks before going live. They change nothing; the audit log gets the number of faults',
    answer: checks,
    ratePerMinute: CHECKS_PER_MINUTE,
    async handle({ deps, by }) {
      const findings = await examineRunning(deps)
      const count = (state: string) => findings.filter((finding) => finding.state === state).length
      const after = { faults: count('FAULT'), warnings: count('WARNING') }
      await deps.db.tx(async (tx) =>
        audit(tx, deps.ids, { tenantId: null, ...by, action: 'deployment.check', subject: 'go-live', after }),
      )
      return { findings: findings.map(({ check, state, message }) => ({ check, state, message })) }
    },
  }),
]

/** Only the oldest dealers are considered, which include the first one set up. */
const DEALERS_MAX = 100
const DAY_MS = 86_400_000
/** Older results say little about the gateway as it is now. */
const CHECKS_VALID_MS = 90 * DAY_MS
/** Delivers every order immediately. */
const TEST_PACKAGE = 'SANDBOX_OK'

async function getSetup({ deps, person }: Context): Promise<Setup> {
  const since = firstUuidAt(deps.databaseClock.now() - CHECKS_VALID_MS)
  const [[found], [dealer]] = await Promise.all([
    deps.db.query<Omit<Setup['steps'], 'secondFactor' | 'dealer'> & { testPackage: string | null }>(sql`
      select exists (select from suppliers join supplier_states using (supplier)
                     where (type <> 'sandbox' or ${deps.config.deployment === 'local'})
                       and seen_at is not null and failure is null) as supplier,
             exists (select from packages join package_suppliers using (package_code)
                     where on_sale and not starts_with(package_code, 'SANDBOX_')) as catalogue,
             exists (select from operator_settings where contact_name is not null and contact_email is not null) as brand,
             exists (select from orders where order_status = 'DELIVERED') as test_order,
             exists (select from webhook_endpoints where callback_url is not null) as webhook,
             (select package_code from packages where package_code = ${TEST_PACKAGE} and on_sale) as test_package,
             coalesce((select (after ->> 'faults')::int = 0 from audit_log
                       where tenant_id = ${NIL_TENANT} and audit_id >= ${since} and action = 'deployment.check'
                       order by audit_id desc limit 1), false) as go_live`),
    deps.db.query<NonNullable<Setup['dealer']>>(sql`
      select tenant_id, client_name, app_key, currency_code, sells_through, has_people, has_money
      from (select tenant_id, tenant_name as client_name, app_key, t.currency_code, sells_through, w.version > 0 as has_money,
                   exists (select from people p where p.tenant_id = t.tenant_id) as has_people
            from tenants t join wallets w using (tenant_id) order by tenant_id limit ${DEALERS_MAX}) d
      order by has_people and has_money desc, has_people or has_money desc, tenant_id limit 1`),
  ])
  const { testPackage, ...steps } = found!
  return {
    steps: {
      ...steps,
      secondFactor: hasSecondFactor(person),
      dealer: dealer?.hasPeople === true && dealer.hasMoney,
    },
    dealer: dealer ?? null,
    testPackage,
  }
}
