import { Readable } from 'node:stream'
import { ESIM_ACTIONS, ORDER_ESIMS_MAX } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { resolveAction } from '#esims/actions/resolve-action.ts'
import { askAboutOrder } from '#fulfilment/reconciliation/ask-now.ts'
import { cancelOrder } from '#fulfilment/review/cancel-order.ts'
import { type ItemVerdict, resolveOrder } from '#fulfilment/review/resolve-order.ts'
import {
  EVIDENCE_LENGTH_MAX,
  EVIDENCE_LENGTH_MIN,
  REASON_LENGTH_MAX,
  REASON_LENGTH_MIN,
} from '#orders/justification.ts'
import { parseOrderNo } from '#orders/reading/find-order.ts'
import { type CsvEsim, CsvRefused, parseEsims } from '#stock/stock-csv.ts'
import { OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { ASKS_PER_MINUTE, CLOSED, line, nullable, orderParams, profileParams } from '../kernel/route-schemas.ts'

/** The supplier's statement, who made it and when, so that another operator can check it. */
const evidence = () => Type.String({ minLength: EVIDENCE_LENGTH_MIN, maxLength: EVIDENCE_LENGTH_MAX })
const reason = () => line(REASON_LENGTH_MAX, REASON_LENGTH_MIN)
const CSV_LENGTH_MAX = 100_000

const actionOutcome = Type.Object({
  outcome: Type.Enum(['done', 'refused', 'unknown'], {
    description: 'refused: nothing was changed. unknown: the supplier will be asked again',
  }),
  words: nullable(Type.String({ description: 'What the supplier said; null if it is done' })),
})
export type EsimActionOutcome = Static<typeof actionOutcome>

/** Actions of operators on orders and eSIMs. */
export const orderActionRoutes: Route[] = [
  route('POST /tenants/:tenantId/orders/:orderNo/cancel', {
    access: OPERATORS_WRITE,
    summary: 'Refund what an order still waits for: all of it, or what no supplier has sold yet',
    params: orderParams,
    body: Type.Object({ reason: reason() }, CLOSED),
    async handle({ deps, by }, { params, body }) {
      const orderId = parseOrderNo(params.orderNo)
      await cancelOrder(deps, { tenantId: params.tenantId, orderId, reason: body.reason }, by)
    },
  }),
  route('POST /tenants/:tenantId/orders/:orderNo/ask', {
    access: OPERATORS_WRITE,
    summary: 'Ask the suppliers about an undecided order now',
    params: orderParams,
    ratePerMinute: ASKS_PER_MINUTE,
    handle: ({ deps }, { params }) =>
      askAboutOrder(deps, { tenantId: params.tenantId, orderId: parseOrderNo(params.orderNo) }),
  }),
  route('POST /tenants/:tenantId/orders/:orderNo/settle', {
    access: OPERATORS_WRITE,
    summary: 'Resolve eSIMs under review with the supplier’s answer',
    params: orderParams,
    body: Type.Object(
      {
        verdict: Type.Enum(['refused', 'retry', 'delivered', 'toppedUp']),
        evidence: evidence(),
        itemNos: Type.Optional(
          Type.Array(Type.Integer({ minimum: 1, maximum: ORDER_ESIMS_MAX }), {
            minItems: 1,
            description: 'Only these',
          }),
        ),
        csv: Type.Optional(Type.String({ maxLength: CSV_LENGTH_MAX, description: 'The delivered eSIMs' })),
      },
      CLOSED,
    ),
    answer: Type.Object({ itemNos: Type.Array(Type.Integer()) }),
    async handle({ deps, by }, { params, body }) {
      const orderId = parseOrderNo(params.orderNo)
      const verdict: ItemVerdict =
        body.verdict === 'delivered'
          ? { kind: 'delivered', esims: await esimsOf(body.csv ?? '') }
          : { kind: body.verdict }
      const { evidence, itemNos: only } = body
      const resolution = { tenantId: params.tenantId, orderId, verdict, evidence, ...(only && { itemNos: only }) }
      return { itemNos: await resolveOrder(deps, resolution, by) }
    },
  }),
  route('POST /tenants/:tenantId/profiles/:profileId/operator-actions', {
    access: OPERATORS_WRITE,
    summary:
      'Cancel, suspend, unsuspend or revoke an eSIM at its supplier, immediately. A cancelled eSIM is refunded without a fee; a cancellation that the dealer began keeps its fee. Audited',
    params: profileParams,
    body: Type.Object({ action: Type.Enum(ESIM_ACTIONS), reason: reason() }, CLOSED),
    answer: actionOutcome,
    async handle({ deps, by }, { params, body }) {
      const outcome = await actForOperator(deps, { ...params, ...body }, by)
      return { outcome: outcome.kind, words: outcome.kind === 'done' ? null : outcome.message }
    },
  }),
  route('POST /tenants/:tenantId/profiles/:profileId/settle-cancel', {
    access: OPERATORS_WRITE,
    summary:
      'Resolve a pending cancellation, or another action, with the supplier’s answer. A cancelled eSIM is refunded',
    params: profileParams,
    body: Type.Object(
      {
        actionNo: Type.Optional(line(26)),
        verdict: Type.Enum(['cancelled', 'done', 'kept']),
        evidence: evidence(),
      },
      CLOSED,
    ),
    handle: ({ deps, by }, { params, body }) => resolveAction(deps, { ...params, ...body }, by),
  }),
]

async function esimsOf(csv: string): Promise<CsvEsim[]> {
  const esims: CsvEsim[] = []
  try {
    for await (const row of parseEsims(Readable.from([csv]), { withItemNo: true })) {
      if ('reason' in row) throw new CsvRefused([row])
      esims.push(row)
    }
  } catch (error) {
    if (error instanceof CsvRefused) throw new Refusal(422, 'CSV_INVALID', error.message)
    throw error
  }
  return esims
}
