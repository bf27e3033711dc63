import { Readable } from 'node:stream'
import { memberColumns } from '@dealer-esim/lib/csv.ts'
import Type, { type Static } from 'typebox'
import { type BatchFilter, countBatches, getBatch, listBatches } from '#stock/stock-batches.ts'
import { exportBatch, findCodes, revealStockCode } from '#stock/stock-codes.ts'
import { setBatchExpiry, setExpiryAlert } from '#stock/stock-expiry.ts'
import { sendCsv } from './kernel/csv-route.ts'
import { listRoutes } from './kernel/list-routes.ts'
import { pageByKey } from './kernel/paging.ts'
import { type Context, OPERATOR_ADMINS, OPERATORS, OPERATORS_WRITE, type Route, route } from './kernel/route.ts'
import { CLOSED, line, nullable, time, toDate, uuid } from './kernel/route-schemas.ts'
import { confirmedRoute } from './people/confirmed-route.ts'

const batch = Type.Object({
  supplier: Type.String(),
  batchId: Type.String(),
  batchName: Type.String(),
  productCode: Type.String(),
  importedAt: time(),
  codes: Type.Integer(),
  available: Type.Integer(),
  expired: Type.Integer(),
  sold: Type.Integer(),
  nextExpiry: nullable(Type.String({ format: 'date-time', description: 'Of an unsold code; null: none expires' })),
  expiring: Type.Integer({ description: 'Unsold codes that expire within 30 days' }),
  alertDays: nullable(Type.Integer({ description: 'Days before the expiry of codes; null: no alert' })),
})
export type StockBatchRow = Static<typeof batch>

const code = Type.Object({
  supplier: Type.String(),
  codeId: Type.String(),
  batchId: Type.String(),
  batchName: Type.String(),
  productCode: Type.String(),
  iccid: Type.String(),
  state: Type.Enum(['AVAILABLE', 'SOLD', 'EXPIRED', 'HELD']),
  orderNo: nullable(Type.String({ description: 'Of the order that it was sold with' })),
  importedAt: time(),
  soldAt: nullable(time()),
  expiresAt: nullable(time()),
})
export type StockCodeRow = Static<typeof code>

const batchFilters = {
  supplier: Type.Optional(line(64)),
  productCode: Type.Optional(line(128)),
  expiring: Type.Optional(Type.Boolean({ description: 'Only with unsold codes that expire within 30 days' })),
}

const CODES_LISTED_MAX = 50
const STATES = { FREE: 'AVAILABLE', RESERVED: 'SOLD', EXPIRED: 'EXPIRED', HELD: 'HELD' } as const
const batchParams = Type.Object({ supplier: line(64), batchId: uuid() }, CLOSED)

