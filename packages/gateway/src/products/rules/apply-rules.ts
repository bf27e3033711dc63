import type { Ids } from '@dealer-esim/lib/ids.ts'
import { recordset } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { changeCatalogue } from '#catalogue/catalogue-version.ts'
import { applyChanges } from '#catalogue/packages/put-packages.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { computeChanges, type RulePackage } from './compute-changes.ts'
import { basisOf, changeIn, isChange } from './preview-rules.ts'

export interface ApplyDeps {
  readonly db: Db
  readonly ids: Ids
}

export interface Applied {
  readonly added: number
  readonly changed: number
}

/** The number of packages written together. */
const BATCH_ROWS = 250

/**
 * Applies the rules in one transaction under the catalogue's lock, exactly as previewed.
 * @param basis of that preview
 * @throws Refusal if applying the rules would now do anything different
 */
export async function applyRules(deps: ApplyDeps, basis: string, by: By): Promise<Applied> {
  return changeCatalogue(deps.db, async (tx, stamp) => {
    const computed = await computeChanges(tx, 'definition')
    if (basisOf(computed) !== basis) throw new Refusal(409, 'PREVIEW_OUTDATED', OUTDATED)
    const changes = computed.packages.filter(isChange)
    const applied = await writeRulePackages(tx, deps, stamp, changes, by)
    const rules = await tx.query({
      text: `update sale_rules set applied = definition where applied::jsonb is distinct from definition::jsonb returning 1`,
    })
    if (changes.length + rules.length > 0) {
      audit(tx, deps.ids, { tenantId: null, ...by, action: 'rule.apply', after: { ...applied, basis } })
    }
    return applied
  })
}

const OUTDATED =
  'Products, rules, rates or packages have changed since the preview, so nothing was applied. Preview again, and apply that.'

/** Writes packages and their rules. The caller holds the catalogue's lock. */
export async function writeRulePackages(
  tx: Tx,
  deps: Pick<ApplyDeps, 'ids'>,
  stamp: () => Promise<Date>,
  packages: readonly RulePackage[],
  by: By,
): Promise<Applied> {
  let [added, changed] = [0, 0]
  for (let start = 0; start < packages.length; start += BATCH_ROWS) {
    const batch = packages.slice(start, start + BATCH_ROWS)
    const written = await applyChanges(tx, deps, stamp, batch.map(changeIn), by)
    added += written.added
    changed += written.changed
    writeOwners(tx, batch.map(ownerOf))
  }
  return { added, changed }
}

/** A package and the rule that made it. */
export interface PackageOwner {
  readonly packageCode: string
  readonly ruleName: string
  /** The rule has taken the package off sale. */
  readonly offSaleByRule: boolean
}

/** Makes packages follow the rules that created them. */
export function writeOwners(tx: Tx, owners: readonly PackageOwner[]): void {
  tx.send({
    text: `insert into rule_packages (package_code, rule_name, off_sale_by_rule)
           select package_code, rule_name, off_sale_by_rule
           from json_to_recordset($1) as r (package_code text, rule_name text, off_sale_by_rule boolean)
           on conflict (package_code) do update
           set rule_name = excluded.rule_name, off_sale_by_rule = excluded.off_sale_by_rule`,
    values: [recordset(owners)],
  })
}

function ownerOf({ packageCode, planned, ruleBefore, isOffByRule }: RulePackage) {
  return { packageCode, ruleName: (planned?.ruleName ?? ruleBefore)!, offSaleByRule: isOffByRule }
}
