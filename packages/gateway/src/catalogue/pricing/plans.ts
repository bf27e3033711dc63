import { audit, type By } from '../../audit/audit.ts'
import type { Db, Tx } from '../../lib/postgres/db.ts'
import { notFound } from '../../lib/refusal.ts'
import {
  alreadyExists,
  checkCurrency,
  checkExists,
  checkName,
  checkPrice,
  insertName,
  invalidField,
} from '../checks.ts'
import type { ChangeDeps } from '../packages/put.ts'
import { changeCatalogue } from '../version.ts'
import { formatPercent } from './percent.ts'
import type { PercentBasis } from './quote.ts'
import { formatRounding, MalformedRounding, parseRounding } from './rounding.ts'

/** Identifies a rule of a plan, for one package or all. */
export interface RuleScope {
  readonly planName: string
  /** null: every package. */
  readonly packageCode: string | null
}

export type RuleValue =
  /**
   * In 1/10 000 of a percent: a change of the list price in any currency (−100 000n means ten percent less), or COST: added
   * to the cost. `rounding`: its text form.
   */
  | { readonly percent: bigint; readonly basis?: PercentBasis | undefined; readonly rounding?: string | undefined }
  /** A fixed price in one currency, in 1/10 000. */
  | { readonly price: bigint; readonly currencyCode: string }

export async function createPlan(deps: ChangeDeps, planName: string, by: By): Promise<void> {
  checkName('planName', planName)
  await changeCatalogue(deps.db, async (tx) => {
    if (!(await insertName(tx, 'plan', planName))) throw alreadyExists('price plan', planName)
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'price_plan.create', subject: planName })
  })
}

/** Adds a rule to a plan or replaces the rule with the same scope and currency. */
export async function setPlanRule(deps: ChangeDeps, scope: RuleScope, value: RuleValue, by: By): Promise<void> {
  const currencyCode = 'price' in value ? value.currencyCode : ''
  if ('price' in value) {
    checkCurrency(value.currencyCode)
    checkPrice(value.price)
  }
  const { basis, rounding } = percentTerms(value)
  await changeCatalogue(deps.db, async (tx, stamp) => {
    await checkScope(tx, scope)
    const before = await findRule(tx, scope, currencyCode)
    const percent = 'percent' in value ? value.percent : null
    const price = 'price' in value ? value.price : null
    const after = { percent, basis, rounding, price, removed: false, currencyCode }
    if (before && Object.entries(after).every(([member, term]) => before[member as keyof RuleRow] === term)) return
    tx.send({
      text: `insert into price_plan_rules (plan_name, package_code, currency_code, percent, basis, rounding, price, removed,
               first_set_at, updated_at)
             values ($1, $2, $3, $4, $5, $6, $7, false, $8, $8)
             on conflict (plan_name, package_code, currency_code) do update
             set percent = excluded.percent, basis = excluded.basis, rounding = excluded.rounding, price = excluded.price,
               removed = false, updated_at = excluded.updated_at`,
      values: [scope.planName, scope.packageCode ?? '', currencyCode, percent, basis, rounding, price, await stamp()],
    })
    auditRule(tx, deps, scope, { before, after }, by)
  })
}

/** Removes the fixed price in a currency, or without a currency the percentage. */
export async function removePlanRule(
  deps: ChangeDeps,
  scope: RuleScope,
  currencyCode: string | null,
  by: By,
): Promise<void> {
  await changeCatalogue(deps.db, async (tx, stamp) => {
    await checkExists(tx, 'plan', scope.planName)
    const before = await findRule(tx, scope, currencyCode ?? '')
    if (!before || before.removed) throw invalidField('packageCode', `The plan ${scope.planName} has no such rule.`)
    tx.send({
      text: `update price_plan_rules set removed = true, updated_at = $4
             where plan_name = $1 and package_code = $2 and currency_code = $3`,
      values: [scope.planName, scope.packageCode ?? '', currencyCode ?? '', await stamp()],
    })
    auditRule(tx, deps, scope, { before }, by)
  })
}

