import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { checkExists, checkPrice, invalidField } from '../catalogue-checks.ts'
import { changeCatalogue } from '../catalogue-version.ts'
import { coverageOf } from '../coverage.ts'
import type { PriceDocument } from '../packages/package-document.ts'
import { type ChangeDeps, putPackages } from '../packages/put-packages.ts'
import { findDocuments } from '../packages/read-packages.ts'
import { listRulesFor, type RuleDetails } from './price-plans.ts'

export interface ListPriceChange {
  readonly packageCode: string
  readonly currencyCode: string
  /** In 1/10 000 of the currency; null removes the price. */
  readonly price: bigint | null
  /** undefined: unchanged. */
  readonly retailPrice?: bigint | null
}

/** Sets or removes list prices, all or nothing. */
export async function setListPrices(deps: ChangeDeps, prices: readonly ListPriceChange[], by: By): Promise<void> {
  const byPackage = new Map<string, ListPriceChange[]>()
  for (const price of prices) byPackage.set(price.packageCode, [...(byPackage.get(price.packageCode) ?? []), price])
  const inputs = [...byPackage].map(([packageCode, own]) => ({ packageCode, prices: own.map(inputOf) }))
  await putPackages(deps, inputs, by, { mustExist: true })
}

function inputOf({ currencyCode, price, retailPrice }: ListPriceChange) {
  const retail = retailPrice === undefined ? {} : { retailPrice: retailPrice === null ? null : Number(retailPrice) }
  return { currencyCode, price: price === null ? null : Number(price), ...retail }
}

/** Sets a tenant's own price for a package, in the tenant's currency; null removes it. */
export async function setOwnPrice(
  deps: ChangeDeps,
  own: { tenantId: string; packageCode: string; price: bigint | null },
  by: By,
): Promise<void> {
  const { packageCode, price } = own
  const tenantId = requireUuid(own.tenantId, 'tenant')
  await changeCatalogue(deps.db, async (tx, stamp) => {
    await checkExists(tx, 'tenant', tenantId)
    await checkExists(tx, 'package', packageCode)
    if (price !== null) checkPrice(price, await currencyOf(tx, tenantId))
    const [row] = await tx.query<{ price: bigint; removed: boolean }>(sql`
      select price, removed from tenant_prices where tenant_id = ${tenantId} and package_code = ${packageCode}`)
    const before = row && !row.removed ? row.price : null
    if (before === price) {
      if (price === null) throw invalidField('packageCode', `The tenant has no price of its own for ${packageCode}.`)
      return
    }
    tx.send({
      text: `insert into tenant_prices (tenant_id, package_code, price, removed, first_set_at, updated_at)
             values ($1, $2, $3, $4, $5, $5)
             on conflict (tenant_id, package_code) do update
             set price = excluded.price, removed = excluded.removed, updated_at = excluded.updated_at`,
      values: [tenantId, packageCode, price ?? before, price === null, await stamp()],
    })
    const sides = { before: { price: before }, after: { price } }
    audit(tx, deps.ids, { tenantId, ...by, action: 'price.set_own', subject: packageCode, ...sides })
  })
}

async function currencyOf(tx: Tx, tenantId: string): Promise<string> {
  const text = 'select currency_code from tenants where tenant_id = $1'
  const [row] = await tx.query<{ currencyCode: string }>({ text, values: [tenantId] })
  return row!.currencyCode
}

/** All prices and rules that apply to one package. */
export interface PackagePrices {
  readonly packageCode: string
  readonly list: readonly PriceDocument[]
  /** Rules of plans that apply to this package, in the order of precedence within each plan. */
  readonly rules: readonly ({ readonly planName: string } & RuleDetails)[]
  readonly own: readonly {
    readonly tenantId: string
    readonly clientName: string
    readonly price: bigint
    readonly currencyCode: string
  }[]
}

/** @throws Refusal if the package does not exist */
export async function getPackagePrices(db: Db, packageCode: string): Promise<PackagePrices> {
  const document = (await findDocuments(db, [packageCode])).get(packageCode)
  if (!document) throw notFound('package', packageCode)
  const { priceLocation } = coverageOf(document.locationCodes, document.locationNetworkList)
  const supplier = document.suppliers[0]?.supplier
  const rules = await listRulesFor(db, { packageCode, location: priceLocation, supplier })
  const own = await db.query<PackagePrices['own'][number]>(sql`
    select p.tenant_id, t.tenant_name as client_name, p.price, t.currency_code
    from tenant_prices p join tenants t using (tenant_id)
    where p.package_code = ${packageCode} and not p.removed order by t.tenant_name, p.tenant_id`)
  return {
    packageCode,
    list: document.prices,
    rules,
    own,
  }
}
