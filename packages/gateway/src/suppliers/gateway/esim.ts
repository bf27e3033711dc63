import {
  ESIM_STATUSES,
  type EsimStatus,
  isEid,
  isIccid,
  type Profile,
  SMDP_STATUSES,
  type SmdpStatus,
  stripIccidPadding,
} from '@dealer-esim/contract'
import type { DeliveredEsim, ProfileReport } from '../supplier.ts'

/*
 * Pure: what an upstream's profile says. It may be newer than we are, or of another make: a status that we do not know,
 * or a text that is none, says nothing, because our tables could not hold it, and what came with it would never be
 * written. Neither does an identifier that has not its form: dealers are promised it (contract §5).
 */

/** undefined: they cannot be read. Thrown, it would count as a supplier that is away, for the eSIMs of others as well. */
export function profilesOf({ profileList }: { profileList: unknown }): Profile[] | undefined {
  const isList = Array.isArray(profileList) && profileList.every((one) => typeof one === 'object' && one !== null)
  return isList ? profileList : undefined
}

/** undefined: what installs it cannot be read. */
export function esimOf(profile: Profile): DeliveredEsim | undefined {
  const { smdpAddress, matchingId, ac, installBefore } = profile
  const iccid = iccidOf(profile)
  if (iccid === undefined || ![smdpAddress, matchingId, ac].every(isText)) return undefined
  const esim: DeliveredEsim = { iccid, smdpAddress, matchingId, ac, ...statusesOf(profile) }
  for (const member of ['confirmationCode', 'pin', 'puk', 'imsi', 'msisdn', 'apn'] as const) {
    const value = profile[member]
    if (isText(value)) esim[member] = value
  }
  const eid = eidOf(profile)
  if (eid !== undefined) esim.eid = eid
  if (installBefore !== null) esim.installBefore = new Date(installBefore)
  return esim
}

/** CANCEL is left out: here it comes with a refund (fulfilment/review). */
export function reportOf(profile: Profile): ProfileReport {
  const { orderUsage, activateTime, expiredTime, lastUpdateTime } = profile
  const { esimStatus, ...smdpStatus } = statusesOf(profile)
  const eid = eidOf(profile)
  return {
    time: new Date(lastUpdateTime),
    ...(esimStatus === undefined || esimStatus === 'CANCEL' ? {} : { esimStatus }),
    ...smdpStatus,
    ...(eid === undefined ? {} : { eid }),
    ...(Number.isSafeInteger(orderUsage) ? { usage: BigInt(orderUsage as number) } : {}),
    ...(activateTime === null ? {} : { activateTime: new Date(activateTime) }),
    ...(expiredTime === null ? {} : { expiredTime: new Date(expiredTime) }),
  }
}

/** As we keep it: 18 to 20 digits, without padding. */
export function iccidOf({ iccid }: { iccid: unknown }): string | undefined {
  const stripped = isText(iccid) ? stripIccidPadding(iccid) : ''
  return isIccid(stripped) ? stripped : undefined
}

function eidOf({ eid }: { eid: unknown }): string | undefined {
  return isText(eid) && isEid(eid) ? eid : undefined
}

/** Without control characters and halves of characters. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !/[\p{Cc}\p{Cs}]/u.test(value)
}

function statusesOf(profile: Profile): { esimStatus?: EsimStatus; smdpStatus?: SmdpStatus } {
  const esimStatus = ESIM_STATUSES.find((known) => known === profile.esimStatus)
  const smdpStatus = SMDP_STATUSES.find((known) => known === profile.smdpStatus)
  return { ...(esimStatus && { esimStatus }), ...(smdpStatus && { smdpStatus }) }
}
