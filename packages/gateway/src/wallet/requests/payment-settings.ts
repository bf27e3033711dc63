import { CURRENCY_ADVICE, findFraction, formatMoney, isCurrency, MONEY_MAX } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'

/** How the dealers of a currency can pay. */
export interface PaymentSettings {
  currencyCode: string
  /** Several lines, displayed as they are. */
  bankDetails: string | null
  /** The https address of the operator's payment page. */
  paymentUrl: string | null
  /** Two people confirm a payment above this amount; null: one is enough. */
  secondPersonAbove: bigint | null
}

export const BANK_DETAILS_LENGTH_MAX = 1_000
export const PAYMENT_URL_LENGTH_MAX = 500

const COLUMNS = sql`currency_code, bank_details, payment_url, second_person_above`

export async function findPaymentSettings(
  db: Pick<Db | Tx, 'query'>,
  currencyCode: string,
): Promise<PaymentSettings | undefined> {
  const [row] = await db.query<PaymentSettings>(sql`
    select ${COLUMNS} from payment_settings where currency_code = ${currencyCode}`)
  return row
}

/** Lists the settings of every currency used by a dealer, and of those that were set earlier. */
export function listPaymentSettings(db: Pick<Db, 'query'>): Promise<PaymentSettings[]> {
  return db.query<PaymentSettings>(sql`
    select coalesce(s.currency_code, c.currency_code) as currency_code, s.bank_details, s.payment_url, s.second_person_above
    from payment_settings s
    full join (select distinct currency_code from tenants) c on c.currency_code = s.currency_code
    order by 1`)
}

/** Sets how dealers of a currency can pay. @throws Refusal for an address that is not https, or a malformed amount */
export async function setPaymentSettings(
  deps: { db: Db; ids: Ids },
  input: PaymentSettings,
  by: By,
): Promise<PaymentSettings> {
  const next = { ...input, bankDetails: input.bankDetails?.trim() || null, paymentUrl: checkUrl(input.paymentUrl) }
  if (!isCurrency(next.currencyCode)) throw invalid('currencyCode', CURRENCY_ADVICE)
  checkLimit(next.secondPersonAbove)
  const fraction = findFraction(next.secondPersonAbove ?? 0n, next.currencyCode)
  if (fraction !== undefined) throw invalid('secondPersonAbove', fraction)
  await deps.db.tx(async (tx) => {
    const before = await findPaymentSettings(tx, next.currencyCode)
    tx.send(sql`
      insert into payment_settings (currency_code, bank_details, payment_url, second_person_above, updated_at)
      values (${next.currencyCode}, ${next.bankDetails}, ${next.paymentUrl}, ${next.secondPersonAbove}, clock_timestamp())
      on conflict (currency_code) do update
      set bank_details = excluded.bank_details, payment_url = excluded.payment_url,
          second_person_above = excluded.second_person_above, updated_at = excluded.updated_at`)
    audit(tx, deps.ids, {
      ...{ tenantId: null, subject: next.currencyCode, action: 'payment.set', before, after: next },
      ...by,
    })
  })
  return next
}

function checkUrl(typed: string | null): string | null {
  const text = typed?.trim() || null
  if (text === null) return null
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url.href
  throw invalid('paymentUrl', 'The payment link must be an https address, without a user name or password.')
}

function checkLimit(amount: bigint | null): void {
  if (amount === null || (amount >= 0n && amount <= MONEY_MAX)) return
  throw invalid('secondPersonAbove', `The amount must be between 0.00 and ${formatMoney(MONEY_MAX)}.`)
}

function invalid(field: string, message: string): Refusal {
  return new Refusal(422, 'SETTING_INVALID', message, { fields: { [field]: message } })
}
