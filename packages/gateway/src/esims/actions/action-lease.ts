import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { ACTION_COLUMNS, type Action, IS_OPEN } from '#orders/esim-action.ts'
import { type LockedOrder, lockOrders, lockWalletAndOrders } from '#orders/lock-orders.ts'
import type { ActionDeps } from './action-deps.ts'

/** A leased action. */
export interface ActionJob {
  tenantId: string
  actionId: string
  orderId: string
  supplier: string
  leaseToken: string
}

/** A lease that is not renewed for this long expires, and another worker takes over the action. */
export const LEASE_MS = 30_000
const RENEW_MS = LEASE_MS / 3

/** An open action that is still leased, and the locked order of its eSIM. */
export interface HeldAction {
  action: Action
  order: LockedOrder
  now: Date
  databaseNow: Date
}

/** Locks the eSIM's order, and before it the wallet if a refund may follow. @returns undefined if the lease is lost */
export async function lockHeld(tx: Tx, job: ActionJob, mayRefund: boolean): Promise<HeldAction | undefined> {
  const lock = mayRefund ? lockWalletAndOrders : lockOrders
  const [{ orders, now, databaseNow }, [action]] = await Promise.all([
    lock(tx, job.tenantId, [job.orderId]),
    tx.query<Action>({
      name: 'actions-held',
      text: `select ${ACTION_COLUMNS} from esim_actions a join profiles p using (tenant_id, profile_id)
             where a.tenant_id = $1 and a.action_id = $2 and a.lease_token = $3 and ${IS_OPEN}
             for no key update of a`,
      values: [job.tenantId, job.actionId, job.leaseToken],
    }),
  ])
  return action && { action, order: orders.get(job.orderId)!, now, databaseNow }
}

/** Does work while renewing the lease. */
export async function whileLeased<Result>(
  deps: ActionDeps,
  { tenantId, actionId, leaseToken }: ActionJob,
  work: () => Promise<Result>,
): Promise<Result> {
  const renewing = setInterval(() => {
    const renewal = {
      name: 'actions-renew',
      text: `update esim_actions set lease_until = now() + $4 * interval '1 millisecond'
             where tenant_id = $1 and action_id = $2 and lease_token = $3`,
      values: [tenantId, actionId, leaseToken, LEASE_MS],
    }
    deps.db.query(renewal).catch((error) => deps.log.warn({ err: error }, 'a lease could not be renewed'))
  }, RENEW_MS)
  try {
    return await work()
  } finally {
    clearInterval(renewing)
  }
}
