import { formatMoney } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/** An order that was sold before the restore, so that its dealer owes it. */
export interface RestoredDebit {
  tenantId: string
  clientName: string
  transactionId: string
  orderNo: string | null
  /** By the dealer's list; null: ask the dealer for it. */
  amount: bigint | null
  currencyCode: string
  /** The reference of the adjustment that debits it, e.g. `restored-T-1`. The state is that of this adjustment. */
  reference: string
  state: 'NOT_DEBITED' | 'PROPOSED' | 'DEBITED' | 'OTHER_AMOUNT'
}

/** SQL: a reference has at most 64 characters, so a long transactionId is hashed. */
const reference = `'restored-' || case when length(r.transaction_id) <= 55 then r.transaction_id else md5(r.transaction_id) end`

/**
 * The orders that were decided as sold, by an operator or by a supplier's list, since the earliest restore whose recovery has not
 * ended, or else since the latest restore. An order counts as debited by an adjustment with its reference and amount.
 */
export function listRestoredDebits(db: Pick<Db, 'query'>): Promise<RestoredDebit[]> {
  return db.query<RestoredDebit>({
    text: `select r.tenant_id, t.tenant_name as client_name, r.transaction_id, r.order_no, r.amount, t.currency_code,
             ${reference} as reference,
             case when a.adjustment_status is null then 'NOT_DEBITED'
                  when a.amount <> -r.amount or a.amount >= 0 then 'OTHER_AMOUNT'
                  when a.adjustment_status = 'APPROVED' then 'DEBITED' else 'PROPOSED' end as state
           from restored_transactions r join tenants t on t.tenant_id = r.tenant_id
           left join wallet_adjustments a on a.tenant_id = r.tenant_id and a.reference = ${reference}
             and (a.adjustment_status = 'APPROVED' or a.adjustment_status = 'PROPOSED' and a.expires_at > clock_timestamp())
           where r.state = 'SOLD' and r.decided_at >= (
             select coalesce(min(restored_at) filter (where recovering), max(restored_at)) from restores)
           order by t.tenant_name, r.tenant_id, r.transaction_id`,
  })
}

/** The sum that dealers still owe in each currency, e.g. `9.00 USD, 1 200.00 JPY`; orders without an amount are left out. */
export function owedText(debits: readonly RestoredDebit[]): string {
  const sums = new Map<string, bigint>()
  for (const { currencyCode, amount } of debits) sums.set(currencyCode, (sums.get(currencyCode) ?? 0n) + (amount ?? 0n))
  return [...sums].map(([currencyCode, sum]) => `${formatMoney(sum)} ${currencyCode}`).join(', ')
}

/** The command that proposes the debit; undefined: it is proposed, or its amount is not known. */
export function debitCommand(debit: RestoredDebit): string | undefined {
  const { tenantId, amount, reference: name, orderNo, transactionId, state } = debit
  if (amount === null || state !== 'NOT_DEBITED') return undefined
  const reason = `sold before the restore: ${orderNo ?? transactionId}`
  return `wallet adjust ${tenantId} -${formatMoney(amount)} --reference ${name} --reason "${reason}"`
}
