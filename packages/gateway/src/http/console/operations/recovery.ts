import { ESIM_ACTIONS } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { getRecoveryReport, type RecoveryReport } from '#operations/recovery/recovery-report.ts'
import { doubtsOf, releaseDealers } from '#operations/recovery/release-recovery.ts'
import { EVIDENCE_LENGTH_MAX } from '#orders/justification.ts'
import { OPERATOR_ADMINS, OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED, done, money, nullable, time, uuid } from '../kernel/route-schemas.ts'

const text = () => Type.String()

const report = Type.Object({
  recovery: nullable(
    Type.Object({
      backupStartedAt: time(),
      restoredAt: time(),
      preparedAt: nullable(time()),
      isReplayable: Type.Boolean({ description: 'Requests from before the restore can still be replayed' }),
      creditsEvidence: nullable(Type.String({ description: 'How credits were entered again; null: not settled' })),
    }),
  ),
  suppliers: Type.Array(
    Type.Object({
      supplier: text(),
      type: text(),
      state: Type.Enum(['COMPARED', 'NOT_COMPARED', 'NO_LIST', 'STOCK', 'RANGE']),
      unreadable: Type.Integer({ description: 'Entries of its list that the latest comparison could not read' }),
      evidence: nullable(Type.String({ description: 'How an operator settled what it sold; null: not settled' })),
    }),
  ),
  openOrders: Type.Array(Type.Object({ tenantId: text(), orderNo: text(), suppliers: Type.Array(text()) })),
  openActions: Type.Array(
    Type.Object({
      tenantId: text(),
      profileId: text(),
      actionNo: text(),
      action: Type.Enum(ESIM_ACTIONS),
      iccid: text(),
      supplier: text(),
    }),
  ),
  theirs: Type.Array(
    Type.Object({ supplier: text(), key: text(), iccid: text(), foundAt: time(), evidence: nullable(text()) }),
  ),
  transactions: Type.Array(
    Type.Object({
      tenantId: text(),
      transactionId: text(),
      state: Type.Enum(['IN_DOUBT', 'SOLD', 'NOT_SOLD']),
      repeated: Type.Boolean(),
      listed: Type.Boolean(),
      orderNo: nullable(text()),
      amount: nullable(money()),
      currencyCode: text(),
      proof: nullable(text()),
      seenAt: time(),
    }),
  ),
  batches: Type.Array(
    Type.Object({
      supplier: text(),
      batchId: text(),
      productCode: text(),
      batchName: text(),
      held: Type.Integer(),
    }),
  ),
  dealers: Type.Array(
    Type.Object({ tenantId: text(), clientName: text(), released: Type.Boolean(), listed: Type.Boolean() }),
  ),
  accepted: Type.Array(
    Type.Object({
      tenantIds: nullable(Type.Array(text(), { description: 'null: all dealers' })),
      acceptedAt: time(),
      because: text(),
      doubts: Type.Array(text()),
    }),
    { description: 'Doubts with which dealers were released, also after the recovery' },
  ),
  doubts: Type.Array(text(), { description: 'What a release of all dealers would accept' }),
  omitted: Type.Integer({ description: 'Rows that are left out: the command `recovery show` has all of them' }),
})
export type RecoveryView = Static<typeof report>

/** How many rows of each part a page shows. */
const SHOWN_MAX = 200

const PARTS = ['openOrders', 'openActions', 'theirs', 'transactions', 'batches', 'dealers'] as const

/** Leaves out rows that a page would not show. */
function shownOf(whole: RecoveryReport) {
  const omitted = PARTS.reduce((sum, part) => sum + Math.max(0, whole[part].length - SHOWN_MAX), 0)
  return {
    ...whole,
    openOrders: whole.openOrders.slice(0, SHOWN_MAX),
    openActions: whole.openActions.slice(0, SHOWN_MAX),
    theirs: whole.theirs.slice(0, SHOWN_MAX),
    transactions: whole.transactions.slice(0, SHOWN_MAX),
    batches: whole.batches.slice(0, SHOWN_MAX),
    dealers: whole.dealers.slice(0, SHOWN_MAX),
    doubts: whole.recovery === null ? [] : doubtsOf(whole),
    omitted,
  }
}

/** The command `recovery`, for what needs no file. */
export const recoveryRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/recovery',
    access: OPERATORS,
    summary: 'After a restore: what is ours, what suppliers have beyond it, and what is in doubt',
    answer: report,
    handle: async ({ deps }) => shownOf(await getRecoveryReport(deps)),
  }),
  route({
    method: 'POST',
    path: '/recovery/release',
    access: OPERATOR_ADMINS,
    summary: 'Release dealers after a restore, or all of them, which ends the recovery. Audited',
    body: Type.Object(
      {
        tenantIds: Type.Optional(Type.Array(uuid(), { minItems: 1, maxItems: 1000, description: 'Absent: all' })),
        acceptedDoubt: Type.Optional(
          Type.String({
            maxLength: EVIDENCE_LENGTH_MAX,
            description: 'Why they are released although something is in doubt',
          }),
        ),
      },
      CLOSED,
    ),
    answer: done,
    async handle({ deps, by }, { body }) {
      await releaseDealers(deps, body, by)
      return {}
    },
  }),
]
