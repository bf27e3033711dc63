import { countOf } from '@dealer-esim/lib/postgres/count-rows.ts'
import Type, { type Static } from 'typebox'
import { checkCurrency } from '#catalogue/catalogue-checks.ts'
import type { PlanRuleRow } from '#catalogue/prices/plan-rules.ts'
import { previewRule } from '#catalogue/prices/preview-prices.ts'
import {
  createPlan,
  draftRemoval,
  draftRule,
  listPlans,
  type PlanDetails,
  removePlanRule,
  setPlanDisplayName,
  setPlanRule,
} from '#catalogue/prices/price-plans.ts'
import { deletePlan, renamePlan } from '#catalogue/prices/rename-delete.ts'
import { isUsableIn } from '#suppliers/supplier-registry.ts'
import { csvRoute, inOnePart } from '../kernel/csv-route.ts'
import { listRoutes } from '../kernel/list-routes.ts'
import { pageInMemory } from '../kernel/paging.ts'
import { type Context, OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable } from '../kernel/route-schemas.ts'
import { rule, ruleBody, ruleKey, ruleKeyOf, ruleValueOf } from './plan-rule.ts'
import { countPayers, members, membersOf } from './price-members.ts'

const planRow = Type.Object({
  planName: Type.String(),
  displayName: nullable(Type.String()),
  ruleCount: Type.Integer(),
  tenantCount: Type.Integer(),
  groupNames: Type.Array(Type.String()),
})
export type PlanRow = Static<typeof planRow>

const plan = Type.Object({ ...planRow.properties, ...members.properties })
export type PlanDetail = Static<typeof plan>

const planName = Type.Object({ planName: line(64) }, CLOSED)
const displayName = () => nullable(line(100))
const previewCurrency = Type.String({ pattern: '^[A-Z]{3}$' })

/** Identifies a rule: with a currency, the price in that currency; otherwise the percentage. */
const removedRule = Type.Object({ ...ruleKey, currencyCode: Type.Optional(line(40)) }, CLOSED)
const ruleFilter = { packageCode: Type.Optional(Type.String({ maxLength: 64 })) }

const preview = Type.Object({
  at: Type.String({ format: 'date-time', description: 'The time that is shown: now, or when the rule begins' }),
  currencyCode: Type.String(),
  dealers: Type.Integer({ description: 'Dealers of that currency who have the plan, themselves or by their group' }),
  packages: Type.Integer({ description: 'Packages on sale in that currency' }),
  changed: Type.Integer(),
  cheaper: Type.Integer(),
  dearer: Type.Integer(),
  belowCost: Type.Integer({ description: 'Packages that would be sold below the lowest known cost' }),
  unknownCosts: Type.Integer({
    description: 'Packages that change and have no known cost: a loss would not be noticed',
  }),
  otherDealers: Type.Integer({ description: 'Dealers with this plan who pay in other currencies: not included' }),
  lines: Type.Array(
    Type.Object({
      packageCode: Type.String(),
      name: Type.String(),
      before: nullable(money()),
      after: nullable(money()),
      cost: nullable(money()),
    }),
    { description: 'The first fifty that change: losses first, then the largest changes, then the lowest margins' },
  ),
})
export type RulePreview = Static<typeof preview>

