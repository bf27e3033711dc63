import { hasNoMinorUnit, isCurrency } from '@dealer-esim/contract'
import { type Cipher, DecryptionFailed } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { shortList } from '@dealer-esim/lib/refusal.ts'
import { supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import type { StockSecrets } from '#stock/stock.ts'
import type { DatabaseCheckInput, Finding, Findings } from './finding.ts'

/* Values that an earlier release accepted from files and that are almost certainly wrong. */

/** Finds damaged names, prices that no dealer can pay, and stock that travellers cannot install. */
export async function checkValues({ db, cipher }: DatabaseCheckInput, findings: Findings): Promise<Finding[]> {
  const faults = [
    ...(await damagedNames(db)),
    ...(await unknownCurrencies(db)),
    ...(await fractions(db)),
    ...(await cutIccids(db)),
    ...(cipher === undefined ? [] : await missingCodes(db, cipher)),
  ]
  return faults.map((fault) => findings.warning(fault))
}

const SHOWN_MAX = 5

async function damagedNames(db: Db): Promise<string[]> {
  const rows = await db.query<{ packageCode: string }>(sql`
    select package_code from packages
    where position(chr(65533) in concat_ws(' ', name, description, speed, fup_policy)) > 0
    order by package_code`)
  if (rows.length === 0) return []
  const codes = shortList(
    rows.map((row) => row.packageCode),
    SHOWN_MAX,
  )
  return [
    `Dealers see damaged letters (�) in ${rows.length} packages: ${codes}. Their file was in another encoding: correct the texts in the console, or import the file again with package import FILE --encoding NAME.`,
  ]
}

async function unknownCurrencies(db: Db): Promise<string[]> {
  const rows = await db.query<{ place: string; currencyCode: string; example: string }>(sql`
    select 'the list price of package' as place, currency_code, min(package_code) as example
    from list_prices where not removed group by currency_code
    union all
    select 'a cost of package', cost_currency, min(package_code)
    from package_suppliers where cost_currency is not null group by cost_currency
    union all
    select 'a fixed price of plan', currency_code, min(plan_name)
    from price_plan_rules where not removed and currency_code <> '' group by currency_code
    union all
    select 'the exchange rate', c.currency_code, min(cost_currency || ' to ' || sale_currency)
    from exchange_rates cross join lateral (values (cost_currency), (sale_currency)) c(currency_code)
    group by c.currency_code
    order by 1, 2`)
  return rows
    .filter(({ currencyCode }) => !isCurrency(currencyCode))
    .map(
      ({ place, currencyCode, example }) =>
        `${currencyCode} is not an ISO 4217 currency, so no dealer can pay in it. It is used in ${place} ${example}. Enter the amount in the right currency, and remove this one.`,
    )
}

async function fractions(db: Db): Promise<string[]> {
  const rows = await db.query<{ currencyCode: string; packages: bigint; example: string }>(sql`
    select currency_code, count(*) as packages, min(package_code) as example from list_prices
    where not removed and (price % 10000 <> 0 or coalesce(retail_price, 0) % 10000 <> 0)
    group by currency_code order by 1`)
  return rows
    .filter(({ currencyCode }) => hasNoMinorUnit(currencyCode))
    .map(
      ({ currencyCode, packages, example }) =>
        `${currencyCode} has no decimal places, but ${packages} packages, such as ${example}, have a list price with some. Set a whole amount: price set ${example} AMOUNT --currency ${currencyCode}.`,
    )
}

async function cutIccids(db: Db): Promise<string[]> {
  const rows = await db.query<{ supplier: string; batchId: string; batchName: string; codes: bigint; unsold: bigint }>({
    text: `select c.supplier, c.batch_id, b.batch_name, c.codes, c.unsold
           from (select supplier, batch_id, count(*) as codes, count(*) filter (where state = 'FREE') as unsold
                 from stock_codes group by supplier, batch_id
                 having count(*) > 1 and bool_and(substr(iccid, 16) ~ '^0+$')) c
           join stock_batches b using (supplier, batch_id) order by 1, 2`,
  })
  return rows.map(
    ({ supplier, batchId, batchName, codes, unsold }) =>
      `A spreadsheet has cut the ICCIDs of batch “${batchName}” of ${supplier}: all ${codes} end in zeros, and ${unsold} are for sale. ${takeOffSale(supplier, batchId)} Correct the sold ones with the supplier’s list.`,
  )
}

function takeOffSale(supplier: string, batchId: string): string {
  return `End the sale: stock withdraw ${supplier} ${batchId}. Then import the supplier’s own file.`
}

const PAGE = 1_000

/** Decrypts every code, page by page. */
async function missingCodes(db: Db, cipher: Cipher): Promise<string[]> {
  const batches = new Map<string, { supplier: string; batchId: string; iccid: string; codes: number }>()
  let after = { supplier: '', codeId: '00000000-0000-0000-0000-000000000000' }
  for (;;) {
    const rows = await db.query<{ supplier: string; codeId: string; batchId: string; iccid: string; secrets: Buffer }>({
      text: `select supplier, code_id, batch_id, iccid, secrets from stock_codes
             where (supplier, code_id) > ($1, $2::uuid) order by supplier, code_id limit ${PAGE}`,
      values: [after.supplier, after.codeId],
    })
    for (const { supplier, batchId, iccid, secrets } of rows) {
      if (!lacksCode(cipher, supplier, secrets)) continue
      const found = batches.get(`${supplier} ${batchId}`) ?? { supplier, batchId, iccid, codes: 0 }
      found.codes++
      batches.set(`${supplier} ${batchId}`, found)
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) break
    after = last
  }
  return [...batches.values()].map(
    ({ supplier, batchId, iccid, codes }) =>
      `The phone will ask for a confirmation code that nobody has: ${codes} activation codes of batch ${batchId} of ${supplier}, such as that of ICCID ${iccid}, end in $1. Ask the supplier for the codes. ${takeOffSale(supplier, batchId)}`,
  )
}

function lacksCode(cipher: Cipher, supplier: string, encrypted: Buffer): boolean {
  try {
    const secrets: StockSecrets = JSON.parse(cipher.decrypt(encrypted, supplierOwner(supplier)).toString())
    return secrets.ac.endsWith('$1') && secrets.ac.split('$').length === 5 && secrets.confirmationCode === undefined
  } catch (error) {
    if (error instanceof DecryptionFailed) return false // another check reports the missing key
    throw error
  }
}
