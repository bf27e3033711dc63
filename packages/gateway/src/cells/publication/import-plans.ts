import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { ChangeDeps } from '#catalogue/packages/put-packages.ts'
import {
  createPlan,
  listPlans,
  type RuleDetails,
  removePlanRule,
  setPlanDisplayName,
  setPlanRule,
} from '#catalogue/prices/price-plans.ts'
import type { By } from '#platform/audit/audit.ts'
import type { PublishedPlan, PublishedPlanRule } from './publication-entries.ts'

export interface PlanCounts {
  readonly added: number
  readonly rulesSet: number
  readonly rulesRemoved: number
}

/** Gives each published plan exactly the published rules. Other plans, and the assignments of plans, stay as they are. */
export async function importPlans(deps: ChangeDeps, plans: readonly PublishedPlan[], by: By): Promise<PlanCounts> {
  const known = new Map((await listPlans(deps.db)).map((plan) => [plan.planName, plan]))
  const [clock] = await deps.db.query<{ now: Date }>({ text: 'select clock_timestamp() as now' })
  const counts = { added: 0, rulesSet: 0, rulesRemoved: 0 }
  for (const { planName, displayName, rules } of plans) {
    const before = known.get(planName)
    if (before === undefined) {
      await createPlan(deps, planName, by, displayName)
      counts.added++
    } else await setPlanDisplayName(deps, planName, displayName, by)
    // If the time of a rule has passed since it was published, it can no longer be set, so it is removed.
    const valid = rules.filter(({ validUntil }) => validUntil === null || new Date(validUntil) > clock!.now)
    const published = new Set(valid.map(identityOf))
    for (const rule of before?.rules ?? []) {
      if (published.has(identityOf(rule))) continue
      await removePlanRule(deps, { planName, ...rule }, rule.currencyCode, by)
      counts.rulesRemoved++
    }
    for (const rule of valid) {
      await setPublishedRule(deps, planName, rule, by)
      counts.rulesSet++
    }
  }
  return counts
}

async function setPublishedRule(deps: ChangeDeps, planName: string, rule: PublishedPlanRule, by: By): Promise<void> {
  const { packageCode, locationCode, supplier, percent, price, currencyCode, basis, rounding } = rule
  const validUntil = dateOf(rule.validUntil)
  const key = { planName, packageCode, locationCode, supplier, validFrom: dateOf(rule.validFrom) }
  try {
    if (percent !== null) await setPlanRule(deps, key, { percent: BigInt(percent), basis, rounding, validUntil }, by)
    else await setPlanRule(deps, key, { price: BigInt(price!), currencyCode: currencyCode!, validUntil }, by)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const message = `Nothing was imported: a rule of the price plan ${planName} cannot be set here. ${error.message}`
    throw new Refusal(error.status, error.code, message)
  }
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}

function identityOf(rule: PublishedPlanRule | RuleDetails): string {
  const { packageCode, locationCode, supplier, currencyCode, validFrom } = rule
  return JSON.stringify([packageCode, locationCode, supplier, currencyCode, validFrom])
}
