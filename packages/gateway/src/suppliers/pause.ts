import sql from 'sql-template-tag'
import { type Actor, audit } from '../audit/audit.ts'
import type { Db } from '../lib/db.ts'
import type { Ids } from '../lib/ids.ts'
import { absent } from '../lib/refusal.ts'
import type { Wake } from '../lib/wake.ts'

/** Pauses a supplier, or lets it go on: orders for a paused one wait, and its eSIMs stay as they are. */
export async function setPaused(
  deps: { db: Db; ids: Ids; wake: Pick<Wake, 'wake'> },
  supplier: string,
  paused: boolean,
  by: { actor: Actor; address?: string },
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ paused: boolean }>(sql`
      select paused from suppliers where supplier = ${supplier} for update`)
    if (!row) throw absent('supplier')
    if (row.paused === paused) return
    tx.send(sql`
      update suppliers set paused = ${paused}, version = version + 1, updated_at = now() where supplier = ${supplier}`)
    const action = paused ? 'supplier.pause' : 'supplier.resume'
    audit(tx, deps.ids, { tenantId: null, action, subject: supplier, ...by })
  })
  deps.wake.wake('settings')
  deps.wake.wake('fulfilment')
}
