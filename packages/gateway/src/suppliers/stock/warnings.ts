import type { Readable } from 'node:stream'
import { passesLuhn } from '@dealer-esim/contract'
import type { Db } from '../../lib/db.ts'
import { readEsims } from './csv.ts'

const ICCID_DIGITS = 19

/** What somebody should know of codes that were taken into stock from this file. Sentences. */
export async function stockWarnings(
  db: Pick<Db, 'query'>,
  { supplier, productCode }: { supplier: string; productCode: string },
  file: Readable,
): Promise<string[]> {
  const warnings: string[] = []
  let [odd, example] = [0, '']
  for await (const row of readEsims(file)) {
    if ('reason' in row || row.esim.iccid.length !== ICCID_DIGITS || passesLuhn(row.esim.iccid)) continue
    odd += 1
    example ||= row.esim.iccid
  }
  if (odd > 0) {
    const which = odd === 1 ? `The ICCID ${example} fails its` : `${odd} ICCIDs, such as ${example}, fail their`
    warnings.push(`${which} check digit. Some suppliers count none; ask, if yours does.`)
  }
  const sold = await db.query({
    text: 'select from package_suppliers where supplier = $1 and product_code = $2 limit 1',
    values: [supplier, productCode],
  })
  if (sold.length === 0) {
    const name = `--supplier ${supplier}:${productCode}`
    warnings.push(`No package sells ${productCode} of ${supplier} yet: name it by package set CODE ${name}.`)
  }
  return warnings
}
