import type { Tx } from '../../lib/db.ts'
import { orderNoOf } from '../../lib/ids.ts'
import { Refusal } from '../../lib/refusal.ts'
import type { CsvEsim } from '../../suppliers/stock/csv.ts'
import { fingerprint } from '../../suppliers/stock/fingerprint.ts'

/**
 * An operator's file is typed by people: an eSIM in it belongs to one item, and to nobody else. Whoever holds it may be
 * any tenant, so that ICCIDs are looked up without one. A profile that has ended holds its ICCID no longer.
 *
 * Locks: an advisory one, until the commit: of two files with one eSIM, the second sees the first.
 * @throws Refusal that names the line
 */
export async function refuseTakenEsims(tx: Tx, linkKey: Buffer, rows: readonly CsvEsim[]): Promise<void> {
  refuseTwice(rows, 'ICCID', ({ esim }) => esim.iccid)
  refuseTwice(rows, 'activation code', ({ esim }) => printOf(linkKey, esim))
  tx.send({ text: `select pg_advisory_xact_lock(hashtext('settled esims'))` })
  const values = [rows.map(({ esim }) => esim.iccid), rows.map(({ esim }) => `\\x${printOf(linkKey, esim)}`)]
  const [taken] = await tx.query<{ line: bigint; holder: string; order_id: string | null }>({ text: TAKEN, values })
  if (taken === undefined) return
  const { line, esim } = rows[Number(taken.line) - 1]!
  const whose = taken.order_id === null ? '' : ` ${orderNoOf(taken.order_id)}`
  const words = `Line ${line}: eSIM ${esim.iccid} is ${taken.holder}${whose}. Ask the supplier which one it delivered.`
  throw new Refusal(409, 'ESIM_TAKEN', words)
}

function refuseTwice(rows: readonly CsvEsim[], what: string, keyOf: (row: CsvEsim) => string): void {
  const seen = new Set<string>()
  for (const row of rows) {
    const key = keyOf(row)
    if (seen.has(key)) {
      const words = `Line ${row.line}: the ${what} of eSIM ${row.esim.iccid} is twice in the file: each item has its own.`
      throw new Refusal(422, 'ESIM_TWICE', words)
    }
    seen.add(key)
  }
}

function printOf(linkKey: Buffer, { smdpAddress, matchingId }: CsvEsim['esim']): string {
  return fingerprint(linkKey, smdpAddress, matchingId)
}

// A probe of an index for each eSIM, and of stock for each supplier and eSIM; orphans are few, and looked through.
const TAKEN = `
  with given as (
    select * from unnest($1::text[], $2::bytea[]) with ordinality as g(iccid, fingerprint, line)
  )
  select g.line, 'delivered already, with order' as holder, p.order_id
  from given g join profiles p on p.iccid = g.iccid and p.esim_status in ('GOT_RESOURCE', 'IN_USE')
  union all
  select g.line, 'kept as an orphan, of order', o.order_id
  from given g join orphans o on o.iccid = g.iccid and o.state <> 'CANCELLED'
  union all
  select g.line, 'for sale in stock of ' || s.supplier, null
  from given g cross join suppliers s
  where exists (select from stock_codes c where c.supplier = s.supplier and c.state = 'FREE' and c.iccid = g.iccid)
    or exists (select from stock_codes c
               where c.supplier = s.supplier and c.state = 'FREE' and c.fingerprint = g.fingerprint)
  order by line limit 1`
