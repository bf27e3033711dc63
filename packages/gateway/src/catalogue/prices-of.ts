import type { Db } from '../lib/postgres/db.ts'
import { notFound } from '../lib/refusal.ts'
import type { PriceDocument } from './document.ts'
import { formatPercent } from './percent.ts'
import { readDocuments } from './read.ts'

/** Everything that decides what somebody pays for one package. */
export interface PricesOfPackage {
  readonly packageCode: string
  readonly list: readonly PriceDocument[]
  /** Rules of plans that name the package, or every package. */
  readonly rules: readonly {
    readonly planName: string
    readonly everyPackage: boolean
    readonly percent: string | null
    readonly price: bigint | null
    readonly currencyCode: string | null
  }[]
  readonly own: readonly {
    readonly tenantId: string
    readonly clientName: string
    readonly price: bigint
    readonly currencyCode: string
  }[]
}

/** @throws Refusal when there is no such package */
export async function pricesOfPackage(db: Db, packageCode: string): Promise<PricesOfPackage> {
  const document = (await readDocuments(db, [packageCode])).get(packageCode)
  if (!document) throw notFound('package', packageCode)
  const rules = await db.query<{
    planName: string
    code: string
    percent: bigint | null
    price: bigint | null
    currency: string
  }>({
    text: `select plan_name, package_code as code, percent, price, currency_code as currency
           from price_plan_rules where package_code in ($1, '') and not removed
           order by plan_name, package_code desc, currency_code desc`,
    values: [packageCode],
  })
  const own = await db.query<PricesOfPackage['own'][number]>({
    text: `select p.tenant_id, t.tenant_name as client_name, p.price, t.currency_code
           from tenant_prices p join tenants t using (tenant_id)
           where p.package_code = $1 and not p.removed order by t.tenant_name, p.tenant_id`,
    values: [packageCode],
  })
  return {
    packageCode,
    list: document.prices,
    rules: rules.map(({ planName, code, percent, price, currency }) => ({
      ...{ planName, everyPackage: code === '', price },
      percent: percent === null ? null : formatPercent(percent),
      currencyCode: currency || null,
    })),
    own,
  }
}
