import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { FingerprintedCode } from './taken-codes.ts'

export type SeenCodes = ReturnType<typeof createSeenCodes>

/**
 * Remembers the rows of a file, to say which row a duplicate repeats. Uses three numbers per row, because a file may have
 * millions. Two codes may share a number, so only a code that the database has refused as a duplicate is looked up.
 */
export function createSeenCodes() {
  const rows: number[] = []
  const iccids: number[] = []
  const fingerprints: number[] = []
  return {
    add(row: number, code: FingerprintedCode) {
      rows.push(row)
      iccids.push(shortIccid(code))
      fingerprints.push(shortFingerprint(code))
    },
    /** @returns undefined: no earlier row of the file has the code or its ICCID */
    describe(row: number, code: FingerprintedCode): string | undefined {
      const byCode = rows[fingerprints.indexOf(shortFingerprint(code))]
      if (byCode !== undefined && byCode < row)
        return `Its activation code is in row ${byCode} too: remove one of them.`
      const byIccid = rows[iccids.indexOf(shortIccid(code))]
      if (byIccid !== undefined && byIccid < row) return `The ICCID is in row ${byIccid} too: remove one of them.`
      return undefined
    },
  }
}

/** The last digits vary most. */
function shortIccid({ iccid }: FingerprintedCode): number {
  return Number(iccid.slice(-15))
}

function shortFingerprint({ fingerprint }: FingerprintedCode): number {
  return Number.parseInt(fingerprint.slice(2, 14), 16)
}

/**
 * Finds codes in the stock of any supplier, with their batches.
 * @param batchId of the running import, which is ignored
 * @returns where each code is in stock, by the index of the code
 */
export async function findStockedCodes(
  tx: Tx,
  codes: readonly FingerprintedCode[],
  batchId: string,
): Promise<Map<number, string>> {
  if (codes.length === 0) return new Map()
  const found = await tx.query<Stocked>({
    text: `select distinct on (g.place) g.place, c.fingerprint = g.fingerprint as "isCode", c.state, c.supplier,
             c.product_code as "productCode", b.batch_name as "batchName"
           from unnest($1::text[], $2::bytea[]) with ordinality as g(iccid, fingerprint, place)
           cross join suppliers s
           join stock_codes c on c.supplier = s.supplier and c.batch_id <> $3
             and (c.fingerprint = g.fingerprint or (c.iccid = g.iccid and c.state = 'FREE'))
           left join stock_batches b on b.supplier = c.supplier and b.batch_id = c.batch_id
           where s.type = 'stock' order by g.place, 2 desc`,
    values: [codes.map(({ iccid }) => iccid), codes.map(({ fingerprint }) => fingerprint), batchId],
  })
  return new Map(found.map((row) => [Number(row.place) - 1, stockedText(row)]))
}

interface Stocked {
  place: bigint
  isCode: boolean
  state: string
  supplier: string
  productCode: string
  batchName: string | null
}

function stockedText({ isCode, state, supplier, productCode, batchName }: Stocked): string {
  const what = isCode ? 'Its activation code' : 'The ICCID'
  const how = state === 'RESERVED' ? 'was sold from' : 'is in'
  return `${what} ${how} the stock of ${supplier} already, product ${productCode}, batch “${batchName ?? ''}”: remove the row.`
}
