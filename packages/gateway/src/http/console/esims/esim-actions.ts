import { ACTION_STATUSES, type ActionAnswer, ESIM_ACTIONS } from '@dealer-esim/contract'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { listActions } from '#esims/actions/find-action.ts'
import { startAction } from '#esims/actions/start-action.ts'
import { searchProfiles } from '#esims/search-profiles.ts'
import { actionAnswerOf, isAnswerMissing } from '#orders/esim-action.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { BUYERS, EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, profileParams, time } from '../kernel/route-schemas.ts'
import { transactionId } from '../orders/buyer.ts'

const esimAction = Type.Object({
  actionNo: Type.String(),
  transactionId: nullable(Type.String()),
  startedBy: Type.Enum(['DEALER', 'OPERATOR']),
  action: Type.Enum(ESIM_ACTIONS),
  actionStatus: Type.Enum(ACTION_STATUSES),
  refundAmount: money(),
  feeAmount: money(),
  currencyCode: Type.String(),
  failureReason: nullable(sentence()),
  keyLabel: nullable(Type.String({ description: 'Of the restricted key that began it' })),
  isAnswerMissing: Type.Boolean({
    description: 'The supplier was asked and did not say what it did: an operator can resolve it. false for a dealer',
  }),
  createTime: time(),
  lastUpdateTime: time(),
})
export type EsimActionRow = Static<typeof esimAction>

/** Cancel, suspend, unsuspend and revoke by the dealer's own people, exactly as through the dealer API. */
export const esimActionRoutes: Route[] = [
  route('GET /tenants/:tenantId/profiles/:profileId/actions', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'The actions on an eSIM, newest first',
    params: profileParams,
    answer: Type.Object({ actions: Type.Array(esimAction) }),
    handle: async ({ deps, onlyTenant }, { params }) => {
      const [found, actions] = await Promise.all([
        searchProfiles(deps.db, params, { limit: 1 }),
        listActions(deps.db, params),
      ])
      const [profile] = found.profiles
      if (!profile) throw notFound('eSIM')
      return {
        actions: actions.map((action) =>
          rowOf(actionAnswerOf(action), { isAnswerMissing: onlyTenant === null && isAnswerMissing(action) }),
        ),
      }
    },
  }),
  route('POST /tenants/:tenantId/profiles/:profileId/actions', {
    access: BUYERS,
    testMode: 'TWIN',
    summary:
      'Cancel, suspend, unsuspend or revoke an eSIM. A repeat with the same transactionId begins nothing. Audited',
    params: profileParams,
    body: Type.Object(
      {
        action: Type.Enum(ESIM_ACTIONS),
        transactionId: transactionId(),
        reason: Type.Optional(line(200)),
      },
      CLOSED,
    ),
    answer: esimAction,
    async handle({ deps, by }, { params, body }) {
      const { answer } = await startAction(deps, params.tenantId, { ...body, esimTranNo: params.profileId }, { by })
      return rowOf(answer, { isAnswerMissing: false })
    },
  }),
]

function rowOf(
  { esimTranNo: _, iccid: __, orderNo: ___, ...row }: ActionAnswer,
  more: Pick<EsimActionRow, 'isAnswerMissing'>,
): EsimActionRow {
  return { ...row, ...more }
}
