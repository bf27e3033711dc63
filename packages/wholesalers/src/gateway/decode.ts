import {
  ESIM_STATUSES,
  type EsimStatus,
  isEid,
  type Profile,
  SMDP_STATUSES,
  type SmdpStatus,
} from '@dealer-esim/contract'
import { dateOf, iccidOf, isObject, isStorableText } from '#members.ts'
import type { DeliveredEsim, ProfileReport } from '#supplier.ts'

/*
 * Pure: decodes an upstream's profile. The upstream may be newer than this gateway, or another implementation. We ignore an
 * unknown status or an invalid text: our tables cannot store it, and the failed write would lose the rest of the profile. We
 * ignore a malformed identifier too, because dealers are promised its form (contract §5).
 */

/**
 * The readable ones.
 * @returns undefined if nothing is readable: an exception would make the breaker consider the supplier down, for other
 * eSIMs too
 */
export function profilesOf({ profileList }: { profileList: unknown }): Profile[] | undefined {
  if (!Array.isArray(profileList)) return undefined
  const profiles = profileList.filter(isObject)
  return profiles.length === 0 && profileList.length > 0 ? undefined : (profiles as unknown as Profile[])
}

/** @returns undefined if the activation data is unreadable */
export function esimOf(profile: Profile): DeliveredEsim | undefined {
  const { smdpAddress, matchingId, ac, installBefore } = profile
  const iccid = iccidOf(profile)
  if (iccid === undefined || ![smdpAddress, matchingId, ac].every(isStorableText)) return undefined
  const esim: DeliveredEsim = { iccid, smdpAddress, matchingId, ac, ...statusesOf(profile) }
  for (const member of ['confirmationCode', 'pin', 'puk', 'imsi', 'msisdn', 'apn'] as const) {
    const value = profile[member]
    if (isStorableText(value)) esim[member] = value
  }
  const eid = eidOf(profile)
  if (eid !== undefined) esim.eid = eid
  const deadline = dateOf(installBefore)
  if (deadline !== undefined) esim.installBefore = deadline
  return esim
}

/**
 * Leaves out CANCEL, because in this gateway a cancelled eSIM is refunded as well (fulfilment/review).
 * @returns undefined if the profile has no valid time
 */
export function reportOf(profile: Profile): ProfileReport | undefined {
  const { orderUsage } = profile
  const [time, activateTime, expiredTime] = TIMES.map((name) => dateOf(profile[name]))
  if (time === undefined) return undefined
  const { esimStatus, ...smdpStatus } = statusesOf(profile)
  const eid = eidOf(profile)
  return {
    time,
    ...(esimStatus === undefined || esimStatus === 'CANCEL' ? {} : { esimStatus }),
    ...smdpStatus,
    ...(eid === undefined ? {} : { eid }),
    ...(Number.isSafeInteger(orderUsage) ? { usage: BigInt(orderUsage as number) } : {}),
    ...(activateTime === undefined ? {} : { activateTime }),
    ...(expiredTime === undefined ? {} : { expiredTime }),
  }
}

const TIMES = ['lastUpdateTime', 'activateTime', 'expiredTime'] as const

function eidOf({ eid }: { eid: unknown }): string | undefined {
  return isStorableText(eid) && isEid(eid) ? eid : undefined
}

function statusesOf(profile: Profile): { esimStatus?: EsimStatus; smdpStatus?: SmdpStatus } {
  const esimStatus = ESIM_STATUSES.find((known) => known === profile.esimStatus)
  const smdpStatus = SMDP_STATUSES.find((known) => known === profile.smdpStatus)
  return { ...(esimStatus && { esimStatus }), ...(smdpStatus && { smdpStatus }) }
}
