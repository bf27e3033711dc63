import Type, { type Static } from 'typebox'
import { invalidField } from '../../../catalogue/checks.ts'
import { MalformedPercent, parsePercent } from '../../../catalogue/pricing/percent.ts'
import {
  createPlan,
  listPlans,
  type PlanDetails,
  type RuleValue,
  removePlanRule,
  setPlanRule,
} from '../../../catalogue/pricing/plans.ts'
import { deletePlan, renamePlan } from '../../../catalogue/pricing/rename-delete.ts'
import { keyCursor, nextCursor, pageAfter, pageSchema } from '../../kernel/paging.ts'
import { OPERATORS, OPERATORS_WRITE, type Route, route } from '../../kernel/route.ts'
import { CLOSED, done, line, money, nullable } from '../../kernel/schemas.ts'
import { members, membersOf } from './price-members.ts'

const PERCENT_BASES = ['LIST', 'COST'] as const

const planRow = Type.Object({
  planName: Type.String(),
  ruleCount: Type.Integer(),
  tenantCount: Type.Integer(),
  groupNames: Type.Array(Type.String()),
})
export type PlanRow = Static<typeof planRow>

const rule = Type.Object({
  packageCode: nullable(Type.String({ description: 'null: every package' })),
  percent: nullable(
    Type.String({ description: 'Of the list price: -10 is ten percent less. Of the cost: added to it' }),
  ),
  basis: Type.Enum(PERCENT_BASES, { description: 'What the percentage is of' }),
  rounding: Type.String({ description: 'none, .99, .49/.99, or a step such as 0.05' }),
  price: nullable(money()),
  currencyCode: nullable(Type.String()),
})
export type PlanRule = Static<typeof rule>

const plan = Type.Object({
  ...planRow.properties,
  ...members.properties,
  rules: Type.Array(rule),
  nextCursor: nextCursor(),
})
export type PlanDetail = Static<typeof plan>

const planName = Type.Object({ planName: line(64) }, CLOSED)
const packageCode = () => Type.Optional(Type.String({ maxLength: 64, description: 'Every package if omitted' }))
const ruleBody = Type.Object(
  {
    packageCode: packageCode(),
    percent: Type.Optional(Type.String({ maxLength: 40 })),
    basis: Type.Optional(Type.Enum(PERCENT_BASES, { description: 'Default: LIST' })),
    rounding: Type.Optional(Type.String({ maxLength: 100, description: 'Of the percentage. Default: none' })),
    price: Type.Optional(money()),
    currencyCode: Type.Optional(Type.String({ maxLength: 40 })),
  },
  CLOSED,
)

export const pricePlanRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/price-plans',
    access: OPERATORS,
    summary: 'Price plans by name, with the number of their dealers',
    query: Type.Object({ cursor: keyCursor() }, CLOSED),
    answer: pageSchema('plans', planRow),
    async handle({ deps }, { query }) {
      const { page, nextCursor } = pageAfter(await listPlans(deps.db), (row) => row.planName, query.cursor)
      return { plans: page.map(rowOf), nextCursor }
    },
  }),
  route({
    method: 'GET',
    path: '/price-plans/:planName',
    access: OPERATORS,
    summary: 'A price plan, a page of its rules, and its dealers',
    params: planName,
    query: Type.Object({ packageCode: packageCode(), cursor: keyCursor() }, CLOSED),
    answer: plan,
    async handle({ deps }, { params, query }) {
      const [found] = await listPlans(deps.db, params.planName)
      const matching = found!.rules.filter((row) => (row.packageCode ?? '').includes(query.packageCode ?? ''))
      const keyOf = (row: StoredRule) => `${row.packageCode ?? ''} ${row.currencyCode ?? ''}`
      const { page, nextCursor } = pageAfter(matching, keyOf, query.cursor)
      return { ...rowOf(found!), ...(await membersOf(deps.db, found!.tenantIds)), rules: page, nextCursor }
    },
  }),
  route({
    method: 'POST',
    path: '/price-plans',
    access: OPERATORS_WRITE,
    summary: 'Create a price plan without rules',
    body: planName,
    answer: done,
    async handle({ deps, by }, { body }) {
      await createPlan(deps, body.planName, by)
      return {}
    },
  }),
  route({
    method: 'PATCH',
    path: '/price-plans/:planName',
    access: OPERATORS_WRITE,
    summary: 'Rename a price plan. Prices do not change',
    params: planName,
    body: planName,
    answer: done,
    async handle({ deps, by }, { params, body }) {
      await renamePlan(deps, params.planName, body.planName, by)
      return {}
    },
  }),
  route({
    method: 'DELETE',
    path: '/price-plans/:planName',
    access: OPERATORS_WRITE,
    summary: 'Delete a price plan that nobody uses',
    params: planName,
    answer: done,
    async handle({ deps, by }, { params }) {
      await deletePlan(deps, params.planName, by)
      return {}
    },
  }),
  route({
    method: 'PUT',
    path: '/price-plans/:planName/rules',
    access: OPERATORS_WRITE,
    summary: 'Set a percentage or a price for one package or for all',
    params: planName,
    body: ruleBody,
    answer: done,
    async handle({ deps, by }, { params, body }) {
      const scope = { planName: params.planName, packageCode: body.packageCode || null }
      await setPlanRule(deps, scope, ruleOf(body), by)
      return {}
    },
  }),
  route({
    method: 'DELETE',
    path: '/price-plans/:planName/rules',
    access: OPERATORS_WRITE,
    summary: 'Remove a percentage, or, with currencyCode, a price',
    params: planName,
    query: Type.Object({ packageCode: packageCode(), currencyCode: Type.Optional(line(40)) }, CLOSED),
    answer: done,
    async handle({ deps, by }, { params, query }) {
      const scope = { planName: params.planName, packageCode: query.packageCode || null }
      await removePlanRule(deps, scope, query.currencyCode ?? null, by)
      return {}
    },
  }),
]

type StoredRule = PlanDetails['rules'][number]

function rowOf({ planName, rules, tenantIds, groupNames }: PlanDetails) {
  return { planName, ruleCount: rules.length, tenantCount: tenantIds.length, groupNames: [...groupNames] }
}

/** @throws Refusal unless there is either a percentage or a price with its currency */
function ruleOf({ percent, basis, rounding, price, currencyCode }: Static<typeof ruleBody>): RuleValue {
  if (percent !== undefined && price === undefined && currencyCode === undefined) {
    return { percent: percentOf(percent), basis, rounding }
  }
  if (percent === undefined && price !== undefined && currencyCode !== undefined)
    return { price: BigInt(price), currencyCode }
  throw invalidField('percent', 'Give either a percentage, or a price with its currency.')
}

function percentOf(text: string): bigint {
  try {
    return parsePercent(text)
  } catch (error) {
    if (error instanceof MalformedPercent) throw invalidField('percent', error.message)
    throw error
  }
}
