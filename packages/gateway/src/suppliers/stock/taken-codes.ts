import { createHmac } from 'node:crypto'
import { orderNoOf } from '@dealer-esim/contract'
import type { Tx } from '../../lib/postgres/db.ts'
import { sqlState } from '../../lib/postgres/errors.ts'
import { Refusal } from '../../lib/refusal.ts'

/** A row of a file, as it is compared with what is sold. */
export interface CodePrint {
  iccid: string
  /** As `\x` and hexadecimal digits. */
  fingerprint: string
}

/**
 * One import at a time, until the commit: of two files with one code, for two suppliers, the second sees the first.
 * Settling does not wait for it, which may be minutes: see refuseSettledMeanwhile.
 * @throws Refusal where another takes longer than a lock is waited for
 */
export async function lockImports(tx: Tx): Promise<void> {
  try {
    await tx.query({ text: `select pg_advisory_xact_lock(hashtext('stock import'))` })
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
    const words = 'Another file is being imported just now. Import this one when that has ended.'
    throw new Refusal(409, 'IMPORT_RUNNING', words)
  }
}

const LOCK_NOT_AVAILABLE = '55P03'

/** Makes settlings with eSIMs, and the ends of imports, follow one another, until the commit. */
export function lockSettling(tx: Tx): void {
  tx.send({ text: `select pg_advisory_xact_lock(hashtext('settled esims'))` })
}

/** Waits for settlings with eSIMs that are under way, and lets none begin until the commit. Before every other lock. */
export function awaitSettling(tx: Tx): void {
  tx.send({ name: 'await-settling', text: `select pg_advisory_xact_lock_shared(hashtext('settled esims'))` })
}

/**
 * What another supplier has in stock, or had; what an operator has settled an item with; what is kept as an orphan. One
 * code is sold once, and an ICCID that has ended may come again with another code.
 * @returns why, by the row's place
 */
export async function findTakenCodes(
  tx: Tx,
  supplier: string,
  rows: readonly CodePrint[],
): Promise<Map<number, string>> {
  const values = [rows.map((row) => row.iccid), rows.map((row) => row.fingerprint), supplier]
  const taken = await tx.query<{ place: bigint; holder: string; orderId: string | null }>({ text: TAKEN, values })
  return new Map(
    taken.map(({ place, holder, orderId }) => {
      const index = Number(place) - 1
      if (orderId === null) return [index, `this code or ICCID is in the stock of ${holder} already`]
      const order = orderNoOf(orderId)
      if (holder === 'settled') return [index, `this code was delivered already, with order ${order}`]
      return [index, `eSIM ${rows[index]!.iccid} is kept as an orphan, of order ${order}`]
    }),
  )
}

// Probes of indexes for each code: in stock, for each supplier. Not prepared by a name: a plan that was made while the
// tables were small would read them whole for each batch, when a file of a million has filled them.
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
    select g.place, 'settled', s.order_id from given g join resolved_codes s on s.fingerprint = g.fingerprint
    union all
    select g.place, 'orphan', o.order_id from given g join orphans o on o.iccid = g.iccid and o.state <> 'CANCELLED'
  ) taken order by place`

/**
 * At the end of an import, whose codes nobody else has seen yet: one that was settled since it was compared. After this,
 * and until the commit, nothing is settled.
 * @throws Refusal
 */
export async function refuseSettledMeanwhile(tx: Tx, supplier: string): Promise<void> {
  lockSettling(tx)
  const [settled] = await tx.query<{ iccid: string; orderId: string }>({
    text: `select c.iccid, s.order_id from resolved_codes s
           join stock_codes c on c.supplier = $1 and c.fingerprint = s.fingerprint
           where c.imported_at = now() limit 1`,
    values: [supplier],
  })
  if (settled === undefined) return
  const words = `eSIM ${settled.iccid} was delivered meanwhile, with order ${orderNoOf(settled.orderId)}. Take it out of the file.`
  throw new Refusal(409, 'ESIM_TAKEN', words)
}

/** Of an activation code, to find it again by. Keyed, so that a matching id that is short cannot be found by trying. */
export function fingerprint(linkKey: Buffer, smdpAddress: string, matchingId: string): string {
  return createHmac('sha256', linkKey).update(`stock\n${smdpAddress.toLowerCase()}\n${matchingId}`).digest('hex')
}
