import { Readable } from 'node:stream'
import { ESIM_ACTIONS } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { getRecoveryReport, type RecoveryReport } from '#operations/recovery/recovery-report.ts'
import { doubtsOf, releaseDealers } from '#operations/recovery/release-recovery.ts'
import { decideTransactions, matchDealerList } from '#operations/recovery/restored-transactions.ts'
import { settleCredits, settleSupplier } from '#operations/recovery/settle-doubts.ts'
import { EVIDENCE_LENGTH_MAX, EVIDENCE_LENGTH_MIN } from '#orders/justification.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { endHold } from '#stock/held-codes.ts'
import { parseIccids } from '#stock/iccid-file.ts'
import { markSoldCodes } from '#stock/mark-sold-codes.ts'
import { CsvRefused } from '#stock/stock-csv.ts'
import { OPERATOR_ADMINS, OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED, money, nullable, time, uuid } from '../kernel/route-schemas.ts'

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
  debits: Type.Array(
    Type.Object({
      tenantId: text(),
      clientName: text(),
      transactionId: text(),
      orderNo: nullable(text()),
      amount: nullable(money()),
      currencyCode: text(),
      reference: Type.String({ description: 'Of the adjustment that debits it' }),
      state: Type.Enum(['NOT_DEBITED', 'PROPOSED', 'DEBITED', 'OTHER_AMOUNT']),
    }),
    { description: 'What dealers owe for orders that were sold before the restore' },
  ),
  dealers: Type.Array(
    Type.Object({ tenantId: text(), clientName: text(), released: Type.Boolean(), listed: Type.Boolean() }),
  ),
  accepted: Type.Array(
    Type.Object({
      tenantIds: nullable(Type.Array(text(), { description: 'null: all dealers' })),
      acceptedAt: time(),
      because: text(),
      doubts: Type.Array(sentence()),
    }),
    { description: 'Doubts with which dealers were released, also after the recovery' },
  ),
  doubts: Type.Array(sentence(), { description: 'What a release of all dealers would accept' }),
  omitted: Type.Integer({ description: 'Rows that are left out: the command `recovery show` has all of them' }),
})
export type RecoveryView = Static<typeof report>

/** How many rows of each part a page shows. */
const SHOWN_MAX = 200

const PARTS = ['openOrders', 'openActions', 'theirs', 'transactions', 'batches', 'debits', 'dealers'] as const

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
    debits: whole.debits.slice(0, SHOWN_MAX),
    dealers: whole.dealers.slice(0, SHOWN_MAX),
    doubts: doubtsOf(whole),
    omitted,
  }
}

const evidence = () => Type.String({ minLength: EVIDENCE_LENGTH_MIN, maxLength: EVIDENCE_LENGTH_MAX })
const name = () => Type.String({ minLength: 1, maxLength: 100 })

const CSV_LENGTH_MAX = 2_000_000
const BODY_MAX_BYTES = 4 * 1024 * 1024
const csv = (description: string) => Type.String({ maxLength: CSV_LENGTH_MAX, description })

/** @throws Refusal */
async function iccidsOf(text = ''): Promise<string[]> {
  try {
    return await parseIccids(Readable.from([text]), {})
  } catch (error) {
    if (error instanceof CsvRefused) throw new Refusal(422, 'CSV_INVALID', error.message)
    throw error
  }
}

const listMatches = Type.Object({
  orders: Type.Integer({ description: 'Orders of the list' }),
  known: Type.Integer({ description: 'Orders that the database has in the same way' }),
  unknown: Type.Array(
    Type.Object({
      row: Type.Integer(),
      transactionId: text(),
      match: Type.Enum(['OURS', 'SUPPLIER_HAS_IT', 'DEALER_ALONE', 'CONTRADICTION']),
      detail: nullable(text()),
    }),
    { description: 'The first of the others' },
  ),
})
export type ListMatches = Static<typeof listMatches>

