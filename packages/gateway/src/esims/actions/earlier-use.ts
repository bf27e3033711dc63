import type { SendStatus } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { ACTION_COLUMNS, type Action } from '#orders/esim-action.ts'

/** A row of esim_sends, and the eSIM that it names. */
export interface StoredSend {
  sendId: string
  transactionId: string | null
  startedBy: string | null
  profileId: string
  iccid: string
  /** Encrypted; null: forgotten. */
  traveller: Buffer | null
  sendStatus: SendStatus
  createdAt: Date
  updatedAt: Date
}

/** What a transactionId was used for. Without action and send: an order. */
export interface EarlierUse {
  action?: Action | undefined
  send?: StoredSend | undefined
}

/**
 * Finds an earlier use of a transactionId: orders, top-ups, actions and sends share one namespace. The caller holds the wallet's
 * lock. @returns undefined if it is free
 */
export async function findByTransactionId(
  tx: Pick<Tx, 'query'>,
  tenantId: string,
  transactionId: string,
): Promise<EarlierUse | undefined> {
  const values = [tenantId, transactionId]
  const [orders, [action], [send]] = await Promise.all([
    tx.query({
      name: 'actions-earlier-order',
      text: 'select from orders where tenant_id = $1 and transaction_id = $2',
      values,
    }),
    tx.query<Action>({
      name: 'actions-earlier-action',
      text: `select ${ACTION_COLUMNS} from esim_actions a join profiles p using (tenant_id, profile_id)
             where a.tenant_id = $1 and a.transaction_id = $2`,
      values,
    }),
    tx.query<StoredSend>({
      name: 'actions-earlier-send',
      text: `select s.send_id, s.transaction_id, s.started_by, s.profile_id, p.iccid, s.traveller, s.send_status,
               s.created_at, s.updated_at
             from esim_sends s join profiles p using (tenant_id, profile_id)
             where s.tenant_id = $1 and s.transaction_id = $2`,
      values,
    }),
  ])
  if (orders.length > 0) return {}
  return action || send ? { action, send } : undefined
}
