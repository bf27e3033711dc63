import { dateOf, entriesOf, iccidOf, isObject, type JsonObject } from '#members.ts'
import { downOf } from '#rest-client.ts'
import type { ProfileReport, ReportOutcome, SuppliedEsim } from '#supplier.ts'
import { objectsIn, unreadableIn } from '#unreadable-entry.ts'
import type { MobimatterClient } from './client.ts'
import { resultOf } from './outcome.ts'
import type { ProgressStore } from './progress.ts'

interface Context {
  client: Pick<MobimatterClient, 'info'>
  store: Pick<ProgressStore, 'find' | 'claimInfo'>
}

/** Queries the provider behind MobiMatter for the usage of an eSIM, at most once a minute. */
export async function reportOn({ client, store }: Context, esim: SuppliedEsim): Promise<ReportOutcome> {
  const orderId = esim.reference ?? (await store.find(esim.key))?.orderId
  if (!orderId || !(await store.claimInfo(orderId))) return { kind: 'silent' }
  const answer = await client.info(orderId)
  const info = answer.kind === 'reply' && answer.status === 200 ? resultOf(answer, 'packages') : undefined
  if (answer.kind === 'failed' || answer.time === undefined || info === undefined) {
    return { kind: 'silent', ...downOf(answer) }
  }
  const report = reportOf(info, esim.iccid, answer.time)
  const unreadable = unreadableIn(objectsIn(entriesOf(info.packages) ?? [], 'the list of packages').unreadable)
  return report ? { kind: 'reported', report, ...unreadable } : { kind: 'silent', ...unreadable }
}

const MEGABYTE = 10 ** 6
const MEGABYTES_MAX = 1_000_000_000

/** Pure: adds up the packages of an eSIM, top-ups included. @returns undefined if they are those of a different eSIM */
export function reportOf({ esim, packages }: JsonObject, iccid: string, time: Date): ProfileReport | undefined {
  const named = isObject(esim) ? iccidOf(esim) : undefined
  if (named !== undefined && named !== iccid) return undefined
  const entries = entriesOf(packages) ?? []
  const rows = entries.map((one): JsonObject => (isObject(one) ? one : {}))
  const starts = rows.flatMap(({ activationDate }) => dateOf(activationDate) ?? []).filter((start) => start <= time)
  const ends = rows.flatMap(({ expirationDate }) => dateOf(expirationDate) ?? [])
  const used = rows.map(({ usedMb }) => bytesOf(usedMb))
  const isMeasured = rows.length > 0 && used.every((bytes) => bytes !== undefined)
  const isUsedUp =
    isMeasured && rows.every(({ totalAllowanceMb }, index) => isReached(bytesOf(totalAllowanceMb), used[index]!))
  const usage = isMeasured ? used.reduce<bigint>((sum, bytes) => sum + bytes!, 0n) : undefined
  const isInUse = starts.length > 0 || (usage !== undefined && usage > 0n)
  const isInstalled =
    isObject(esim) && [esim.status, esim.installationStatus].some((one) => /^installed$/i.test(String(one)))
  const installationTime = isObject(esim) ? dateOf(esim.installationDate) : undefined
  return {
    time,
    ...(isInstalled ? { smdpStatus: 'INSTALLATION' as const } : {}),
    ...(installationTime && { installationTime }),
    ...(isUsedUp ? { esimStatus: 'USED_UP' as const } : isInUse ? { esimStatus: 'IN_USE' as const } : {}),
    ...(usage === undefined ? {} : { usage }),
    ...(starts.length > 0 ? { activateTime: new Date(Math.min(...starts.map(Number))) } : {}),
    ...(rows.length > 0 && ends.length === rows.length ? { expiredTime: new Date(Math.max(...ends.map(Number))) } : {}),
  }
}

/** An unlimited package has no allowance. */
function isReached(allowance: bigint | undefined, used: bigint): boolean {
  return allowance !== undefined && allowance > 0n && used >= allowance
}

function bytesOf(megabytes: unknown): bigint | undefined {
  const isValid = typeof megabytes === 'number' && megabytes >= 0 && megabytes <= MEGABYTES_MAX
  return isValid ? BigInt(Math.round(megabytes * MEGABYTE)) : undefined
}
