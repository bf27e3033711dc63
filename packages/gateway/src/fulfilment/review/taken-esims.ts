import { orderNoOf } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { CsvEsim } from '#stock/stock-csv.ts'
import { fingerprint } from '#stock/taken-codes.ts'

/** An eSIM in an operator's file, with the key of its item. */
export interface AssignedEsim extends CsvEsim {
  key: string
}

/** @throws Refusal that names the row of an eSIM that is in the file twice. */
export function refuseDuplicateEsims(linkKey: Buffer, rows: readonly CsvEsim[]): void {
  refuseDuplicates(rows, 'ICCID', ({ esim }) => esim.iccid)
  refuseDuplicates(rows, 'activation code', ({ esim }) => fingerprintOf(linkKey, esim))
}

/**
 * Refuses eSIMs in an operator's file that another item, orphan or stock code already has. Any tenant may hold them, so the
 * look-up crosses tenants. A profile that has ended no longer holds its ICCID. The caller has taken lockResolving, so if
 * two files, or a file and a delivery (outcomes/save-outcomes.ts), contain the same eSIM, the second sees the first.
 * @throws Refusal that names the row.
 */
export async function refuseTakenEsims(tx: Tx, linkKey: Buffer, assigned: readonly AssignedEsim[]): Promise<void> {
  const rows = [...assigned].sort((left, right) => left.row - right.row)
  const fingerprints = rows.map(({ esim }) => `\\x${fingerprintOf(linkKey, esim)}`)
  const values = [rows.map(({ esim }) => esim.iccid), fingerprints, rows.map(({ key }) => key)]
  const [taken] = await tx.query<{ place: bigint; holder: string; orderId: string | null }>({ text: TAKEN, values })
  if (taken === undefined) return
  const { row, esim } = rows[Number(taken.place) - 1]!
  const whose = taken.orderId === null ? '' : ` ${orderNoOf(taken.orderId)}`
  const message = `Row ${row}: eSIM ${esim.iccid} is ${taken.holder}${whose}. Ask the supplier which eSIM it delivered for this item.`
  throw new Refusal(409, 'ESIM_TAKEN', message)
}

/** Records the fingerprints of the activation codes, so that no stock import can sell them, even under a different ICCID. */
export function recordResolvedCodes(
  tx: Tx,
  linkKey: Buffer,
  { tenantId, orderId }: { tenantId: string; orderId: string },
  rows: readonly CsvEsim[],
): void {
  const fingerprints = rows.map(({ esim }) => `\\x${fingerprintOf(linkKey, esim)}`)
  tx.send({
    text: `insert into resolved_codes (fingerprint, iccid, tenant_id, order_id)
           select g.*, $3, $4 from unnest($1::bytea[], $2::text[]) g
           on conflict (fingerprint) do update set iccid = excluded.iccid, tenant_id = excluded.tenant_id,
             order_id = excluded.order_id, resolved_at = excluded.resolved_at`,
    values: [fingerprints, rows.map(({ esim }) => esim.iccid), tenantId, orderId],
  })
}

function refuseDuplicates(rows: readonly CsvEsim[], what: string, keyOf: (row: CsvEsim) => string): void {
  const seen = new Set<string>()
  for (const row of rows) {
    const key = keyOf(row)
    if (seen.has(key)) {
      const message = `Row ${row.row}: the ${what} of eSIM ${row.esim.iccid} appears in the file twice. Each item needs its own eSIM.`
      throw new Refusal(422, 'ESIM_TWICE', message)
    }
    seen.add(key)
  }
}

function fingerprintOf(linkKey: Buffer, { smdpAddress, matchingId }: CsvEsim['esim']): string {
  return fingerprint(linkKey, smdpAddress, matchingId)
}

// One index probe for each eSIM, and for stock one for each supplier and eSIM. There are few orphans, so they are scanned.
const TAKEN = `
  with given as (
    select * from unnest($1::text[], $2::bytea[], $3::text[]) with ordinality as g(iccid, fingerprint, key, place)
  )
  select g.place, 'already delivered with order' as holder, p.order_id
  from given g join profiles p on p.iccid = g.iccid and p.esim_status in ('GOT_RESOURCE', 'IN_USE')
  union all
  select g.place, 'already delivered with order', p.order_id
  from given g join resolved_codes s on s.fingerprint = g.fingerprint
  join profiles p on p.tenant_id = s.tenant_id and p.order_id = s.order_id and p.iccid = s.iccid
    and p.esim_status <> 'CANCEL'
  union all
  select g.place, 'kept as an orphan of order', o.order_id
  from given g join orphans o on o.iccid = g.iccid and o.state <> 'CANCELLED'
  union all
  select g.place, 'for sale in stock of ' || s.supplier, null
  from given g cross join suppliers s
  where exists (select from stock_codes c where c.supplier = s.supplier and c.state = 'FREE' and c.iccid = g.iccid)
    or exists (select from stock_codes c
               where c.supplier = s.supplier and c.state = 'FREE' and c.fingerprint = g.fingerprint)
  union all
  select g.place, 'reserved in stock of ' || c.supplier || ' for another ' ||
    case when split_part(c.key, '-', 1) = split_part(g.key, '-', 1) then 'item of this order' else 'order' end, null
  from given g cross join suppliers s
  join stock_codes c on c.supplier = s.supplier and c.fingerprint = g.fingerprint and c.state = 'RESERVED'
  where c.key <> g.key
  order by place limit 1`
