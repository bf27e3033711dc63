import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { checkCurrency, invalidField } from '#catalogue/catalogue-checks.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { type Rates, rateKey } from './plan-packages.ts'

/** A rate entered by an operator: how much of the sales currency 1 unit of the cost currency is worth. */
export interface ExchangeRate {
  readonly costCurrency: string
  readonly saleCurrency: string
  /** In 1/1 000 000. */
  readonly rate: bigint
  /** The date of the rate, as stated by the operator. */
  readonly ratedAt: Date
  readonly updatedAt: Date
}

/** The preview points out prices based on an older rate. */
export const RATE_DAYS_MAX = 30
const PLACES = 6

/** `'0.92'` → `920000n`. @throws Refusal */
export function parseRate(text: string): bigint {
  const [, whole = '', places = ''] = /^(\d{1,6})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  const rate = whole === '' ? 0n : BigInt(whole + places.padEnd(PLACES, '0'))
  if (rate === 0n) throw invalidField('rate', 'Enter a rate above zero with up to six decimal places, such as 0.92.')
  return rate
}

/** `920000n` → `'0.92'`. */
export function formatRate(rate: bigint): string {
  const digits = rate.toString().padStart(PLACES + 1, '0')
  return `${digits.slice(0, -PLACES)}.${digits.slice(-PLACES)}`.replace(/(?<!0)0+$/, '').replace(/\.$/, '')
}

export function listRates(db: Pick<Tx, 'query'>): Promise<ExchangeRate[]> {
  return db.query<ExchangeRate>(sql`
    select cost_currency, sale_currency, rate, rated_at, updated_at from exchange_rates order by 1, 2`)
}

export function ratesByPair(rates: readonly ExchangeRate[]): Rates {
  return new Map(rates.map(({ costCurrency, saleCurrency, rate }) => [rateKey(costCurrency, saleCurrency), rate]))
}

/**
 * Sets a rate, or removes it (null). Packages follow it as they follow changed costs.
 * @throws Refusal
 */
export async function setRate(
  deps: { db: Db; ids: Ids },
  pair: Pick<ExchangeRate, 'costCurrency' | 'saleCurrency'>,
  value: Pick<ExchangeRate, 'rate' | 'ratedAt'> | null,
  by: By,
): Promise<void> {
  const { costCurrency, saleCurrency } = pair
  for (const currency of [costCurrency, saleCurrency]) checkCurrency(currency)
  if (costCurrency === saleCurrency) throw invalidField('saleCurrency', 'A rate needs two different currencies.')
  await deps.db.tx(async (tx) => {
    if (value !== null) await checkDate(tx, value.ratedAt)
    const [before] = await tx.query<Pick<ExchangeRate, 'rate' | 'ratedAt'>>(sql`
      select rate, rated_at from exchange_rates
      where cost_currency = ${costCurrency} and sale_currency = ${saleCurrency} for update`)
    if (value === null && before === undefined) throw invalidField('costCurrency', 'There is no such rate.')
    tx.send(
      value === null
        ? {
            text: 'delete from exchange_rates where cost_currency = $1 and sale_currency = $2',
            values: [costCurrency, saleCurrency],
          }
        : {
            text: `insert into exchange_rates (cost_currency, sale_currency, rate, rated_at, updated_at)
                   values ($1, $2, $3, $4, now())
                   on conflict (cost_currency, sale_currency) do update
                   set rate = excluded.rate, rated_at = excluded.rated_at, updated_at = excluded.updated_at`,
            values: [costCurrency, saleCurrency, value.rate, value.ratedAt],
          },
    )
    tx.send({ text: 'update supplier_syncs set has_changes = true where not has_changes' })
    audit(tx, deps.ids, {
      tenantId: null,
      ...by,
      action: 'exchange_rate.set',
      subject: `${costCurrency} ${saleCurrency}`,
      ...(before && { before: shown(before) }),
      ...(value && { after: shown(value) }),
    })
  })
}

function shown({ rate, ratedAt }: Pick<ExchangeRate, 'rate' | 'ratedAt'>) {
  return { rate: formatRate(rate), ratedAt: ratedAt.toISOString() }
}

async function checkDate(tx: Tx, ratedAt: Date): Promise<void> {
  const [row] = await tx.query<{ isFuture: boolean }>(sql`
    select ${ratedAt}::timestamptz > now() + interval '1 day' as is_future`)
  if (row!.isFuture) throw invalidField('ratedAt', 'The date of a rate cannot be in the future.')
}