export const stockBatchRoutes: Route[] = [
  ...listRoutes({
    name: 'batches',
    file: 'stock-batches',
    path: '/stock/batches',
    access: OPERATORS,
    summary: 'Imports of codes, the latest first',
    filters: batchFilters,
    row: batch,
    sorts: { importedAt: 'INDEX' },
    firstSort: '-importedAt',
    find: ({ deps }, query, page) =>
      pageByKey(
        page,
        (part) => listBatches(deps.db, filterOf(query), part),
        (row) => row.batchId,
      ),
    count: ({ deps }, query) => countBatches(deps.db, filterOf(query)),
    csv: {
      batch: (row) => row.batchName,
      product: (row) => row.productCode,
      ...memberColumns('supplier', 'importedAt', 'codes', 'available', 'sold', 'expired', 'nextExpiry'),
      expiringIn30Days: (row) => row.expiring,
      alertDays: (row) => row.alertDays,
      id: (row) => row.batchId,
    },
  }),
  route('PUT /stock/:supplier/batches/:batchId/alert', {
    access: OPERATORS_WRITE,
    summary: 'Set how many days before its codes expire a batch alerts; null: never',
    params: batchParams,
    body: Type.Object({ alertDays: nullable(Type.Integer({ minimum: 1, maximum: 365 })) }, CLOSED),
    handle: ({ deps, by }, { params, body }) => setExpiryAlert(deps, { ...params, ...body }, by),
  }),
  route('PUT /stock/:supplier/batches/:batchId/expiry', {
    access: OPERATORS_WRITE,
    summary: 'Change when the unsold codes of a batch expire; null: never. Decides its alert again',
    params: batchParams,
    body: Type.Object({ expiresAt: nullable(time()) }, CLOSED),
    answer: Type.Object({ codes: Type.Integer({ description: 'Changed codes' }) }),
    async handle({ deps, by }, { params, body }) {
      const expiresAt = toDate(body.expiresAt ?? undefined) ?? null
      return { codes: await setBatchExpiry(deps, { ...params, expiresAt }, by) }
    },
  }),
  route('GET /stock/:supplier/batches/:batchId/codes.csv', {
    access: OPERATORS,
    summary: 'The state of each code of a batch as CSV, without activation codes',
    params: batchParams,
    answer: Type.String(),
    answerType: 'text/csv',
    handle: async (context, { params }) => exportFile(context, params, false),
  }),
  confirmedRoute('POST /stock/:supplier/batches/:batchId/codes.csv', {
    access: OPERATOR_ADMINS,
    summary: 'The same with the activation codes of unsold codes. Requires the password. Audited',
    params: batchParams,
    answer: Type.String(),
    answerType: 'text/csv',
    handle: (context, { params }) => exportFile(context, params, true),
  }),
  route('GET /stock/codes', {
    access: OPERATORS,
    summary: 'Codes whose ICCID begins with these digits, the first fifty. Activation codes are not shown',
    query: Type.Object({ iccid: line(40) }, CLOSED),
    answer: Type.Object({ codes: Type.Array(code) }),
    async handle({ deps }, { query }) {
      const found = await findCodes(deps.db, query.iccid, CODES_LISTED_MAX)
      return {
        codes: found.map(({ key, state, reservedAt, ...row }) => ({
          ...{ ...row, state: STATES[state], orderNo: key?.split('-')[0] ?? null, soldAt: reservedAt },
        })),
      }
    },
  }),
  route('POST /stock/:supplier/codes/:codeId/reveal', {
    access: OPERATORS_WRITE,
    sessionOnly: true,
    summary: 'Show the activation code, PIN and PUK of a code that is not sold. Audited',
    params: Type.Object({ supplier: line(64), codeId: uuid() }, CLOSED),
    answer: Type.Object({
      ac: Type.String(),
      confirmationCode: nullable(Type.String()),
      pin: nullable(Type.String()),
      puk: nullable(Type.String()),
    }),
    async handle({ deps, by }, { params }) {
      const { ac, confirmationCode, pin, puk } = await revealStockCode(deps, params, by)
      return { ac, confirmationCode: confirmationCode ?? null, pin: pin ?? null, puk: puk ?? null }
    },
  }),
]

/** The batch is looked up first, so that an unknown batch gets an error response rather than a broken file. */
async function exportFile(
  { deps, by, reply }: Context,
  params: Static<typeof batchParams>,
  withCodes: boolean,
): Promise<string> {
  const { batchName } = await getBatch(deps.db, params.supplier, params.batchId)
  const csv = new Readable({ read() {} })
  const secrets = withCodes ? deps.cipher : undefined
  exportBatch(deps, { ...params, secrets }, by, async (text) => void csv.push(text)).then(
    () => csv.push(null),
    (error: Error) => csv.destroy(error),
  )
  return sendCsv(reply, `${batchName.replaceAll(/[^\w.-]+/g, '-')}.csv`, csv)
}

function filterOf({ expiring, ...query }: Omit<BatchFilter, 'expiringOnly'> & { expiring?: boolean }): BatchFilter {
  return { ...query, expiringOnly: expiring }
}
