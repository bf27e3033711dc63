import { csvLines } from '@dealer-esim/lib/csv.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import type { PackageDocument } from '../packages/package-document.ts'
import { listDocumentBatches, type PackageFilter } from '../packages/read-packages.ts'
import { columnsFor, writeRow } from './csv-columns.ts'

export type FileFormat = 'csv' | 'json'

/**
 * Exports the packages that match the filter, from one version of the catalogue, in batches. Importing the file again
 * changes nothing. @returns the number of packages
 */
export async function exportPackages(
  db: Db,
  format: FileFormat,
  filter: PackageFilter,
  write: (text: string) => Promise<void>,
): Promise<number> {
  return db.tx(async (tx) => {
    tx.send({ text: 'set transaction isolation level repeatable read, read only' })
    const form = format === 'csv' ? await csv(tx) : json()
    let count = 0
    await write(form.head)
    for await (const documents of listDocumentBatches(tx, filter)) {
      await write(form.rows(documents, count === 0))
      count += documents.length
    }
    await write(form.tail(count))
    return count
  })
}

interface FileForm {
  readonly head: string
  rows(documents: PackageDocument[], first: boolean): string
  tail(count: number): string
}

/** Begins with a byte-order mark: without it, spreadsheets do not recognise UTF-8. */
async function csv(tx: Tx): Promise<FileForm> {
  const [has] = await tx.query<{ currencies: string[]; suppliers: number }>(sql`
    select array(select distinct currency_code from list_prices where not removed order by 1) as currencies,
           (select coalesce(max(position) + 1, 1)::int from package_suppliers) as suppliers`)
  const headers = columnsFor(has!.currencies, has!.suppliers)
  return {
    head: `\uFEFF${csvLines([headers])}`,
    rows: (documents) => csvLines(documents.map((document) => writeRow(document, headers))),
    tail: () => '',
  }
}

/** One package per line, so that versions can be diffed. */
function json(): FileForm {
  return {
    head: '[',
    rows: (documents, first) =>
      documents
        .map((document, i) => `${first && i === 0 ? '' : ','}\n${JSON.stringify(exportedForm(document))}`)
        .join(''),
    tail: (count) => (count === 0 ? ']\n' : '\n]\n'),
  }
}

/**
 * A package with the members of the contract: its first currency as price, retailPrice and currencyCode, the others as prices.
 */
export function exportedForm({ prices: [first, ...others], suppliers, ...plain }: PackageDocument) {
  const { packageCode, slug, name, description, ...rest } = plain
  return {
    ...{ packageCode, slug, name, description },
    ...(first ? { price: first.price, retailPrice: first.retailPrice, currencyCode: first.currencyCode } : {}),
    ...(others.length > 0 ? { prices: others } : {}),
    ...rest,
    suppliers,
  }
}
