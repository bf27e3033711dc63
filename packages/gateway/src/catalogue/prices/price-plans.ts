import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import {
  alreadyExists,
  checkCurrency,
  checkExists,
  checkName,
  checkPrice,
  insertName,
  invalidField,
} from '../catalogue-checks.ts'
import { changeCatalogue } from '../catalogue-version.ts'
import type { ChangeDeps } from '../packages/put-packages.ts'
import { formatPercent } from './percent.ts'
import { checkScope, type RuleTarget, type StoredScope, scopeOf, targetOf } from './plan-rule-scope.ts'
import type { PercentBasis, PlanRuleRow } from './plan-rules.ts'
import { formatRounding, MalformedRounding, parseRounding } from './price-engine.ts'

/** Identifies a rule of a plan, with the currency of its price. */
export interface RuleKey extends RuleTarget {
  readonly planName: string
  /** If absent, it has always been valid. */
  readonly validFrom?: Date | null | undefined
}

export type RuleValue = (
  | {
      /**
       * In 1/10 000 of a percent: a change to the list price in any currency (−100 000n means ten percent less), or COST:
       * added to the cost.
       */
      readonly percent: bigint
      readonly basis?: PercentBasis | undefined
      /** In its text form. */
      readonly rounding?: string | undefined
    }
  /** A fixed price in one currency, in 1/10 000. */
  | { readonly price: bigint; readonly currencyCode: string }
) & {
  /** Exclusive, in the future. Absent: forever. */
  readonly validUntil?: Date | null | undefined
}

export async function createPlan(
  deps: ChangeDeps,
  planName: string,
  by: By,
  displayName: string | null = null,
): Promise<void> {
  checkName('planName', planName)
  await changeCatalogue(deps.db, async (tx) => {
    if (!(await insertName(tx, 'plan', planName))) throw alreadyExists('price plan', planName)
    tx.send(updateDisplayName(planName, displayName))
    const after = displayName === null ? {} : { after: { displayName } }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'price_plan.create', subject: planName, ...after })
  })
}

/** Sets the name that the console shows, which may have spaces; null: none. Programs use the plan's name. */
export async function setPlanDisplayName(
  deps: ChangeDeps,
  planName: string,
  displayName: string | null,
  by: By,
): Promise<void> {
  await changeCatalogue(deps.db, async (tx) => {
    await checkExists(tx, 'plan', planName)
    const [row] = await tx.query<{ displayName: string | null }>(sql`
      select display_name from price_plans where plan_name = ${planName}`)
    if (row!.displayName === displayName) return
    tx.send(updateDisplayName(planName, displayName))
    const names = { before: { displayName: row!.displayName }, after: { displayName } }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'price_plan.set_display_name', subject: planName, ...names })
  })
}

function updateDisplayName(planName: string, displayName: string | null) {
  return { text: 'update price_plans set display_name = $2 where plan_name = $1', values: [planName, displayName] }
}

/** Adds a rule to a plan, or replaces the rule with the same packages, currency and beginning. */
export async function setPlanRule(deps: ChangeDeps, key: RuleKey, value: RuleValue, by: By): Promise<void> {
  await changeCatalogue(deps.db, async (tx, stamp) => {
    const after = await checkRule(tx, key, value)
    const before = await findRule(tx, after)
    const members = Object.keys(after) as (keyof StoredRule)[]
    if (before && !before.removed && members.every((member) => isSame(before[member], after[member]))) return
    tx.send({
      text: `insert into price_plan_rules (plan_name, scope, target, currency_code, valid_from, valid_until, percent, basis,
               rounding, price, removed, first_set_at, updated_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, false, $11, $11)
             on conflict (plan_name, scope, target, currency_code, valid_from) do update
             set percent = excluded.percent, basis = excluded.basis, rounding = excluded.rounding, price = excluded.price,
               valid_until = excluded.valid_until, removed = false, updated_at = excluded.updated_at`,
      values: [
        ...identityOf(after),
        after.validUntil,
        after.percent,
        after.basis,
        after.rounding,
        after.price,
        await stamp(),
      ],
    })
    auditRule(tx, deps, { before, after }, by)
  })
}

/** Removes the fixed price in a currency or, without a currency, the percentage. */
export async function removePlanRule(
  deps: ChangeDeps,
  key: RuleKey,
  currencyCode: string | null,
  by: By,
): Promise<void> {
  await changeCatalogue(deps.db, async (tx, stamp) => {
    const before = await getRule(tx, key, currencyCode)
    tx.send({
      text: `update price_plan_rules set removed = true, updated_at = $6
             where plan_name = $1 and scope = $2 and target = $3 and currency_code = $4 and valid_from = $5`,
      values: [...identityOf(before), await stamp()],
    })
    auditRule(tx, deps, { before }, by)
  })
}

/**
 * The rule as the catalogue would have it once it is set, for a preview.
 * @throws Refusal as `setPlanRule` does
 */
export async function draftRule(db: Db, key: RuleKey, value: RuleValue): Promise<PlanRuleRow> {
  return inSnapshot(await db.tx((tx) => checkRule(tx, key, value)))
}

