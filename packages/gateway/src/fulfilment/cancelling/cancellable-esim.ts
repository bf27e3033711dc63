import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import type { Cipher } from '../../lib/crypto.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { type SuppliedEsimRow, toSuppliedEsim } from '../../profiles/secrets.ts'
import type { SuppliedEsim } from '../../suppliers/supplier.ts'

export interface ProfileStatus {
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
}

/** An eSIM that is to be cancelled, or that has a pending cancellation. */
export interface CancellableEsim extends ProfileStatus {
  supplier: string
  profileId: string
  esim: SuppliedEsim
}

/** Finds the eSIM by its profile id, or by the item that it was delivered for. */
export async function findCancellableEsim(
  deps: { db: Db; cipher: Pick<Cipher, 'decrypt'> },
  tenantId: string,
  profile: string | { orderId: string; itemNo: number },
): Promise<CancellableEsim | undefined> {
  const byId = typeof profile === 'string'
  const [row] = await deps.db.query<Omit<CancellableEsim, 'esim'> & SuppliedEsimRow>({
    text: `select p.profile_id, p.order_id, p.item_no, p.supplier, i.product_code, p.iccid, p.esim_status, p.smdp_status,
             p.secrets
           from profiles p join order_items i
             on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
           where p.tenant_id = $1 and ${byId ? 'p.profile_id = $2' : 'p.order_id = $2 and p.item_no = $3'}`,
    values: byId ? [tenantId, profile] : [tenantId, profile.orderId, profile.itemNo],
  })
  if (!row) return undefined
  const { supplier, esimStatus, smdpStatus, profileId } = row
  return { supplier, esimStatus, smdpStatus, profileId, esim: toSuppliedEsim(deps.cipher, tenantId, row, true) }
}

/**
 * True if a pending cancellation may still turn out to have been executed. An expired eSIM may: eSIMs are returned on
 * their last day, too.
 */
export function wasNeverUsed({ esimStatus, smdpStatus }: ProfileStatus): boolean {
  return !USED.includes(esimStatus) && (smdpStatus === null || smdpStatus === 'RELEASED')
}

const USED: readonly EsimStatus[] = ['IN_USE', 'USED_UP', 'USED_EXPIRED']
