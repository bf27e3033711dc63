import { type Profile, parseActivationCode } from '@dealer-esim/contract'
import { withoutScheme } from '#delivered-esim.ts'
import { esimOf, reportOf } from '#gateway/decode.ts'
import { dateOf, entriesOf, iccidOf, isObject, type JsonObject, textOf, wholeOf } from '#members.ts'
import type { DeliveredEsim, ProfileReport } from '#supplier.ts'

/*
 * Pure: decodes an eSIM in an answer of esim/query. Identifiers and states have the names and values of our own interface.
 */

export interface EsimRow {
  orderNo: string | undefined
  /** The key of the order that delivered it. */
  transactionId: string | undefined
  esimTranNo: string | undefined
  iccid: string | undefined
  /** The status under the wholesaler's name. */
  status: string | undefined
  /** The keys of the eSIM's packages, including top-ups; undefined for a package without one. Absent if there is no list. */
  packageKeys: (string | undefined)[] | undefined
  /** The whole row, for members that are rarely needed. */
  members: JsonObject
}

/** The eSIMs among the entries of a list. */
export function rowsOf(entries: readonly unknown[]): EsimRow[] {
  return entries.filter(isObject).map((members) => ({
    orderNo: textOf(members.orderNo),
    transactionId: textOf(members.transactionId),
    esimTranNo: textOf(members.esimTranNo),
    iccid: iccidOf({ iccid: members.iccid }),
    status: textOf(members.esimStatus),
    packageKeys: packageKeysOf(members),
    members,
  }))
}

/** A key that cannot be compared: the eSIM may be anybody's. An eSIM without a key is not ours. */
export function hasOddKey({ transactionId, members }: EsimRow): boolean {
  return transactionId === undefined && !isAbsent(members.transactionId)
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** Names an eSIM for an operator. */
export function nameOf({ esimTranNo, orderNo }: EsimRow): string {
  return esimTranNo ?? orderNo ?? 'an eSIM without a number'
}

function packageKeysOf({ packageList }: JsonObject): EsimRow['packageKeys'] {
  return entriesOf(packageList)?.map((one) => (isObject(one) ? textOf(one.transactionId) : undefined))
}

/** @returns undefined if the activation code is missing or unreadable */
export function deliveredEsimOf({ members }: EsimRow): DeliveredEsim | undefined {
  const code = parseActivationCode(withoutScheme(textOf(members.ac) ?? ''))
  if (!code.ok) return undefined
  const { smdpAddress, matchingId } = code.value
  const named = { ...withoutEmpty(members), smdpAddress, matchingId, installBefore: undefined }
  return esimOf(named as unknown as Profile)
}

/** @param time when the eSIM was queried: the interface does not say when a state changed */
export function profileReportOf({ members, status }: EsimRow, time: Date): ProfileReport | undefined {
  const named = {
    ...withoutEmpty(members),
    esimStatus: status === 'REVOKE' ? 'REVOKED' : status,
    activateTime: timeText(members.activateTime),
    expiredTime: timeText(members.expiredTime),
    lastUpdateTime: time.toISOString(),
    orderUsage: Number(wholeOf(members.orderUsage) ?? Number.NaN),
  }
  const report = reportOf(named as unknown as Profile)
  const installationTime = timeOf(members.installationTime)
  return report && { ...report, ...(installationTime && { installationTime }) }
}

/** 2025-09-11T13:28:09+0000 or …Z */
export function timeOf(value: unknown): Date | undefined {
  return dateOf(timeText(value))
}

function timeText(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/([+-]\d\d)(\d\d)$/, '$1:$2') : value
}

function withoutEmpty(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''))
}
