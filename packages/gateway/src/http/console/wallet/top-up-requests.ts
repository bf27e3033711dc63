import { memberColumns } from '@dealer-esim/lib/csv.ts'
import Type, { type Static } from 'typebox'
import { LINE_LENGTH_MAX } from '#wallet/ledger/ledger-checks.ts'
import { listWalletNames } from '#wallet/ledger/wallet-names.ts'
import { checkTopUpRequest, requestTopUp } from '#wallet/requests/create-request.ts'
import { confirmTopUpRequest, declineTopUpRequest } from '#wallet/requests/decide-request.ts'
import { getReceipt, RECEIPT_SIZE_MAX_BYTES } from '#wallet/requests/receipt.ts'
import {
  countOpenRequests,
  countTopUpRequests,
  listTopUpRequests,
  TOP_UP_REQUEST_STATUSES,
  type TopUpRequest,
} from '#wallet/requests/top-up-request.ts'
import { createActorNaming } from '../kernel/actors.ts'
import { file } from '../kernel/file-answers.ts'
import { listRoutes } from '../kernel/list-routes.ts'
import { pageByKey } from '../kernel/paging.ts'
import { BUYERS, type Context, EVERY_ROLE, OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, tenantParams, time, uuid } from '../kernel/route-schemas.ts'

const status = () => Type.Enum(TOP_UP_REQUEST_STATUSES)
const topUpRequest = Type.Object({
  requestId: Type.String(),
  tenantId: Type.String(),
  clientName: Type.String(),
  currencyCode: Type.String(),
  amount: money(),
  reference: Type.String(),
  status: status(),
  requestedBy: Type.String(),
  createdAt: time(),
  confirmedBy: nullable(Type.String({ description: 'The first of two people who confirm. For operators only' })),
  confirmedByMe: Type.Boolean(),
  decidedBy: nullable(Type.String()),
  decidedAt: nullable(time()),
  declineReason: nullable(Type.String()),
  hasReceipt: Type.Boolean(),
})
export type TopUpRequestRow = Static<typeof topUpRequest>

const decided = Type.Object({
  status: status(),
  isWaitingForSecond: Type.Boolean({ description: 'Another person must confirm it too' }),
})
const filters = { tenantId: Type.Optional(uuid()), status: Type.Optional(status()) }
const params = Type.Object({ ...tenantParams.properties, topUpRequestId: uuid() }, CLOSED)
const payment = { amount: money(), reference: line(LINE_LENGTH_MAX.reference) }
const fileName = () => line(255)
const requested = Type.Object({ requestId: Type.String(), status: status() })

