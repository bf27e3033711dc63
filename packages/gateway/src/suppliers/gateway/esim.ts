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
 * Pure: decodes an upstream's profile. The upstream may be newer than this gateway, or another implementation. An unknown
 * status or an invalid text is ignored: our tables cannot store it, and the rest of the profile would be lost with it.
 * A malformed identifier is ignored, too, because dealers are promised its form (contract §5).
 */

/** @returns undefined if they are unreadable. An exception would count as a supplier that is down, for other eSIMs as well. */
export function profilesOf({ profileList }: { profileList: unknown }): Profile[] | undefined {
  const isList = Array.isArray(profileList) && profileList.every((one) => typeof one === 'object' && one !== null)
  return isList ? profileList : undefined
}

/** @returns undefined if the activation data is unreadable */
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
  const deadline = dateOf(installBefore)
  if (deadline !== undefined) esim.installBefore = deadline
  return esim
}

/**
 * Leaves out CANCEL: here it comes with a refund (fulfilment/review).
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

/** 18 to 20 digits without padding, as in our tables. */
export function iccidOf({ iccid }: { iccid: unknown }): string | undefined {
  const stripped = isText(iccid) ? stripIccidPadding(iccid) : ''
  return isIccid(stripped) ? stripped : undefined
}

/** Parses RFC 3339. Rejects times before the first eSIMs and beyond the year 9999, which a table cannot store. */
export function dateOf(value: unknown): Date | undefined {
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN
  return time >= BEFORE_ESIMS_MS && time < YEAR_10000_MS ? new Date(time) : undefined
}

const BEFORE_ESIMS_MS = Date.UTC(2010, 0, 1)
const YEAR_10000_MS = Date.UTC(10_000, 0, 1)

function eidOf({ eid }: { eid: unknown }): string | undefined {
  return isText(eid) && isEid(eid) ? eid : undefined
}

/** A string without control characters and lone surrogates. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !/[\p{Cc}\p{Cs}]/u.test(value)
}

function statusesOf(profile: Profile): { esimStatus?: EsimStatus; smdpStatus?: SmdpStatus } {
  const esimStatus = ESIM_STATUSES.find((known) => known === profile.esimStatus)
  const smdpStatus = SMDP_STATUSES.find((known) => known === profile.smdpStatus)
  return { ...(esimStatus && { esimStatus }), ...(smdpStatus && { smdpStatus }) }
}