/**
 * A rule as the catalogue would have it once it is removed, for a preview.
 * @throws Refusal as `removePlanRule` does
 */
export async function draftRemoval(db: Db, key: RuleKey, currencyCode: string | null): Promise<PlanRuleRow> {
  const { removed, ...rule } = await db.tx((tx) => getRule(tx, key, currencyCode))
  return { ...inSnapshot(rule), removed: true }
}

function inSnapshot(rule: StoredRule): PlanRuleRow {
  return {
    ...rule,
    rounding: parseRounding(rule.rounding),
    validFrom: Number(rule.validFrom),
    validUntil: Number(rule.validUntil),
    removed: false,
    firstAt: 0,
    updatedAt: 0,
  }
}

interface RuleIdentity extends StoredScope {
  readonly planName: string
  readonly currencyCode: string
  /** −Infinity: always. */
  readonly validFrom: Date | number
}

/** A stored rule, without its history. */
interface StoredRule extends RuleIdentity {
  readonly validUntil: Date | number
  readonly percent: bigint | null
  readonly basis: PercentBasis
  readonly rounding: string
  readonly price: bigint | null
}

/** @throws Refusal */
async function checkRule(tx: Tx, key: RuleKey, value: RuleValue): Promise<StoredRule> {
  const { planName } = key
  const stored = scopeOf(key)
  if ('price' in value) {
    checkCurrency(value.currencyCode)
    checkPrice(value.price, value.currencyCode)
    if (stored.scope === 'LOCATION' || stored.scope === 'SUPPLIER')
      throw invalidField('price', 'A fixed price applies either to one package or to all. Use a percentage here.')
  }
  const terms = percentTerms(value)
  await checkExists(tx, 'plan', planName)
  await checkScope(tx, stored)
  const validFrom = from(key)
  const validUntil = value.validUntil ?? Number.POSITIVE_INFINITY
  await checkPeriod(tx, validFrom, validUntil)
  return {
    ...{ planName, ...stored, currencyCode: 'price' in value ? value.currencyCode : '', validFrom, validUntil },
    ...{ percent: 'percent' in value ? value.percent : null, ...terms, price: 'price' in value ? value.price : null },
  }
}

function from({ validFrom }: RuleKey): Date | number {
  return validFrom ?? Number.NEGATIVE_INFINITY
}

/** A rule whose end has passed would never have been valid, and pollers of the change feed might miss its end. */
async function checkPeriod(tx: Tx, validFrom: Date | number, validUntil: Date | number): Promise<void> {
  if (validUntil === Number.POSITIVE_INFINITY) return
  const [row] = await tx.query<{ now: Date }>({ text: 'select clock_timestamp() as now' })
  if (Number(validUntil) <= row!.now.getTime())
    throw invalidField('validUntil', 'This time has passed: use a later one.')
  if (Number(validUntil) <= Number(validFrom)) throw invalidField('validUntil', 'Use a time after the start.')
}

/** @throws Refusal */
function percentTerms(value: RuleValue): { basis: PercentBasis; rounding: string } {
  if ('price' in value) return { basis: 'LIST', rounding: 'none' }
  const { percent, basis = 'LIST', rounding = 'none' } = value
  if (basis === 'COST' && percent < 0n)
    throw invalidField('percent', 'A percentage added to the cost must be 0 or more.')
  try {
    return { basis, rounding: formatRounding(parseRounding(rounding)) }
  } catch (error) {
    if (error instanceof MalformedRounding) throw invalidField('rounding', error.message)
    throw error
  }
}

/** @throws Refusal unless the plan has the rule */
async function getRule(tx: Tx, key: RuleKey, currencyCode: string | null) {
  const { planName } = key
  await checkExists(tx, 'plan', planName)
  const rule = await findRule(tx, { ...scopeOf(key), planName, currencyCode: currencyCode ?? '', validFrom: from(key) })
  if (!rule || rule.removed) throw invalidField('packageCode', `The plan ${planName} has no such rule.`)
  return rule
}

async function findRule(tx: Tx, identity: RuleIdentity): Promise<(StoredRule & { removed: boolean }) | undefined> {
  const [row] = await tx.query<StoredRule & { removed: boolean }>({
    text: `select ${RULE_COLUMNS}, removed from price_plan_rules
           where plan_name = $1 and scope = $2 and target = $3 and currency_code = $4 and valid_from = $5`,
    values: identityOf(identity),
  })
  return row
}

const RULE_COLUMNS = `plan_name, scope, target, currency_code, valid_from, valid_until, percent, basis, rounding, price`

function identityOf({ planName, scope, target, currencyCode, validFrom }: RuleIdentity) {
  return [planName, scope, target, currencyCode, bound(validFrom)]
}

/** A time as PostgreSQL reads it. */
function bound(time: Date | number): Date | string {
  if (time instanceof Date) return time
  return time < 0 ? '-infinity' : 'infinity'
}

function isSame(a: unknown, b: unknown): boolean {
  return a instanceof Date || b instanceof Date ? Number(a) === Number(b) : a === b
}