/** The command `recovery`. */
export const recoveryRoutes: Route[] = [
  route('GET /recovery', {
    access: OPERATORS,
    summary: 'After a restore: what is ours, what suppliers have beyond it, and what is in doubt',
    answer: report,
    handle: async ({ deps }) => shownOf(await getRecoveryReport(deps)),
  }),
  route('POST /recovery/list', {
    access: OPERATOR_ADMINS,
    summary: 'Match a dealer’s own list of its orders since the backup. None of them can then be bought again. Audited',
    body: Type.Object({ tenantId: uuid(), csv: csv('With the columns transactionId,orderNo,amount') }, CLOSED),
    bodyLimit: BODY_MAX_BYTES,
    answer: listMatches,
    async handle({ deps, by }, { body }) {
      const list = { tenantId: body.tenantId, file: Readable.from([body.csv]), answers: {} }
      const matches = await matchDealerList(deps, list, by)
      const unknown = matches.filter(({ match }) => match !== 'OURS')
      const shown = unknown
        .slice(0, SHOWN_MAX)
        .map(({ row, transactionId, match, detail }) => ({ row, transactionId, match, detail }))
      return { orders: matches.length, known: matches.length - unknown.length, unknown: shown }
    },
  }),
  route('POST /recovery/decide', {
    access: OPERATOR_ADMINS,
    summary: 'Record whether transactionIds of a dealer were sold before the restore. Audited',
    body: Type.Object(
      {
        tenantId: uuid(),
        transactionIds: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), {
            minItems: 1,
            maxItems: 1_000,
            description: 'Absent: all of the dealer that are in doubt',
          }),
        ),
        state: Type.Enum(['SOLD', 'NOT_SOLD']),
        evidence: evidence(),
      },
      CLOSED,
    ),
    handle: ({ deps, by }, { body: { transactionIds: which = 'ALL_IN_DOUBT' as const, ...body } }) =>
      decideTransactions(deps, { ...body, which }, by),
  }),
  route('POST /recovery/stock', {
    access: OPERATOR_ADMINS,
    summary:
      'Say which codes of a batch were sold since the backup, or of those that are still held that all were, or none. Audited',
    body: Type.Object(
      {
        supplier: name(),
        batchId: uuid(),
        sold: Type.Enum(['ICCIDS', 'ALL', 'REST_UNSOLD']),
        csv: Type.Optional(csv('For ICCIDS: with the column iccid')),
        evidence: evidence(),
      },
      CLOSED,
    ),
    bodyLimit: BODY_MAX_BYTES,
    async handle({ deps, by }, { body: { csv, sold: kind, ...body } }) {
      if (kind === 'ICCIDS') await markSoldCodes(deps, { ...body, iccids: await iccidsOf(csv) }, by)
      else await endHold(deps, { ...body, rest: kind === 'ALL' ? 'SOLD' : 'UNSOLD' }, by)
    },
  }),
  route('POST /recovery/settle', {
    access: OPERATOR_ADMINS,
    summary: 'Record that what a supplier sold since the backup is accounted for. Audited',
    body: Type.Object(
      {
        supplier: name(),
        part: Type.Enum(['PERIOD', 'ALL_ESIMS', 'ICCIDS']),
        csv: Type.Optional(csv('For ICCIDS: with the column iccid')),
        evidence: evidence(),
      },
      CLOSED,
    ),
    bodyLimit: BODY_MAX_BYTES,
    async handle({ deps, by }, { body: { csv, part: kind, ...body } }) {
      const part = kind === 'ICCIDS' ? { kind, iccids: await iccidsOf(csv) } : { kind }
      await settleSupplier(deps, { ...body, part }, by)
    },
  }),
  route('POST /recovery/credits', {
    access: OPERATOR_ADMINS,
    summary: 'Record that credits and adjustments since the backup are entered again. Audited',
    body: Type.Object({ evidence: evidence() }, CLOSED),
    handle: ({ deps, by }, { body }) => settleCredits(deps, body, by),
  }),
  route('POST /recovery/release', {
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
    handle: ({ deps, by }, { body }) => releaseDealers(deps, body, by),
  }),
]
