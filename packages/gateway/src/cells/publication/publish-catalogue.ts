import { type Db, joinTransaction, type Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { listDocumentBatches } from '#catalogue/packages/read-packages.ts'
import { parsePercent } from '#catalogue/prices/percent.ts'
import { listPlans, type PlanDetails } from '#catalogue/prices/price-plans.ts'
import { listRates } from '#products/rules/exchange-rates.ts'
import { createDigest, FORMAT, type PublicationEntry, type PublishedSaleRule } from './publication-entries.ts'

/**
 * Writes the catalogue, price plans, sale rules and exchange rates of this cell, as of a single moment, for
 * `importPublication`. Dealers' plans, groups and own prices stay in their cell.
 * @param from the publishing cell; without a key the publication carries no digest
 * @returns the number of packages
 */
export function publishCatalogue(
  db: Db,
  from: { cell: string; key: Buffer | undefined },
  write: (text: string) => Promise<void>,
): Promise<number> {
  const digest = from.key && createDigest(from.key)
  return db.tx(async (tx) => {
    tx.send({ text: 'set transaction isolation level repeatable read, read only' })
    let entries = 0
    let packages = 0
    const put = async (entry: PublicationEntry) => {
      const line = JSON.stringify(entry, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
      if (!('end' in entry)) digest?.add(line)
      await write(`${line}\n`)
      entries++
    }
    const head = await readHead(tx, from.cell)
    await put({ head })
    for (const { costCurrency, saleCurrency, rate, ratedAt } of await listRates(tx))
      await put({ exchangeRate: { costCurrency, saleCurrency, rate: Number(rate), ratedAt: ratedAt.toISOString() } })
    for (const saleRule of await listSaleRules(tx)) await put({ saleRule })
    for (const plan of await listPlans(joinTransaction(db, tx)))
      await put({ pricePlan: publishedPlan(plan, Date.parse(head.publishedAt)) })
    for await (const documents of listDocumentBatches(tx)) {
      const owners = await findOwners(
        tx,
        documents.map(({ packageCode }) => packageCode),
      )
      for (const document of documents)
        await put({ package: document, madeBy: owners.get(document.packageCode) ?? null })
      packages += documents.length
    }
    await put({ end: { entries, ...(digest && { digest: digest.value() }) } })
    return packages
  })
}

async function readHead(tx: Tx, cell: string) {
  const [row] = await tx.query<{ version: bigint; now: Date }>(sql`select version, now() as now from catalogue_version`)
  return { format: FORMAT, cell, publishedAt: row!.now.toISOString(), catalogueVersion: Number(row!.version) } as const
}

function listSaleRules(tx: Tx): Promise<PublishedSaleRule[]> {
  return tx.query<PublishedSaleRule>(sql`
    select rule_name, definition as rule, applied from sale_rules order by position, rule_name`)
}

/** Leaves out expired rules, which no importing cell would accept. */
function publishedPlan({ planName, displayName, rules }: PlanDetails, now: number) {
  return {
    planName,
    displayName,
    rules: rules
      .filter(({ validUntil }) => validUntil === null || validUntil.getTime() > now)
      .map(({ percent, price, validFrom, validUntil, ...rule }) => ({
        ...rule,
        percent: percent === null ? null : Number(parsePercent(percent)),
        price: price === null ? null : Number(price),
        validFrom: validFrom?.toISOString() ?? null,
        validUntil: validUntil?.toISOString() ?? null,
      })),
  }
}

async function findOwners(tx: Tx, codes: readonly string[]) {
  const rows = await tx.query<{ packageCode: string; ruleName: string; offSaleByRule: boolean }>(sql`
    select package_code, rule_name, off_sale_by_rule from rule_packages where package_code = any (${codes})`)
  return new Map(rows.map(({ packageCode, ...owner }) => [packageCode, owner]))
}
