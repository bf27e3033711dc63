import { type EsimStatus, type SmdpStatus, stripIccidPadding } from '@dealer-esim/contract'
import type { EsimToTopUp } from '../catalogue/topup-fit.ts'
import { isUuid } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'

/** A tenant's eSIM, as far as it decides whether it can be topped up. */
export interface TopUpCandidate extends EsimToTopUp {
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
}

/** Finds an eSIM of a tenant by one name or both. Of several with one ICCID it is the newest. */
export async function findEsimToTopUp(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { esimTranNo, iccid }: { esimTranNo?: string | undefined; iccid?: string | undefined },
): Promise<TopUpCandidate | undefined> {
  if (esimTranNo !== undefined && !isUuid(esimTranNo)) return undefined
  const [esim] = await db.query<TopUpCandidate>({
    name: esimTranNo === undefined ? 'profiles-to-top-up-by-iccid' : 'profiles-to-top-up-by-id',
    text: `select i.package_code, p.supplier, p.esim_status, p.smdp_status
           from profiles p join order_items i using (tenant_id, order_id, item_no)
           where p.tenant_id = $1 and ${
             esimTranNo === undefined ? 'p.iccid = $2' : '($2::text is null or p.iccid = $2) and p.profile_id = $3'
           }
           order by p.profile_id desc limit 1`,
    values: [
      tenantId,
      iccid === undefined ? null : stripIccidPadding(iccid),
      ...(esimTranNo === undefined ? [] : [esimTranNo]),
    ],
  })
  return esim
}
