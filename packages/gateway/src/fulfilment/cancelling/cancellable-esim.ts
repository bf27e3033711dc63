import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import type { Cipher } from '../../lib/crypto.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { toSuppliedEsim } from '../../profiles/secrets.ts'
import type { SuppliedEsim } from '../../suppliers/supplier.ts'

/** An eSIM that is to be cancelled, or of which a cancel is in question. */
export interface CancellableEsim extends ProfileStatus {
  supplier: string
  profileId: string
  esim: SuppliedEsim
}

/** By profile, or by the item that it came for. */
export async function findCancellableEsim(
  deps: { db: Db; cipher: Pick<Cipher, 'decrypt'> },
  tenantId: string,
  profile: string | { orderId: string; itemNo: number },
): Promise<CancellableEsim | undefined> {
  const byId = typeof profile === 'string'
  const [row] = await deps.db.query<{
    profileId: string
    orderId: string
    itemNo: number
    supplier: string
    productCode: string
    iccid: string
    esimStatus: EsimStatus
    smdpStatus: SmdpStatus | null
    secrets: Buffer
  }>({
    text: `select p.profile_id, p.order_id, p.item_no, p.supplier, i.product_code, p.iccid, p.esim_status, p.smdp_status,
             p.secrets
           from profiles p join order_items i
             on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
           where p.tenant_id = $1 and ${byId ? 'p.profile_id = $2' : 'p.order_id = $2 and p.item_no = $3'}`,
    values: byId ? [tenantId, profile] : [tenantId, profile.orderId, profile.itemNo],
  })
  if (!row) return undefined
  return {
    supplier: row.supplier,
    esimStatus: row.esimStatus,
    smdpStatus: row.smdpStatus,
    profileId: row.profileId,
    esim: toSuppliedEsim(deps.cipher, tenantId, row, true),
  }
}

/**
 * Whether a cancel that is in question may still turn out to have been executed. That its time has passed meanwhile says
 * nothing against it: eSIMs are returned on their last day, too.
 */
export function wasNeverUsed({ esimStatus, smdpStatus }: ProfileStatus): boolean {
  return !USED.includes(esimStatus) && (smdpStatus === null || smdpStatus === 'RELEASED')
}

const USED: readonly EsimStatus[] = ['IN_USE', 'USED_UP', 'USED_EXPIRED']

export interface ProfileStatus {
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
}
