import { setTimeout as delay } from 'node:timers/promises'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { isContended } from '@dealer-esim/lib/postgres/errors.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { lockWallet } from '#wallet/ledger/lock-wallets.ts'
import { removeRows } from '../trial/remove-tenants.ts'

/** What a reset keeps: who may call the API, what they may, and which RequestIDs they have spent. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  ...['tenants', 'tenant_secrets', 'tenant_keys', 'request_ids', 'qps_buckets', 'twins', 'audit_log'],
])

const POLL_MS = 200
/** Longer than the lease of a worker that was killed. */
const WAIT_MAX_MS = 180_000

/**
 * Deletes the rows of a twin, in one transaction with `andThen`. Waits until no worker calls the sandbox or a callback URL for
 * it. Nothing new begins while the transaction decides: it holds the locks of the wallet, which placing an order and starting
 * an action take, and of the orders, which a worker's claim skips.
 * @throws Refusal if a worker does not end
 */
export async function endTwin(
  db: Db,
  tenantId: string,
  what: 'KEEP_CREDENTIALS' | 'DELETE',
  andThen: (tx: Tx) => Promise<void> = async () => {},
): Promise<void> {
  const until = performance.now() + WAIT_MAX_MS
  while (performance.now() < until) {
    const hasEnded = await db
      .tx(async (tx) => {
        await lockWallet(tx, tenantId)
        if (await lockWork(tx, tenantId)) return false
        await removeRows(tx, [tenantId], what === 'DELETE' ? undefined : CREDENTIALS)
        tx.send(sql`update tenant_keys set day_spent = 0, total_spent = 0 where tenant_id = ${tenantId}`)
        await andThen(tx)
        return true
      })
      .catch((error: unknown) => {
        // A worker that settles an order locks it before the wallet, so PostgreSQL may have ended this transaction.
        if (!isContended(error)) throw error
        return false
      })
    if (hasEnded) return
    await delay(POLL_MS)
  }
  throw new Refusal(409, 'TWIN_BUSY', 'Work for the test twin does not end. Try again in a few minutes.')
}

/** Locks all work of the tenant. @returns true if a worker has some of it under its lease */
async function lockWork(tx: Tx, tenantId: string): Promise<boolean> {
  const leased = await Promise.all(
    ['orders', 'esim_actions', 'endpoint_queues'].map((table) =>
      tx.query<{ isLeased: boolean }>({
        text: `select coalesce(lease_until > clock_timestamp(), false) as is_leased from ${table} where tenant_id = $1 for update`,
        values: [tenantId],
      }),
    ),
  )
  return leased.flat().some(({ isLeased }) => isLeased)
}
