import { type ActionAnswer, type ActionQueryRequest, orderIdOf } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { ACTION_COLUMNS, type Action, actionAnswerOf } from '#orders/esim-action.ts'

/**
 * The answer of `esim/action/query`. If both actionNo and transactionId are given, both must match.
 * @throws ApiError 200013 if the tenant has no such action
 */
export async function getAction(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { actionNo, transactionId }: ActionQueryRequest,
): Promise<ActionAnswer> {
  const actionId = actionNo === undefined ? null : orderIdOf(actionNo)
  if (actionId === undefined) throw new ApiError('200013')
  const [action] = await db.query<Action>({
    name: actionId === null ? 'actions-get-by-transaction' : 'actions-get-by-id',
    text: `select ${ACTION_COLUMNS} from esim_actions a join profiles p using (tenant_id, profile_id)
           where a.tenant_id = $1 and ${
             actionId === null
               ? 'a.transaction_id = $3 and $2::uuid is null'
               : 'a.action_id = $2 and ($3::text is null or a.transaction_id = $3)'
           }`,
    values: [tenantId, actionId, transactionId ?? null],
  })
  if (action === undefined) throw new ApiError('200013')
  return actionAnswerOf(action)
}

const LISTED_MAX = 100

/** The latest actions on one eSIM, newest first. */
export async function listActions(
  db: Pick<Db, 'query'>,
  { tenantId, profileId }: { tenantId: string; profileId: string },
): Promise<Action[]> {
  return db.query<Action>({
    name: 'actions-of-profile',
    text: `select ${ACTION_COLUMNS} from esim_actions a join profiles p using (tenant_id, profile_id)
           where a.tenant_id = $1 and a.profile_id = $2 order by a.action_id desc limit ${LISTED_MAX}`,
    values: [tenantId, profileId],
  })
}
