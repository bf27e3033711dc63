import { memberColumns } from '@dealer-esim/lib/csv.ts'
import Type, { type Static } from 'typebox'
import { formatRate, listRates, parseRate, setRate } from '#products/rules/exchange-rates.ts'
import { csvRoute, inOnePart } from '../kernel/csv-route.ts'
import { type ConsoleDeps, OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, time } from '../kernel/route-schemas.ts'

const currency = () => Type.String({ pattern: '^[A-Z]{3}$' })
const pair = { costCurrency: currency(), saleCurrency: currency() }

const rateRow = Type.Object({
  ...pair,
  rate: Type.String({ description: 'How much of saleCurrency is 1 of costCurrency, such as 0.92' }),
  ratedAt: Type.String({ format: 'date-time', description: 'The date of the rate, as the operator states it' }),
  updatedAt: time(),
})
export type ExchangeRateRow = Static<typeof rateRow>

export const exchangeRateRoutes: Route[] = [
  route('GET /exchange-rates', {
    access: OPERATORS,
    summary: 'Rates for sale rules whose costs are in a different currency from their prices',
    answer: Type.Object({ rates: Type.Array(rateRow) }),
    handle: async ({ deps }) => ({ rates: await listRows(deps) }),
  }),
  csvRoute({
    path: '/exchange-rates.csv',
    access: OPERATORS,
    summary: 'The rates as CSV',
    file: 'exchange-rates',
    parts: ({ deps }) => inOnePart(listRows(deps)),
    columns: {
      ...memberColumns('costCurrency', 'saleCurrency', 'rate', 'ratedAt', 'updatedAt'),
    },
  }),
  route('PUT /exchange-rates', {
    access: OPERATORS_WRITE,
    summary: 'Enter a rate with its date. Packages follow it as they follow changed costs',
    body: Type.Object({ ...pair, rate: Type.String({ maxLength: 40 }), ratedAt: time() }, CLOSED),
    handle: ({ deps, by }, { body }) =>
      setRate(deps, body, { rate: parseRate(body.rate), ratedAt: new Date(body.ratedAt) }, by),
  }),
  route('DELETE /exchange-rates', {
    access: OPERATORS_WRITE,
    summary: 'Remove a rate',
    query: Type.Object(pair, CLOSED),
    handle: ({ deps, by }, { query }) => setRate(deps, query, null, by),
  }),
]

async function listRows({ db }: ConsoleDeps) {
  return (await listRates(db)).map((row) => ({ ...row, rate: formatRate(row.rate) }))
}
