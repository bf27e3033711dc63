import Type, { type Static } from 'typebox'
import { getTrialData, removeTrialData, startTrialData } from '#operations/trial/trial-data.ts'
import { OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'

const trialData = Type.Object({
  state: Type.Enum(['NONE', 'FILLING', 'READY']),
  dealers: Type.Integer(),
  done: Type.Integer({ description: 'Of `all` steps' }),
  all: Type.Integer(),
})
export type TrialDataView = Static<typeof trialData>

export const trialDataRoutes: Route[] = [
  route('GET /trial-data', {
    access: OPERATORS_WRITE,
    summary: 'Whether a local gateway has trial data, and how far it is filled',
    answer: trialData,
    handle: ({ deps }) => getTrialData(deps),
  }),
  route('POST /trial-data', {
    access: OPERATORS_WRITE,
    summary: 'Add dealers with orders, eSIMs, events and movements of four weeks. Local gateways only. Audited',
    async handle({ deps, by }) {
      const { filled } = await startTrialData(deps, by)
      filled.catch((error) =>
        deps.log.error({ err: error }, 'trial data could not be filled; add it again to continue'),
      )
    },
  }),
  route('DELETE /trial-data', {
    access: OPERATORS_WRITE,
    summary: 'Remove the dealers of the trial data with everything that belongs to them. Audited',
    handle: ({ deps, by }) => removeTrialData(deps, by),
  }),
]
