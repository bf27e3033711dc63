import type { Tx } from '@dealer-esim/lib/postgres/db.ts'

/** The remaining amount that may be spent at a supplier on one UTC day, in 1/10 000 of a currency. */
export interface SpendBudget {
  left: bigint
  currencyCode: string
}

/**
 * Reads the remaining daily limits of these suppliers. Suppliers without a limit are not in the map. An attempt counts with
 * its cost in the catalogue, or with the charge if that is higher, unless the supplier refused it. An attempt in doubt
 * counts for its day, even if the supplier does not find it later: the limit exists because the supplier's look-ups are not
 * verified. A verification's purchase counts too.
 * Locks the suppliers' rows until the commit, in the order of their names, after the orders. The second of two workers
 * therefore sees the attempts of the first.
 */
export async function lockBudgets(
  tx: Pick<Tx, 'query'>,
  suppliers: readonly string[],
  now: Date,
): Promise<Map<string, SpendBudget>> {
  const limits = await tx.query<{ supplier: string; spendLimit: bigint; spendCurrency: string }>({
    name: 'spend-limits',
    text: `select supplier, spend_limit, spend_currency from suppliers
           where supplier = any ($1::text[]) and spend_limit is not null order by supplier for no key update`,
    values: [suppliers],
  })
  if (limits.length === 0) return new Map()
  const spent = await readSpent(
    tx,
    limits.map(({ supplier }) => supplier),
    now,
  )
  return new Map(
    limits.map(({ supplier, spendLimit, spendCurrency }) => [
      supplier,
      { left: spendLimit - (spent.get(supplier) ?? 0n), currencyCode: spendCurrency },
    ]),
  )
}

/** What was spent at suppliers with a limit on the UTC day of `now`, in the currency of the limit. Takes no lock. */
export async function readSpent(
  db: Pick<Tx, 'query'>,
  suppliers: readonly string[],
  now: Date,
): Promise<Map<string, bigint>> {
  const rows = await db.query<{ supplier: string; spent: bigint }>({
    name: 'spend-spent',
    text: SPENT,
    values: [suppliers, startOfDay(now)],
  })
  return new Map(rows.map(({ supplier, spent }) => [supplier, spent]))
}

/** Attempts made while there was no limit have no `spend`, and are in none of the indexes used here. */
const SPENT = `
  select s.supplier, (coalesce((
      select sum(greatest(a.spend, case when i.supplier = a.supplier and i.supplier_charge_currency = s.spend_currency
                                        then i.supplier_charge end))
      from supplier_attempts a
      join order_items i on i.tenant_id = a.tenant_id and i.order_id = a.order_id and i.item_no = a.item_no
      where a.supplier = s.supplier and a.spend is not null and a.started_at >= $2
        and (a.outcome is null or a.outcome not in ('refused', 'retry'))
    ), 0) + coalesce((
      select sum(v.cost) from supplier_verifications v
      where v.supplier = s.supplier and v.started_at >= $2 and v.state <> 'REFUSED'
    ), 0))::bigint as spent
  from suppliers s where s.supplier = any ($1::text[]) and s.spend_limit is not null`

function startOfDay(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()))
}
