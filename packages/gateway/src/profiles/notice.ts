import { stripIccidPadding } from '@dealer-esim/contract'
import type { ProfileReport } from '../suppliers/supplier.ts'
import { applyReports, type ProfileDeps } from './report.ts'

/**
 * Takes in what an SM-DP+ tells of an ICCID. Suppliers reuse ICCIDs: it concerns the newest eSIM with that ICCID which
 * this supplier delivered, which was not taken back, and which was there when it happened: what is late may be of an
 * earlier use. One that was deleted still has its own late and repeated notices; the one before it has none any more.
 * The look-up crosses tenants (an index on ICCID); what follows is one tenant's.
 * @returns whether there is such an eSIM.
 */
export async function applyNotice(
  deps: ProfileDeps,
  suppliers: readonly string[],
  iccid: string,
  report: ProfileReport,
): Promise<boolean> {
  const [row] = await deps.db.query<{ tenantId: string; orderId: string; profileId: string }>({
    name: 'profiles-live-iccid',
    text: `select tenant_id, order_id, profile_id from profiles
           where iccid = $1 and supplier = any ($2::text[]) and esim_status not in ('CANCEL', 'REVOKED')
             and created_at <= $3::timestamptz + $4 * interval '1 second'
           order by profile_id desc limit 1`,
    values: [stripIccidPadding(iccid), suppliers, report.time, CLOCKS_APART_S],
  })
  if (row === undefined) return false
  await applyReports(deps, row.tenantId, [{ orderId: row.orderId, profileId: row.profileId, report }])
  return true
}

/** An SM-DP+ whose clock is behind by less is still understood; nobody sells an ICCID again within an hour. */
const CLOCKS_APART_S = 3_600
