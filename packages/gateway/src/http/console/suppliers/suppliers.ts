import { memberColumns } from '@dealer-esim/lib/csv.ts'
import { HELD, UNSETTLED } from '@dealer-esim/wholesalers/unsettled.ts'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { form, sentence } from '#people/languages/translate-answer.ts'
import { describeSupplierType, needsVerification } from '#suppliers/create-supplier.ts'
import {
  addSupplier,
  allowedTypes,
  getSupplierConfig,
  listSuppliers,
  pauseSupplier,
  setSupplier,
} from '#suppliers/manage-suppliers.ts'
import { NOT_TESTED, SEEN_BY, type SeenState } from '#suppliers/state/see-supplier.ts'
import { testSupplier } from '#suppliers/state/test-supplier.ts'
import { csvRoute, inOnePart } from '../kernel/csv-route.ts'
import { type ConsoleDeps, OPERATOR_ADMINS, OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, time } from '../kernel/route-schemas.ts'
import { confirmedRoute } from '../people/confirmed-route.ts'

const supplierRow = Type.Object({
  supplier: Type.String(),
  type: Type.String(),
  paused: Type.Boolean(),
  /** The breaker's state on this node; null if the supplier could not be started. */
  breaker: nullable(Type.Enum(['closed', 'open', 'half-open'])),
  waiting: Type.Integer({ description: 'eSIMs that wait for an answer of this supplier' }),
  available: nullable(Type.Integer({ description: 'null if not counted' })),
  state: Type.Enum(['NOT_TESTED', 'WORKING', 'FAILING'], {
    description: 'What was seen last: by its test, a reading of its balance or catalogue, or a purchase',
  }),
  seenAt: nullable(time()),
  seenBy: nullable(Type.Enum(SEEN_BY)),
  failure: nullable(sentence('Why it fails')),
  failingSince: nullable(time()),
  status: nullable(sentence('Written from documentation and not yet verified; null otherwise')),
  verifiedAt: nullable(time()),
  verificationFault: nullable(sentence('Which charge the balance contradicted at the latest verification; null: none')),
  unsettled: Type.Array(sentence(), { description: 'What only a purchase can settle; empty once it is verified' }),
  heldAgainst: Type.Array(sentence(), {
    description: 'Answers that its adapter was held against; empty once it is verified',
  }),
  eventsUnproven: Type.Boolean({ description: 'Anybody can send its events: unsigned, and no addresses are set' }),
  dailySpend: nullable(
    Type.Object(
      { limit: money(), spent: money(), currencyCode: Type.String() },
      { description: 'Of this UTC day; null: no limit' },
    ),
  ),
  updatedAt: time(),
})
export type SupplierRow = Static<typeof supplierRow>

const supplierType = Type.Object({
  type: Type.String(),
  docs: Type.String({ description: 'Its page of the documentation, such as docs/zendit.md' }),
  config: form('The JSON Schema of its configuration. writeOnly: a secret'),
  needsLimit: Type.Boolean({ description: 'It needs a daily spend limit until a purchase has verified it' }),
})
export type SupplierTypeRow = Static<typeof supplierType>

const config = () => Type.Record(Type.String({ maxLength: 64 }), Type.Unknown())
const supplierConfig = Type.Object({
  supplier: Type.String(),
  type: Type.String(),
  config: nullable(config()),
  secrets: Type.Array(Type.String(), { description: 'Members of the configuration that are set and never shown' }),
})
export type SupplierConfigDetail = Static<typeof supplierConfig>

/** The result of a test, which buys nothing. */
const tested = Type.Object({ works: Type.Boolean(), words: nullable(sentence()) })
export type SupplierTested = Static<typeof tested>

const params = Type.Object({ supplier: line(64) }, CLOSED)
/** PEM certificates with their chain. */
const CONFIG_SIZE_MAX_BYTES = 256 * 1024

