import { Readable } from 'node:stream'
import { csvText, memberColumns } from '@dealer-esim/lib/csv.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import Type, { type Static } from 'typebox'
import { sentence } from '#people/languages/translate-answer.ts'
import { applyRules } from '#products/rules/apply-rules.ts'
import { deleteRule, getRule, listRules, releasePackages, setRule } from '#products/rules/manage-rules.ts'
import {
  PREVIEW_CHANGES,
  type Preview,
  type PreviewLine,
  previewCells,
  previewRules,
} from '#products/rules/preview-rules.ts'
import { effectOfRule } from '#products/rules/rule-effect.ts'
import { mergeRule, type SaleRule, saleRule, saleRuleInput } from '#products/rules/sale-rule.ts'
import { csvRoute, inOnePart, sendCsv } from '../kernel/csv-route.ts'
import { OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, time } from '../kernel/route-schemas.ts'

const ruleRow = Type.Object({
  ruleName: Type.String(),
  rule: saleRule,
  isApplied: Type.Boolean({ description: 'false: it was changed since, or never applied' }),
  packages: Type.Integer(),
  updatedAt: time(),
})
export type SaleRuleRow = Static<typeof ruleRow>

const previewLine = Type.Object({
  packageCode: Type.String(),
  change: Type.Enum(PREVIEW_CHANGES),
  name: Type.String(),
  ruleName: nullable(Type.String()),
  currencyCode: nullable(Type.String()),
  priceBefore: nullable(money()),
  priceAfter: nullable(money()),
  cost: nullable(money()),
  margin: nullable(money()),
  suppliers: Type.Array(
    Type.Object({
      supplier: Type.String(),
      productCode: Type.String(),
      costPrice: nullable(money()),
      costCurrency: nullable(Type.String()),
    }),
  ),
  warnings: Type.Array(Type.String({ description: 'PRICE_FALLS, PRICE_REMOVED or BELOW_COST: check it first' })),
  reason: nullable(sentence('Why it is left as it is, or goes off sale')),
})

const preview = Type.Object({
  basis: Type.String({ description: 'Identifies what applying would do' }),
  counts: Type.Object({
    ADDED: Type.Integer(),
    CHANGED: Type.Integer(),
    ON_SALE: Type.Integer(),
    OFF_SALE: Type.Integer(),
    BLOCKED: Type.Integer(),
    UNCHANGED: Type.Integer(),
  }),
  repriced: Type.Integer(),
  doubtful: Type.Integer({ description: 'Packages with warnings' }),
  products: Type.Integer(),
  unselected: Type.Integer({ description: 'Products that no rule selects' }),
  skipped: Type.Object({
    NO_RATE: Type.Integer(),
    NO_COUNTRY: Type.Integer(),
    NO_COST: Type.Integer(),
    PRICE_TOO_HIGH: Type.Integer(),
  }),
  oldRates: Type.Array(Type.Object({ costCurrency: Type.String(), saleCurrency: Type.String(), ratedAt: time() })),
  notRead: Type.Array(Type.Object({ supplier: Type.String(), reason: Type.Enum(['NEVER', 'HELD']) }), {
    description: 'Suppliers whose catalogue, or its latest version, has not been accepted yet',
  }),
  lines: Type.Array(previewLine),
  linesLeftOut: Type.Integer({ description: 'Lines beyond the first thousand: GET /sale-rules/preview.csv has all' }),
})
export type SaleRulePreview = Static<typeof preview>

const percent = () => Type.Integer({ description: 'Of the price, in percent' })
const ruleEffect = Type.Object({
  currencyCode: Type.String(),
  packages: Type.Integer({ description: 'Packages that the rule would make' }),
  lowestPrice: nullable(money()),
  lowestMargin: nullable(percent()),
  medianMargin: nullable(percent()),
  highestMargin: nullable(percent()),
  examples: Type.Array(
    Type.Object({
      name: Type.String(),
      locationCodes: Type.Array(Type.String()),
      cost: money(),
      price: money(),
      margin: percent(),
    }),
  ),
})
export type SaleRuleEffect = Static<typeof ruleEffect>

const draft = Type.Object({ ruleName: line(64), rule: saleRuleInput }, CLOSED)
const params = Type.Object({ ruleName: line(64) }, CLOSED)
/** Those with warnings come first. */
const LINES_MAX = 1_000
/** A preview of a large catalogue occupies this process for a few seconds. */
const PREVIEWS_PER_MINUTE = 20
/** For a rule that is being typed. Reads no packages, so it takes a tenth of the time of a preview. */
const EFFECTS_PER_MINUTE = 60

