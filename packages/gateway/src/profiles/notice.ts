import { stripIccidPadding } from '@dealer-esim/contract'
import type { ProfileReport } from '../suppliers/supplier.ts'
import { applyReports, type ProfileDeps } from './report.ts'

/**
 * Takes in what an SM-DP+ tells of an ICCID. Suppliers reuse ICCIDs: it concerns the newest eSIM with that ICCID which
 * this supplier delivered and which still lives. The look-up crosses tenants (an index on ICCID); what follows is one
 * tenant's.
 * @returns whether there is such an eSIM.
 */
export async function applyNotice(
  deps: ProfileDeps,
  suppliers: readonly string[],
  iccid: string,
  report: ProfileReport,
): Promise<boolean> {
  const [row] = await deps.db.query<{ tenant_id: string; order_id: string; profile_id: string }>({
    name: 'profiles-live-iccid',
    text: `select tenant_id, order_id, profile_id from profiles
           where iccid = $1 and supplier = any ($2::text[]) and esim_status not in ('CANCEL', 'REVOKED')
             and smdp_status is distinct from 'DELETED'
           order by profile_id desc limit 1`,
    values: [stripIccidPadding(iccid), suppliers],
  })
  if (row === undefined) return false
  await applyReports(deps, row.tenant_id, [{ orderId: row.order_id, profileId: row.profile_id, report }])
  return true
}