export const supplierRoutes: Route[] = [
  route('GET /suppliers', {
    access: OPERATORS,
    summary: 'Suppliers and their state',
    answer: Type.Object({ suppliers: Type.Array(supplierRow) }),
    handle: async ({ deps }) => ({ suppliers: await listRows(deps) }),
  }),
  csvRoute({
    path: '/suppliers.csv',
    access: OPERATORS,
    summary: 'Suppliers and their state as CSV',
    file: 'suppliers',
    parts: ({ deps }) => inOnePart(listRows(deps)),
    columns: {
      ...memberColumns('supplier', 'type', 'paused', 'state', 'failure', 'breaker', 'waiting'),
      available: (row) => (row.available === null ? null : Number(row.available)),
      verifiedAt: (row) => row.verifiedAt,
      spentToday: (row) => row.dailySpend?.spent,
      dailyLimit: (row) => row.dailySpend?.limit,
      spendCurrency: (row) => row.dailySpend?.currencyCode,
      updatedAt: (row) => row.updatedAt,
    },
  }),
  route('GET /supplier-types', {
    access: OPERATORS,
    summary: 'The types of suppliers, with the schema of their configuration',
    answer: Type.Object({ types: Type.Array(supplierType) }),
    async handle({ deps }) {
      return {
        types: allowedTypes(deps.config).map((type) => ({
          type,
          needsLimit: needsVerification(type),
          ...describeSupplierType(type),
        })),
      }
    },
  }),
  route('GET /suppliers/:supplier/config', {
    access: OPERATOR_ADMINS,
    summary: 'The configuration of a supplier, without its secrets',
    params,
    answer: supplierConfig,
    async handle({ deps }, { params: { supplier } }) {
      return { supplier, ...(await getSupplierConfig(deps, supplier)) }
    },
  }),
  confirmedRoute('POST /suppliers', {
    access: OPERATOR_ADMINS,
    summary: 'Add a supplier, and test it. Requires the password',
    body: Type.Object({ supplier: line(64), type: line(64), config: config() }),
    answer: tested,
    bodyLimit: CONFIG_SIZE_MAX_BYTES,
    async handle({ deps, by }, { body: { supplier, type, config } }) {
      await addSupplier(deps, { name: supplier, type, config }, by)
      return test(deps, supplier)
    },
  }),
  confirmedRoute('PUT /suppliers/:supplier/config', {
    access: OPERATOR_ADMINS,
    summary:
      'Replace the configuration of a supplier, and test it. Secrets that are left out keep their values. Requires the password',
    params,
    body: Type.Object({ config: config() }),
    answer: tested,
    bodyLimit: CONFIG_SIZE_MAX_BYTES,
    async handle({ deps, by }, { params, body: { config } }) {
      await setSupplier(deps, { name: params.supplier, config, keepSecrets: true }, by)
      return test(deps, params.supplier)
    },
  }),
  route('POST /suppliers/:supplier/test', {
    access: OPERATORS_WRITE,
    summary: 'Test the connection to a supplier',
    params,
    answer: tested,
    handle: ({ deps }, { params }) => test(deps, params.supplier),
  }),
  ...([true, false] as const).map((paused) =>
    route(`POST /suppliers/:supplier/${paused ? 'pause' : 'resume'}`, {
      access: OPERATORS_WRITE,
      summary: paused
        ? 'Stop ordering from a supplier. Its orders go to the next supplier of their package, or wait'
        : 'Order from a supplier again',
      params,
      handle: ({ deps, by }, { params }) => pauseSupplier(deps, { name: params.supplier, paused }, by),
    }),
  ),
]

async function test(deps: ConsoleDeps, supplier: string): Promise<SupplierTested> {
  const failure = await testSupplier(deps, supplier)
  return { works: failure === null, words: failure }
}

type CountedRow = Pick<SupplierRow, 'supplier' | 'type' | 'paused' | 'waiting'> & {
  available: bigint | null
  updatedAt: Date
}

async function listRows(deps: ConsoleDeps) {
  const rows = await deps.db.query<CountedRow>(sql`
    select s.supplier, s.type, s.paused, s.updated_at,
           (select sum(l.available) from stock_levels l where l.supplier = s.supplier)::bigint as available,
           (select count(*)::int from orders o
            join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
            where o.due_at is not null and i.supplier = s.supplier and i.item_status in ('ASKED', 'UNKNOWN'))
             as waiting
    from suppliers s order by s.supplier`)
  const listed = new Map((await listSuppliers(deps.db)).map((one) => [one.name, one]))
  return rows.map((row) => {
    const summary = listed.get(row.supplier)
    const { status = null, verifiedAt = null, verificationFault = null, dailySpend = null } = summary ?? {}
    const known = deps.suppliers.get(row.supplier)
    const breaker = known?.gate.state ?? null
    const eventsUnproven = known?.supplier.eventsUnproven === true
    const evidenceIn = (by: typeof HELD) => (status === null ? [] : [...(by[row.type] ?? [])])
    const evidence = { heldAgainst: evidenceIn(HELD), unsettled: evidenceIn(UNSETTLED) }
    const verification = { status, verifiedAt, verificationFault, ...evidence }
    return { ...row, ...viewOf(summary?.seen ?? NOT_TESTED), ...verification, breaker, eventsUnproven, dailySpend }
  })
}

function viewOf(seen: SeenState) {
  const known = { seenAt: null, seenBy: null, failure: null, failingSince: null }
  if (seen.state === 'NOT_TESTED') return { ...known, state: seen.state }
  const { state, seenAt, seenBy } = seen
  if (state === 'WORKING') return { ...known, state, seenAt, seenBy }
  return { state, seenAt, seenBy, failure: seen.failure, failingSince: seen.since }
}