export const saleRuleRoutes: Route[] = [
  route('GET /sale-rules', {
    access: OPERATORS,
    summary: 'Sale rules, in the order in which they select products',
    answer: Type.Object({ rules: Type.Array(ruleRow) }),
    handle: async ({ deps }) => ({ rules: await listRules(deps.db) }),
  }),
  csvRoute({
    path: '/sale-rules.csv',
    access: OPERATORS,
    summary: 'Sale rules as CSV, in the order in which they select products',
    file: 'sale-rules',
    parts: ({ deps }) => inOnePart(listRules(deps.db)),
    columns: {
      name: (row) => row.ruleName,
      position: (row) => row.rule.position,
      suppliers: (row) => row.rule.suppliers?.join(' '),
      percent: (row) => Number(row.rule.percent),
      fixed: (row) => BigInt(row.rule.fixed),
      minMargin: (row) => BigInt(row.rule.minMargin),
      rounding: (row) => row.rule.rounding,
      currency: (row) => row.rule.currencyCode,
      ...memberColumns('packages', 'isApplied', 'updatedAt'),
    },
  }),
  route('PUT /sale-rules/:ruleName', {
    access: OPERATORS_WRITE,
    summary: 'Add a sale rule, or change the given members of one. Packages change when the rules are applied',
    params,
    body: saleRuleInput,
    answer: ruleRow,
    async handle({ deps, by }, { params, body }) {
      await setRule(deps, params.ruleName, body, by)
      return getRule(deps.db, params.ruleName)
    },
  }),
  route('DELETE /sale-rules/:ruleName', {
    access: OPERATORS_WRITE,
    summary:
      'Delete a sale rule. Its packages go off sale when the rules are next applied, or belong to no rule any more',
    params,
    query: Type.Object({ keepPackages: Type.Optional(Type.Boolean()) }, CLOSED),
    handle: ({ deps, by }, { params, query }) =>
      deleteRule(deps, params.ruleName, { keepPackages: query.keepPackages === true }, by),
  }),
  route('POST /sale-rules/preview', {
    access: OPERATORS_WRITE,
    summary: 'What applying the sale rules would change; with a draft, as if that rule were saved. Changes nothing',
    ratePerMinute: PREVIEWS_PER_MINUTE,
    body: Type.Object(
      {
        draft: Type.Optional(draft),
        change: Type.Optional(Type.Enum(PREVIEW_CHANGES, { description: 'Only lines of this kind' })),
      },
      CLOSED,
    ),
    answer: preview,
    async handle({ deps }, { body }) {
      const drafts = new Map()
      if (body.draft !== undefined) drafts.set(body.draft.ruleName, await draftedRule(deps.db, body.draft))
      return shown(await previewRules(deps.db, drafts), body.change)
    },
  }),
  route('POST /sale-rules/effect', {
    access: OPERATORS,
    summary: 'What a draft of a sale rule would sell, at which prices and margins. Changes nothing',
    ratePerMinute: EFFECTS_PER_MINUTE,
    body: draft,
    answer: ruleEffect,
    async handle({ deps }, { body }) {
      return { ...(await effectOfRule(deps.db, body.ruleName, await draftedRule(deps.db, body))) } as SaleRuleEffect
    },
  }),
  route('GET /sale-rules/preview.csv', {
    access: OPERATORS,
    summary: 'The preview of all packages as CSV',
    ratePerMinute: PREVIEWS_PER_MINUTE,
    answer: Type.String(),
    answerType: 'text/csv',
    async handle({ deps, reply }) {
      const text = csvText(previewCells(await previewRules(deps.db)))
      return sendCsv(reply, 'preview.csv', Readable.from([text]))
    },
  }),
  route('POST /sale-rules/apply', {
    access: OPERATORS_WRITE,
    summary: 'Apply the sale rules exactly as previewed, in one transaction; refused if anything has changed since',
    body: Type.Object({ basis: Type.String({ pattern: '^[0-9a-f]{32}$' }) }, CLOSED),
    answer: Type.Object({ added: Type.Integer(), changed: Type.Integer() }),
    handle: async ({ deps, by }, { body }) => ({ ...(await applyRules(deps, body.basis, by)) }),
  }),
  route('POST /sale-rules/release', {
    access: OPERATORS_WRITE,
    summary: 'Separate packages from their sale rules: no rule changes them any more',
    body: Type.Object({ packageCodes: Type.Array(line(64), { minItems: 1, maxItems: 1_000 }) }, CLOSED),
    answer: Type.Object({ released: Type.Array(Type.String()) }),
    handle: async ({ deps, by }, { body }) => ({ released: await releasePackages(deps, body.packageCodes, by) }),
  }),
]

/** The saved rule with that name, or a new one, with the draft's members. */
async function draftedRule(db: Db, { ruleName, rule }: Static<typeof draft>): Promise<SaleRule> {
  const saved = (await listRules(db)).find((one) => one.ruleName === ruleName)
  return mergeRule(saved?.rule, rule)
}

function shown(result: Preview, change: PreviewLine['change'] | undefined) {
  const lines = result.lines.filter((line) => change === undefined || line.change === change)
  const sorted = lines.toSorted((a, b) => b.warnings.length - a.warnings.length)
  const first = sorted.slice(0, LINES_MAX).map((one) => ({ ...one, warnings: [...one.warnings] }))
  return {
    ...result,
    oldRates: [...result.oldRates],
    notRead: [...result.notRead],
    lines: first,
    linesLeftOut: lines.length - first.length,
  }
}
