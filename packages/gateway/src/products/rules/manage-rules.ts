import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { checkName } from '#catalogue/catalogue-checks.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { mergeRule, type SaleRule, type SaleRuleInput } from './sale-rule.ts'

interface RuleDeps {
  db: Db
  ids: Ids
}

export interface RuleDetails {
  readonly ruleName: string
  readonly rule: SaleRule
  /** The rule has been applied in its current form. false: it has changed since, or was never applied. */
  readonly isApplied: boolean
  readonly packages: number
  readonly updatedAt: Date
}

/** Limits how long a preview takes. */
const RULES_MAX = 500

/** Lists the rules in the order of selecting products. */
export function listRules(db: Pick<Db, 'query'>): Promise<RuleDetails[]> {
  return db.query<RuleDetails>(sql`
    select rule_name, definition as rule, updated_at,
      coalesce(applied::jsonb = definition::jsonb, false) as is_applied,
      (select count(*)::int from rule_packages p where p.rule_name = r.rule_name) as packages
    from sale_rules r order by position, rule_name`)
}

/** @throws Refusal if it does not exist */
export async function getRule(db: Pick<Db, 'query'>, ruleName: string): Promise<RuleDetails> {
  const found = (await listRules(db)).find((one) => one.ruleName === ruleName)
  if (!found) throw notFound('sale rule', ruleName)
  return found
}

/**
 * Adds a rule, or changes the given members of an existing one. Packages change when the rules are applied.
 * @throws Refusal
 */
export async function setRule(deps: RuleDeps, ruleName: string, input: SaleRuleInput, by: By): Promise<void> {
  checkName('ruleName', ruleName)
  await deps.db.tx(async (tx) => {
    const before = await findRule(tx, ruleName)
    if (before === undefined) await checkCount(tx)
    const after = mergeRule(before, input)
    if (JSON.stringify(before) === JSON.stringify(after)) return
    tx.send(sql`
      insert into sale_rules (rule_name, position, definition, updated_at)
      values (${ruleName}, ${after.position}, ${JSON.stringify(after)}, now())
      on conflict (rule_name) do update
      set position = excluded.position, definition = excluded.definition, updated_at = now()`)
    const sides = { ...(before && { before }), after }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'rule.set', subject: ruleName, ...sides })
  })
}

/**
 * Deletes a rule. Its packages go off sale when the rules are next applied, unless another rule makes them; with
 * `keepPackages` they stay unchanged, and rules no longer change them.
 * @throws Refusal
 */
export async function deleteRule(
  deps: RuleDeps,
  ruleName: string,
  { keepPackages }: { keepPackages: boolean },
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const before = await findRule(tx, ruleName)
    if (before === undefined) throw notFound('sale rule', ruleName)
    tx.send({ text: 'delete from sale_rules where rule_name = $1', values: [ruleName] })
    if (keepPackages) tx.send({ text: 'delete from rule_packages where rule_name = $1', values: [ruleName] })
    const sides = { before, after: { keepPackages } }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'rule.delete', subject: ruleName, ...sides })
  })
}

/**
 * Separates packages from their rules, so that rules no longer change them.
 * @returns the codes of the packages that had a rule
 */
export async function releasePackages(deps: RuleDeps, packageCodes: readonly string[], by: By): Promise<string[]> {
  return deps.db.tx(async (tx) => {
    const rows = await tx.query<{ packageCode: string }>(sql`
      delete from rule_packages where package_code = any (${packageCodes}) returning package_code`)
    const released = rows.map(({ packageCode }) => packageCode).sort()
    if (released.length > 0) {
      audit(tx, deps.ids, { tenantId: null, ...by, action: 'rule.release', after: { packageCodes: released } })
    }
    return released
  })
}

async function findRule(tx: Tx, ruleName: string): Promise<SaleRule | undefined> {
  const [row] = await tx.query<{ definition: SaleRule }>(sql`
    select definition from sale_rules where rule_name = ${ruleName} for update`)
  return row?.definition
}

async function checkCount(tx: Tx): Promise<void> {
  const [row] = await tx.query<{ count: number }>({ text: 'select count(*)::int as count from sale_rules' })
  if (row!.count >= RULES_MAX) {
    throw new Refusal(
      409,
      'TOO_MANY_RULES',
      `There are already ${RULES_MAX} sale rules, the maximum: delete one, or widen the filter of another.`,
    )
  }
}