export const topUpRequestRoutes: Route[] = [
  ...listRoutes({
    name: 'requests',
    file: 'top-up-requests',
    path: '/top-up-requests',
    access: EVERY_ROLE,
    summary: 'Requests for top-ups of a balance, newest first: all, or the dealer’s own',
    filters,
    row: topUpRequest,
    sorts: { createdAt: 'INDEX' },
    firstSort: '-createdAt',
    async find(context, query, page) {
      const { rows, next } = await pageByKey(
        page,
        (part) => listTopUpRequests(context.deps.db, { ...filterOf(context, query), ...part }),
        (row) => row.requestId,
      )
      return { rows: await describe(context, rows), next }
    },
    count: (context, query) => countTopUpRequests(context.deps.db, filterOf(context, query)),
    csv: {
      time: (row) => row.createdAt,
      dealer: (row) => row.clientName,
      amount: (row) => row.amount,
      currency: (row) => row.currencyCode,
      ...memberColumns('reference', 'requestedBy', 'hasReceipt', 'status', 'decidedBy', 'decidedAt', 'declineReason'),
      id: (row) => row.requestId,
    },
  }),
  route('GET /top-up-requests/open', {
    access: OPERATORS,
    summary: 'How many requests wait for an operator',
    answer: Type.Object({ open: Type.Integer() }),
    handle: async ({ deps }) => ({ open: await countOpenRequests(deps.db) }),
  }),
  route('POST /tenants/:tenantId/top-up-requests', {
    access: BUYERS,
    summary: 'Ask for a top-up of the balance. A repeat with the same reference and amount asks once. Audited',
    params: tenantParams,
    body: Type.Object(
      {
        ...payment,
        receipt: Type.Optional(
          Type.Object(
            {
              fileName: fileName(),
              content: Type.String({
                minLength: 1,
                description: 'PDF, PNG or JPEG in Base64. One of more than 180 kB is sent as a file: …/with-receipt',
              }),
            },
            CLOSED,
          ),
        ),
      },
      CLOSED,
    ),
    largeBodyAdvice: 'Send the receipt as a file to this address with /with-receipt.',
    answer: requested,
    async handle({ deps, by }, { params, body }) {
      const input = { ...body, tenantId: params.tenantId, amount: BigInt(body.amount) }
      const { requestId, status } = await requestTopUp(deps, input, by)
      return { requestId, status }
    },
  }),
  route('POST /tenants/:tenantId/top-up-requests/with-receipt', {
    access: BUYERS,
    summary: 'Ask for a top-up with its receipt, a PDF, PNG or JPEG of at most 4 MB, as the body. Audited',
    params: tenantParams,
    query: Type.Object({ ...payment, fileName: fileName() }, CLOSED),
    body: file(),
    bodyType: 'application/octet-stream',
    bodyLimit: RECEIPT_SIZE_MAX_BYTES,
    largeBodyAdvice: 'Send a receipt of at most 4 MB.',
    limit: 'upload',
    answer: requested,
    beforeBody: ({ deps }, { params: { tenantId }, query: { amount, reference } }) =>
      checkTopUpRequest(deps.db, { tenantId, amount: BigInt(amount), reference }),
    async handle({ deps, by }, { params: { tenantId }, query: { amount, reference, fileName }, body }) {
      const input = { tenantId, amount: BigInt(amount), reference, receipt: { fileName, content: body } }
      const { requestId, status } = await requestTopUp(deps, input, by)
      return { requestId, status }
    },
  }),
  route('GET /tenants/:tenantId/top-up-requests/:topUpRequestId/receipt', {
    access: EVERY_ROLE,
    summary: 'The receipt of a request, as a file to download',
    params,
    answer: Type.String(),
    answerType: 'application/octet-stream',
    async handle({ deps, reply }, { params }) {
      const { fileName, content } = await getReceipt(deps.db, params.tenantId, params.topUpRequestId)
      // A browser saves it and never renders it: a dealer's upload must not run in the console's origin.
      reply
        .type('application/octet-stream')
        .header('Content-Disposition', `attachment; filename="${fileName}"`)
        .header('Content-Security-Policy', "sandbox; default-src 'none'; frame-ancestors 'none'")
      return content as unknown as string // sent as it is
    },
  }),
  route('POST /tenants/:tenantId/top-up-requests/:topUpRequestId/confirm', {
    access: OPERATORS_WRITE,
    summary: 'Confirm that the payment has arrived: one top-up is posted. Large amounts need a second person',
    params,
    answer: decided,
    async handle({ deps, by }, { params }) {
      const { status } = await confirmTopUpRequest(deps, params.tenantId, params.topUpRequestId, by)
      return { status, isWaitingForSecond: status === 'REQUESTED' }
    },
  }),
  route('POST /tenants/:tenantId/top-up-requests/:topUpRequestId/decline', {
    access: OPERATORS_WRITE,
    summary: 'Decline a request. The dealer reads the reason',
    params,
    body: Type.Object({ reason: line(LINE_LENGTH_MAX.reason) }, CLOSED),
    answer: decided,
    async handle({ deps, by }, { params, body }) {
      const { status } = await declineTopUpRequest(
        deps,
        { tenantId: params.tenantId, requestId: params.topUpRequestId, ...body },
        by,
      )
      return { status, isWaitingForSecond: false }
    },
  }),
]

/** A dealer's people find only their own dealer's requests. */
function filterOf({ onlyTenant }: Context, query: { tenantId?: string; status?: TopUpRequest['status'] }) {
  return { ...query, tenantId: onlyTenant ?? query.tenantId }
}

async function describe(context: Context, rows: TopUpRequest[]) {
  const [names, nameOf] = await Promise.all([
    listWalletNames(
      context.deps.db,
      rows.map((row) => row.tenantId),
    ),
    createActorNaming(
      context,
      rows.flatMap((row) => [row.requestedBy, row.confirmedBy, row.decidedBy]),
    ),
  ])
  return rows.map(({ walletVersion: _, ...row }) => ({
    ...row,
    clientName: names.get(row.tenantId)?.clientName ?? '',
    currencyCode: names.get(row.tenantId)?.currencyCode ?? '',
    requestedBy: nameOf(row.requestedBy) ?? '',
    confirmedBy: context.onlyTenant === null ? nameOf(row.confirmedBy) : null,
    confirmedByMe: row.confirmedBy === context.by.actor,
    decidedBy: nameOf(row.decidedBy),
  }))
}
