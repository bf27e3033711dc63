import type { Profile, TestEsimRequest } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { ProfileReport } from '@dealer-esim/wholesalers/supplier.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { findEsim } from '../actions/action-esim.ts'
import { applyReports, type ProfileDeps } from '../apply-reports.ts'
import type { ProfileLife } from '../life/esim-lifecycle.ts'
import { listProfiles } from '../list-profiles.ts'
import type { ProfileReadDeps } from '../profile.ts'

export type TestEsimDeps = ProfileDeps & ProfileReadDeps & { suppliers: Pick<Suppliers, 'get'> }

/**
 * Applies a report that the dealer has made up, as of this moment, and returns the eSIM as it is afterwards. A supplier that
 * reports usage also says that the eSIM is in use, or used up: so does this. Example: 1 % of an unused eSIM makes it IN_USE,
 * 100 % USED_UP.
 * @throws ApiError 310403; 200015 for an eSIM that the sandbox has not delivered; 000108 for a percentage of no volume
 */
export async function reportTestEsim(deps: TestEsimDeps, tenantId: string, request: TestEsimRequest): Promise<Profile> {
  const esim = await findEsim(deps.db, tenantId, request)
  if (esim === undefined) throw new ApiError('310403')
  if (deps.suppliers.get(esim.supplier)?.supplier.testing === undefined) {
    throw new ApiError('200015', { data: { action: 'TEST' } })
  }
  const { orderId, profileId } = esim
  await applyReports(deps, tenantId, [{ orderId, profileId, report: (life, now) => reportOf(request, life, now) }])
  const { profileList } = await listProfiles(deps, tenantId, { esimTranNo: profileId })
  return profileList[0]!
}

function reportOf(request: TestEsimRequest, life: ProfileLife, now: Date): ProfileReport {
  const usage = usageOf(request, life)
  return {
    // Two reports within a millisecond are two reports.
    time: new Date(Math.max(now.getTime(), (life.usageUpdateTime?.getTime() ?? 0) + 1)),
    ...(request.smdpStatus !== undefined && { smdpStatus: request.smdpStatus }),
    ...(usage !== undefined && { usage }),
    ...(usage !== undefined && usage > 0n && { esimStatus: isUsedUp(life, usage) ? 'USED_UP' : 'IN_USE' }),
  }
}

function isUsedUp({ totalVolume }: ProfileLife, usage: bigint): boolean {
  return totalVolume !== null && usage >= totalVolume
}

/** Bytes; a percentage is rounded up. */
function usageOf({ orderUsage, usedPercent }: TestEsimRequest, { totalVolume }: ProfileLife): bigint | undefined {
  if (orderUsage !== undefined) return BigInt(orderUsage)
  if (usedPercent === undefined) return undefined
  const usage = totalVolume === null ? undefined : (totalVolume * BigInt(usedPercent) + 99n) / 100n
  if (usage !== undefined && usage <= Number.MAX_SAFE_INTEGER) return usage
  const reason = usage === undefined ? 'The eSIM has no totalVolume: send orderUsage.' : 'The usage would be too large.'
  throw new ApiError('000108', { details: [{ field: 'usedPercent', reason }] })
}