interface RuleChange {
  before: (StoredRule & { removed: boolean }) | undefined
  after?: StoredRule
}

function auditRule(tx: Tx, deps: ChangeDeps, { before, after }: RuleChange, by: By) {
  audit(tx, deps.ids, {
    tenantId: null,
    ...by,
    action: after ? 'price_plan.set_rule' : 'price_plan.remove_rule',
    subject: (after ?? before)!.planName,
    ...(before && !before.removed ? { before: shown(before) } : {}),
    ...(after ? { after: shown(after) } : {}),
  })
}

/** The meaningful members of a rule, for the audit log. */
function shown(rule: StoredRule) {
  const { packageCode, locationCode, supplier, percent, basis, rounding, price, currencyCode, ...period } =
    detailsOf(rule)
  const set = { ...(locationCode && { locationCode }), ...(supplier && { supplier }) }
  const dates = Object.fromEntries(Object.entries(period).filter(([, time]) => time !== null))
  if (percent === null) return { packageCode, price, currencyCode, ...dates }
  const terms = basis === 'LIST' && rounding === 'none' ? {} : { basis, rounding }
  return { packageCode, ...set, percent, ...terms, ...dates }
}

/** A rule for display. */
export interface RuleDetails {
  /** At most one of the three is set; if none is, the rule is for every package. */
  readonly packageCode: string | null
  readonly locationCode: string | null
  readonly supplier: string | null
  readonly percent: string | null
  readonly basis: PercentBasis
  readonly rounding: string
  readonly price: bigint | null
  readonly currencyCode: string | null
  /** null: always. */
  readonly validFrom: Date | null
  /** null: forever. */
  readonly validUntil: Date | null
}

function detailsOf(rule: Omit<StoredRule, 'planName'>): RuleDetails {
  return {
    ...targetOf(rule),
    percent: rule.percent === null ? null : formatPercent(rule.percent),
    ...{ basis: rule.basis, rounding: rule.rounding, price: rule.price, currencyCode: rule.currencyCode || null },
    validFrom: finite(rule.validFrom),
    validUntil: finite(rule.validUntil),
  }
}

/** A rule of a snapshot for display. */
export function ruleDetails(rule: Omit<PlanRuleRow, 'planName'>): RuleDetails {
  return detailsOf({ ...rule, rounding: formatRounding(rule.rounding) })
}

function finite(time: Date | number): Date | null {
  return Number.isFinite(Number(time)) ? new Date(Number(time)) : null
}

export interface PlanDetails {
  readonly planName: string
  readonly displayName: string | null
  readonly rules: readonly RuleDetails[]
  readonly tenantIds: readonly string[]
  readonly groupNames: readonly string[]
}

/**
 * Lists all plans, or only the given one, with their rules, tenants and groups. @throws Refusal if the given one does not
 * exist
 */
export async function listPlans(db: Db, planName?: string): Promise<PlanDetails[]> {
  const plans = await db.query<Omit<PlanDetails, 'rules'>>({
    text: `select plan_name, display_name,
             array(select tenant_id::text from tenant_price_plans t
                   where t.plan_name = p.plan_name and not removed order by 1) as tenant_ids,
             array(select group_name from price_group_plans g
                   where g.plan_name = p.plan_name and not removed order by 1) as group_names
           from price_plans p where not removed and ($1::text is null or plan_name = $1) order by plan_name`,
    values: [planName ?? null],
  })
  if (planName !== undefined && plans.length === 0) throw notFound('price plan', planName)
  const rules = await db.query<StoredRule>({
    text: `select ${RULE_COLUMNS}
           from price_plan_rules where not removed and ($1::text is null or plan_name = $1)
           order by plan_name, array_position('{ALL,SUPPLIER,LOCATION,PACKAGE}'::text[], scope), target, currency_code,
             valid_from`,
    values: [planName ?? null],
  })
  const byPlan = new Map<string, RuleDetails[]>(plans.map((plan) => [plan.planName, []]))
  for (const rule of rules) byPlan.get(rule.planName)?.push(detailsOf(rule))
  return plans.map((plan) => ({ ...plan, rules: byPlan.get(plan.planName)! }))
}

/** Lists the rules of all plans that apply to a package: for the package, its location, its first supplier, or all packages. */
export async function listRulesFor(
  db: Db,
  subject: { packageCode: string; location: string; supplier: string | undefined },
): Promise<({ planName: string } & RuleDetails)[]> {
  const rules = await db.query<StoredRule>({
    text: `select ${RULE_COLUMNS}
           from price_plan_rules
           where not removed and (scope, target) in (('PACKAGE', $1), ('LOCATION', $2), ('SUPPLIER', $3), ('ALL', ''))
           order by plan_name, array_position('{PACKAGE,LOCATION,SUPPLIER,ALL}'::text[], scope), valid_from desc,
             currency_code desc`,
    values: [subject.packageCode, subject.location, subject.supplier ?? ''],
  })
  return rules.map((rule) => ({ planName: rule.planName, ...detailsOf(rule) }))
}