export const pricePlanRoutes: Route[] = [
  route('GET /price-plans', {
    access: OPERATORS,
    summary: 'Price plans by name, with the number of their dealers',
    answer: Type.Object({ plans: Type.Array(planRow) }),
    handle: async ({ deps }) => ({ plans: (await listPlans(deps.db)).map(rowOf) }),
  }),
  csvRoute({
    path: '/price-plans.csv',
    access: OPERATORS,
    summary: 'Price plans as CSV',
    file: 'price-plans',
    parts: ({ deps }) => inOnePart(listPlans(deps.db).then((plans) => plans.map(rowOf))),
    columns: {
      name: (row) => row.planName,
      displayName: (row) => row.displayName,
      rules: (row) => row.ruleCount,
      dealers: (row) => row.tenantCount,
      groups: (row) => row.groupNames.join(' '),
    },
  }),
  ...listRoutes({
    name: 'rules',
    file: 'price-rules',
    path: '/price-plans/:planName/rules',
    access: OPERATORS,
    summary: 'The rules of a price plan: for all packages first, then for suppliers, locations and packages',
    params: planName,
    filters: ruleFilter,
    row: rule,
    sorts: { packages: 'INDEX' },
    firstSort: 'packages',
    async find({ deps }, query, page, params) {
      const [found] = await listPlans(deps.db, params.planName)
      return pageInMemory(matchingRules(found!, query), sortKeyOf, page)
    },
    async count({ deps }, query, params) {
      const [found] = await listPlans(deps.db, params.planName)
      return countOf(matchingRules(found!, query).length)
    },
    csv: {
      package: (rule) => rule.packageCode,
      location: (rule) => rule.locationCode,
      supplier: (rule) => rule.supplier,
      percent: (rule) => (rule.percent === null ? null : Number(rule.percent)),
      basis: (rule) => (rule.percent === null ? null : rule.basis),
      rounding: (rule) => (rule.percent === null ? null : rule.rounding),
      price: (rule) => rule.price,
      currency: (rule) => rule.currencyCode,
      validFrom: (rule) => rule.validFrom,
      validUntil: (rule) => rule.validUntil,
    },
  }),
  route('GET /price-plans/:planName', {
    access: OPERATORS,
    summary: 'A price plan and its dealers',
    params: planName,
    answer: plan,
    async handle({ deps }, { params }) {
      const [found] = await listPlans(deps.db, params.planName)
      return { ...rowOf(found!), ...(await membersOf(deps.db, found!.tenantIds)) }
    },
  }),
  route('POST /price-plans', {
    access: OPERATORS_WRITE,
    summary: 'Create a price plan without rules',
    body: Type.Object({ ...planName.properties, displayName: Type.Optional(displayName()) }, CLOSED),
    handle: ({ deps, by }, { body }) => createPlan(deps, body.planName, by, body.displayName),
  }),
  route('PATCH /price-plans/:planName', {
    access: OPERATORS_WRITE,
    summary: 'Rename a price plan. Prices do not change',
    params: planName,
    body: planName,
    handle: ({ deps, by }, { params, body }) => renamePlan(deps, params.planName, body.planName, by),
  }),
  route('DELETE /price-plans/:planName', {
    access: OPERATORS_WRITE,
    summary: 'Delete a price plan that nobody uses',
    params: planName,
    handle: ({ deps, by }, { params }) => deletePlan(deps, params.planName, by),
  }),
  route('PUT /price-plans/:planName/display-name', {
    access: OPERATORS_WRITE,
    summary: 'Set the name that people see, which may have spaces; null: none',
    params: planName,
    body: Type.Object({ displayName: displayName() }, CLOSED),
    handle: ({ deps, by }, { params, body }) => setPlanDisplayName(deps, params.planName, body.displayName, by),
  }),
  route('POST /price-plans/:planName/preview', {
    access: OPERATORS_WRITE,
    summary: 'Show what a rule would change, without saving it',
    params: planName,
    body: Type.Object({ rule: ruleBody, currencyCode: previewCurrency }, CLOSED),
    answer: preview,
    async handle({ deps }, { params: { planName }, body: { rule, currencyCode } }) {
      return previewOf(deps, await draftRule(deps.db, ruleKeyOf(planName, rule), ruleValueOf(rule)), currencyCode)
    },
  }),
  route('POST /price-plans/:planName/removal-preview', {
    access: OPERATORS_WRITE,
    summary: 'Show what removing a rule would change, without removing it',
    params: planName,
    body: Type.Object({ rule: removedRule, currencyCode: previewCurrency }, CLOSED),
    answer: preview,
    async handle({ deps }, { params: { planName }, body: { rule, currencyCode } }) {
      const draft = await draftRemoval(deps.db, ruleKeyOf(planName, rule), rule.currencyCode ?? null)
      return previewOf(deps, draft, currencyCode)
    },
  }),
  route('PUT /price-plans/:planName/rules', {
    access: OPERATORS_WRITE,
    summary: 'Set a percentage for a package, a location, a supplier or all, or a price for a package or all',
    params: planName,
    body: ruleBody,
    handle: ({ deps, by }, { params, body }) =>
      setPlanRule(deps, ruleKeyOf(params.planName, body), ruleValueOf(body), by),
  }),
  route('DELETE /price-plans/:planName/rules', {
    access: OPERATORS_WRITE,
    summary: 'Remove a percentage, or, with currencyCode, a price',
    params: planName,
    query: removedRule,
    handle: ({ deps, by }, { params, query }) =>
      removePlanRule(deps, ruleKeyOf(params.planName, query), query.currencyCode ?? null, by),
  }),
]

async function previewOf(deps: Context['deps'], rule: PlanRuleRow, currencyCode: string) {
  checkCurrency(currencyCode)
  const { planName } = rule
  const input = { planName, rule, currencyCode, isUsable: isUsableIn(deps.suppliers) }
  const { at, lines, ...counts } = previewRule(await deps.catalogue.latest(), input)
  const dealers = await countPayers(deps.db, planName, currencyCode)
  return { at: new Date(at), currencyCode, ...dealers, ...counts, lines: [...lines] }
}

type StoredRule = PlanDetails['rules'][number]

function matchingRules({ rules }: PlanDetails, { packageCode = '' }: { packageCode?: string }): StoredRule[] {
  return rules.filter((row) => (row.packageCode ?? '').includes(packageCode))
}

/** Rules for all packages first, then those for suppliers, locations and packages. */
function sortKeyOf({ packageCode, locationCode, supplier, currencyCode, validFrom }: StoredRule): string {
  const scope =
    packageCode !== null ? `3 ${packageCode}` : locationCode !== null ? `2 ${locationCode}` : `1 ${supplier}`
  const isForAll = packageCode === null && locationCode === null && supplier === null
  return [isForAll ? '0' : scope, currencyCode ?? '', validFrom?.toISOString() ?? ''].join(' ')
}

function rowOf({ planName, displayName, rules, tenantIds, groupNames }: PlanDetails) {
  return { planName, displayName, ruleCount: rules.length, tenantCount: tenantIds.length, groupNames: [...groupNames] }
}
