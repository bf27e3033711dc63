import { createHmac } from 'node:crypto'
import { orderNoOf } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'

/** The members of a row that are compared with codes in stock and sold codes. */
export interface FingerprintedCode {
  iccid: string
  /** As text: `\x` and hexadecimal digits. */
  fingerprint: string
}

/** Makes resolutions with eSIMs and the ends of imports wait for each other, until the commit. */
export function lockResolving(tx: Tx): void {
  tx.send({ text: `select pg_advisory_xact_lock(${advisoryKey('resolved esims')})` })
}

/** Waits for running resolutions with eSIMs and blocks new ones until the commit. Take this lock before every other. */
export function awaitResolving(tx: Tx): void {
  tx.send({ name: 'await-resolving', text: `select pg_advisory_xact_lock_shared(${advisoryKey('resolved esims')})` })
}

/**
 * Finds rows whose code another supplier has or had in stock, or that an operator used to resolve an item, or that are
 * orphans. A code is sold only once. An ICCID that is no longer in use may return with a different code.
 * @returns the reasons, by the index of the row
 */
export async function findTakenCodes(
  tx: Tx,
  supplier: string,
  rows: readonly FingerprintedCode[],
): Promise<Map<number, string>> {
  const values = [rows.map((row) => row.iccid), rows.map((row) => row.fingerprint), supplier]
  const taken = await tx.query<{ place: bigint; holder: string; orderId: string | null }>({ text: TAKEN, values })
  return new Map(
    taken.map(({ place, holder, orderId }) => {
      const index = Number(place) - 1
      if (orderId === null) return [index, `This code is already in the stock of ${holder}: remove the row.`]
      const order = orderNoOf(orderId)
      if (holder === 'resolved') return [index, `This code was already delivered, with order ${order}: remove the row.`]
      return [index, `This eSIM is an orphan of order ${order}: settle the orphan, or remove the row.`]
    }),
  )
}

// Probes indexes for each code and, in stock, for each supplier. This is not a prepared statement: a plan made while the
// tables were small would scan them for each batch once a file of a million codes has filled them.
const TAKEN = `
  with given as (
    select * from unnest($1::text[], $2::bytea[]) with ordinality as g(iccid, fingerprint, place)
  )
  select distinct on (place) * from (
    select g.place, s.supplier as holder, null::uuid as order_id
    from given g cross join suppliers s
    where s.type = 'stock' and s.supplier <> $3 and (
      exists (select from stock_codes c where c.supplier = s.supplier and c.fingerprint = g.fingerprint)
      or exists (select from stock_codes c where c.supplier = s.supplier and c.iccid = g.iccid and c.state = 'FREE'))
    union all
    select g.place, 'resolved', s.order_id from given g join resolved_codes s on s.fingerprint = g.fingerprint
    union all
    select g.place, 'orphan', o.order_id from given g join orphans o on o.iccid = g.iccid and o.state <> 'CANCELLED'
  ) taken order by place`

/**
 * Refuses an import at its end if an operator has resolved an item with one of its codes since the code was compared.
 * Blocks such resolutions until the commit.
 * @throws Refusal
 */
export async function refuseResolvedCodes(tx: Tx, supplier: string): Promise<void> {
  lockResolving(tx)
  const [resolved] = await tx.query<{ iccid: string; orderId: string }>(sql`
    select c.iccid, s.order_id from resolved_codes s
    join stock_codes c on c.supplier = ${supplier} and c.fingerprint = s.fingerprint
    where c.imported_at = now() limit 1`)
  if (resolved === undefined) return
  const message = `eSIM ${resolved.iccid} has since been delivered with order ${orderNoOf(resolved.orderId)}. Remove it from the file.`
  throw new Refusal(409, 'ESIM_TAKEN', message)
}

/** A fingerprint for finding an activation code. Keyed, so that a short matching id cannot be guessed from it. */
export function fingerprint(linkKey: Buffer, smdpAddress: string, matchingId: string): string {
  return createHmac('sha256', linkKey).update(`stock\n${smdpAddress.toLowerCase()}\n${matchingId}`).digest('hex')
}
