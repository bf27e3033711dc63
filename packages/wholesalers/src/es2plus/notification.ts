import { isEid, type SmdpStatus, stripIccidPadding } from '@dealer-esim/contract'
import type { ProfileReport } from '#supplier.ts'

/** A notification from an SM-DP+ (SGP.22 §5.3.5, and HandleNotification of later versions). */
export interface Es2plusNotification {
  iccid: string
  /** undefined: a valid notification of something that we do not record. */
  report: ProfileReport | undefined
  /** Sent only by suppliers with `notices.extraPoints`. */
  isExtraPoint?: true
}

/**
 * Pure. Vendors add members, points and events of their own, as numbers or as text: unknown ones are ignored.
 * @returns undefined for a body without an ICCID
 */
export function parseNotification(
  name: 'handleDownloadProgressInfo' | 'handleNotification',
  body: Record<string, unknown>,
  now: Date,
): Es2plusNotification | undefined {
  const iccid = typeof body.iccid === 'string' ? stripIccidPadding(body.iccid) : ''
  if (!/^\d{10,20}$/.test(iccid)) return undefined
  const smdpStatus = name === 'handleNotification' ? eventOf(body.notificationEvent) : pointOf(body)
  const isExtraPoint = name === 'handleDownloadProgressInfo' && numberOf(body.notificationPointId) in EXTRA_POINTS
  const eid = typeof body.eid === 'string' && isEid(body.eid) ? body.eid : undefined
  if (smdpStatus === undefined && eid === undefined) return { iccid, report: undefined }
  const time = timeOf(body.timestamp ?? body.timeStamp, now)
  return {
    iccid,
    ...(isExtraPoint && { isExtraPoint }),
    report: {
      time,
      ...(smdpStatus === undefined ? {} : { smdpStatus }),
      ...(smdpStatus === 'INSTALLATION' ? { installationTime: time } : {}),
      // Until the installation, the EID only identifies a device that has requested the profile.
      ...(eid === undefined || smdpStatus === undefined || smdpStatus === 'DOWNLOAD' ? {} : { eid }),
    },
  }
}

/**
 * The notification points of a download: 3 when the profile package is sent, 4 when it is installed. Failed steps are
 * ignored.
 */
function pointOf(body: Record<string, unknown>): SmdpStatus | undefined {
  const status = (body.notificationPointStatus as { status?: unknown } | undefined)?.status
  if (typeof status === 'string' && !status.startsWith('Executed')) return undefined
  const point = body.notificationPointId
  const number = numberOf(point)
  if (!Number.isNaN(number)) return POINTS[number] ?? EXTRA_POINTS[number]
  return typeof point === 'string' ? namedStatus(point) : undefined
}

function numberOf(point: unknown): number {
  if (typeof point === 'number') return point
  return typeof point === 'string' && /^\d+$/.test(point.trim()) ? Number(point) : Number.NaN
}

const POINTS: Record<number, SmdpStatus> = { 3: 'DOWNLOAD', 4: 'INSTALLATION' }
/** Points that some vendors send. Other vendors may give these numbers a different meaning. */
const EXTRA_POINTS: Record<number, SmdpStatus> = { 100: 'ENABLED', 101: 'DISABLED', 102: 'DELETED' }

/** Bits of the profile management operation (SGP.22 §2.10.1), or their names. */
function eventOf(event: unknown): SmdpStatus | undefined {
  if (typeof event === 'number') return EVENTS[event]
  if (typeof event !== 'string') return undefined
  return /^\d+$/.test(event.trim()) ? EVENTS[Number(event)] : namedStatus(event)
}

const EVENTS: Record<number, SmdpStatus> = { 0: 'INSTALLATION', 1: 'ENABLED', 2: 'DISABLED', 3: 'DELETED' }

function namedStatus(text: string): SmdpStatus | undefined {
  if (FAILED.test(text)) return undefined
  const [, status] = NAMES.find(([name]) => name.test(text)) ?? []
  return status
}

const FAILED = /fail|error|reject|cancel|abort|pending/i
const NAMES: readonly [RegExp, SmdpStatus][] = [
  [/delet|uninstall/i, 'DELETED'],
  [/install/i, 'INSTALLATION'],
  [/enable/i, 'ENABLED'],
  [/disable/i, 'DISABLED'],
  [/download/i, 'DOWNLOAD'],
  [/release/i, 'RELEASED'],
]

/** The event's own time: RFC 3339 or, from some vendors, seconds or milliseconds. Otherwise the time of arrival. */
function timeOf(timestamp: unknown, now: Date): Date {
  const number = typeof timestamp === 'number' || /^\d{10,13}$/.test(String(timestamp)) ? Number(timestamp) : undefined
  const time = number === undefined ? Date.parse(String(timestamp)) : number < SECONDS_BELOW ? number * 1000 : number
  // A sender's fast clock must not make all later notifications look old. A time before the first eSIMs is wrong, and
  // a table may be unable to store it, so the sender would repeat the notification forever.
  const isTime = time >= BEFORE_ESIMS_MS && time <= now.getTime() + CLOCKS_APART_MS
  return isTime ? new Date(time) : now
}

const BEFORE_ESIMS_MS = Date.UTC(2010, 0, 1)

const CLOCKS_APART_MS = 5 * 60_000
/** Numbers below this are seconds since 1970, others milliseconds. */
const SECONDS_BELOW = 100_000_000_000