/** @throws Refusal */
function percentTerms(value: RuleValue): { basis: PercentBasis; rounding: string } {
  if ('price' in value) return { basis: 'LIST', rounding: 'none' }
  const { percent, basis = 'LIST', rounding = 'none' } = value
  if (basis === 'COST' && percent < 0n) throw invalidField('percent', 'A percentage is added to a cost: use 0 or more.')
  try {
    return { basis, rounding: formatRounding(parseRounding(rounding)) }
  } catch (error) {
    if (error instanceof MalformedRounding) throw invalidField('rounding', error.message)
    throw error
  }
}

interface RuleRow {
  percent: bigint | null
  basis: PercentBasis
  rounding: string
  price: bigint | null
  removed: boolean
  currencyCode: string
}

async function checkScope(tx: Tx, { planName, packageCode }: RuleScope): Promise<void> {
  await checkExists(tx, 'plan', planName)
  if (packageCode !== null) await checkExists(tx, 'package', packageCode)
}

async function findRule(tx: Tx, scope: RuleScope, currencyCode: string): Promise<RuleRow | undefined> {
  const [row] = await tx.query<RuleRow>({
    text: `select percent, basis, rounding, price, removed, currency_code from price_plan_rules
           where plan_name = $1 and package_code = $2 and currency_code = $3`,
    values: [scope.planName, scope.packageCode ?? '', currencyCode],
  })
  return row
}

interface RuleChange {
  before: RuleRow | undefined
  after?: RuleRow
}

function auditRule(tx: Tx, deps: ChangeDeps, scope: RuleScope, { before, after }: RuleChange, by: By) {
  audit(tx, deps.ids, {
    tenantId: null,
    ...by,
    action: after ? 'price_plan.set_rule' : 'price_plan.remove_rule',
    subject: scope.planName,
    ...(before && !before.removed ? { before: shown(scope, before) } : {}),
    ...(after ? { after: shown(scope, after) } : {}),
  })
}

function shown({ packageCode }: RuleScope, { percent, basis, rounding, price, currencyCode }: RuleRow) {
  if (percent === null) return { packageCode, price, currencyCode }
  const terms = basis === 'LIST' && rounding === 'none' ? {} : { basis, rounding }
  return { packageCode, percent: formatPercent(percent), ...terms }
}

/** A rule for display. */
export interface RuleDetails {
  readonly packageCode: string | null
  readonly percent: string | null
  readonly basis: PercentBasis
  readonly rounding: string
  readonly price: bigint | null
  readonly currencyCode: string | null
}

export interface PlanDetails {
  readonly planName: string
  readonly rules: readonly RuleDetails[]
  readonly tenantIds: readonly string[]
  readonly groupNames: readonly string[]
}

/** Lists all plans, or only the named one, with their rules, tenants and groups. @throws Refusal if the named one does not exist */
export async function listPlans(db: Db, planName?: string): Promise<PlanDetails[]> {
  const plans = await db.query<Omit<PlanDetails, 'rules'>>({
    text: `select plan_name,
             array(select tenant_id::text from tenant_price_plans t
                   where t.plan_name = p.plan_name and not removed order by 1) as tenant_ids,
             array(select group_name from price_group_plans g
                   where g.plan_name = p.plan_name and not removed order by 1) as group_names
           from price_plans p where not removed and ($1::text is null or plan_name = $1) order by plan_name`,
    values: [planName ?? null],
  })
  if (planName !== undefined && plans.length === 0) throw notFound('price plan', planName)
  const rules = await db.query<RuleRow & { planName: string; packageCode: string }>({
    text: `select plan_name, package_code, currency_code, percent, basis, rounding, price
           from price_plan_rules where not removed and ($1::text is null or plan_name = $1)
           order by plan_name, package_code, currency_code`,
    values: [planName ?? null],
  })
  const byPlan = new Map<string, RuleDetails[]>()
  for (const { planName: name, packageCode, percent, basis, rounding, price, currencyCode } of rules) {
    const rule: RuleDetails = {
      packageCode: packageCode || null,
      percent: percent === null ? null : formatPercent(percent),
      ...{ basis, rounding, price },
      currencyCode: currencyCode || null,
    }
    const list = byPlan.get(name)
    if (list) list.push(rule)
    else byPlan.set(name, [rule])
  }
  return plans.map((plan) => ({ ...plan, rules: byPlan.get(plan.planName) ?? [] }))
}
