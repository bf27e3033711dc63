import { type EsimStatus, type SmdpStatus, stripIccidPadding } from '@dealer-esim/contract'
import { isUuid } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { openActionOn, openTopUpsOf } from '#orders/esim-action.ts'

/** How a caller identifies an eSIM: by one member, or by both. */
export interface EsimReference {
  esimTranNo?: string | undefined
  iccid?: string | undefined
}

/** The parts of an eSIM that never change. */
export interface EsimIdentity {
  profileId: string
  iccid: string
  orderId: string
  itemNo: number
  supplier: string
}

/** The state that decides whether an action is allowed, read under the lock of the eSIM's order. */
export interface EsimState {
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  suspended: boolean
  /** The latest delivered top-up. */
  toppedUpAt: Date | null
  createdAt: Date
  /** The open action that blocks another one; null: none. */
  openActionId: string | null
  /** The order of the open top-up that rules out an action; null: none. */
  openTopUpId: string | null
}

/** Finds a tenant's eSIM. If several have the ICCID, the newest is taken; if both members are given, both must match. */
export async function findEsim(
  tx: Pick<Tx, 'query'>,
  tenantId: string,
  { esimTranNo, iccid }: EsimReference,
): Promise<EsimIdentity | undefined> {
  if (esimTranNo !== undefined && !isUuid(esimTranNo)) return undefined
  const [esim] = await tx.query<EsimIdentity>({
    name: esimTranNo === undefined ? 'actions-esim-by-iccid' : 'actions-esim-by-id',
    text: `select profile_id, iccid, order_id, item_no, supplier from profiles
           where tenant_id = $1 and ${esimTranNo === undefined ? 'iccid = $2' : 'profile_id = $2 and iccid = coalesce($3, iccid)'}
           order by profile_id desc limit 1`,
    values:
      esimTranNo === undefined
        ? [tenantId, stripIccidPadding(iccid ?? '')]
        : [tenantId, esimTranNo, iccid === undefined ? null : stripIccidPadding(iccid)],
  })
  return esim
}

/** Compares a reference with an eSIM: each given member must match. */
export function matchesReference(
  { esimTranNo, iccid }: EsimReference,
  esim: Pick<EsimIdentity, 'profileId' | 'iccid'>,
): boolean {
  if (esimTranNo !== undefined && esimTranNo.toLowerCase() !== esim.profileId) return false
  return iccid === undefined || stripIccidPadding(iccid) === esim.iccid
}

/** Reads the state. The caller holds the locks of wallet and order, so no top-up or action can begin in the meantime. */
export async function readEsimState(tx: Pick<Tx, 'query'>, tenantId: string, profileId: string): Promise<EsimState> {
  const [state] = await tx.query<EsimState>({
    name: 'actions-esim-state',
    text: `select p.esim_status, p.smdp_status, p.suspended, p.topped_up_at, p.created_at,
             (select a.action_id from ${openActionOn('$1', '$2')}) as open_action_id,
             (select o.order_id from ${openTopUpsOf('$1', '$2')} order by o.wallet_version limit 1) as open_top_up_id
           from profiles p where p.tenant_id = $1 and p.profile_id = $2`,
    values: [tenantId, profileId],
  })
  return state!
}
