import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { dateOf, entriesOf, isCount, isObject, isText, type JsonObject, textOf } from '#members.ts'
import { downOf, listOf, type RestAnswer } from '#rest-client.ts'
import type { CancelOutcome, ProfileReport, ReportOutcome, SuppliedEsim, UnreadableEntry } from '#supplier.ts'
import { objectsIn, unreadableIn } from '#unreadable-entry.ts'
import { bundlesPath, type EsimGoClient } from './client.ts'
import { messageOf } from './decode.ts'
import { isRefusal } from './outcome.ts'

/** A bundle on an eSIM. */
interface Assignment {
  bundle: string
  state: string
  initial: number | undefined
  remaining: number | undefined
  isUnlimited: boolean
  startsAt: Date | undefined
  endsAt: Date | undefined
}

/** The state of an unreadable entry: it may be anything. */
const UNREADABLE = 'unreadable'

/** Pure. In an older interface the bundle itself has the members of an assignment. */
export function assignmentsOf(bundles: readonly unknown[]): Assignment[] {
  return bundles.flatMap((bundle) => {
    const rows = isObject(bundle) ? (entriesOf(bundle.assignments) ?? [bundle]) : [bundle]
    const name = isObject(bundle) ? (textOf(bundle.name) ?? '') : ''
    return rows.map((row) => assignmentOf(name, isObject(row) ? row : { bundleState: UNREADABLE }))
  })
}

function assignmentOf(bundle: string, row: JsonObject): Assignment {
  return {
    bundle,
    state: textOf(row.bundleState)?.toLowerCase() ?? '',
    initial: isCount(row.initialQuantity) ? row.initialQuantity : undefined,
    remaining: isCount(row.remainingQuantity) ? row.remainingQuantity : undefined,
    isUnlimited: row.unlimited === true,
    startsAt: dateOf(row.startTime),
    endsAt: dateOf(row.endTime),
  }
}

/** Used bundles may be listed only on request. An interface without that parameter may refuse it. */
async function readAssignments(client: EsimGoClient, iccid: string) {
  let answer = await client.get(bundlesPath(iccid), { includeUsed: 'true' })
  if (answer.kind === 'reply' && answer.status === 400) answer = await client.get(bundlesPath(iccid))
  const bundles = answer.kind === 'reply' && answer.status === 200 ? listOf(answer, 'bundles') : undefined
  return { answer, assignments: bundles && assignmentsOf(bundles), unreadable: unreadableOf(bundles ?? []) }
}

export async function reportOn(client: EsimGoClient, { iccid }: SuppliedEsim): Promise<ReportOutcome> {
  const { answer, assignments, unreadable } = await readAssignments(client, iccid)
  if (answer.kind === 'failed' || answer.status >= 500) return { kind: 'silent', ...downOf(answer) }
  const report = assignments && answer.time ? reportOf(assignments, answer.time) : undefined
  const named = unreadableIn(unreadable)
  return report ? { kind: 'reported', report, ...named } : { kind: 'silent', ...named }
}

/** Pure: finds the bundles, and the assignments in them, that are not objects. */
export function unreadableOf(bundles: readonly unknown[]): UnreadableEntry[] {
  const { rows, unreadable } = objectsIn(bundles, 'the list of bundles')
  const inBundles = rows.flatMap(
    ({ name, assignments }) =>
      objectsIn(entriesOf(assignments) ?? [], `the assignments of ${textOf(name) ?? 'a bundle'}`).unreadable,
  )
  return [...unreadable, ...inBundles]
}

/** Pure: adds up the bundles of an eSIM, top-ups included. */
export function reportOf(all: Assignment[], time: Date): ProfileReport | undefined {
  const assignments = all.filter(({ state }) => state !== 'revoked')
  if (assignments.length === 0) return undefined
  const starts = assignments.flatMap(({ startsAt }) => (startsAt && startsAt <= time ? [startsAt] : []))
  const ends = assignments.flatMap(({ endsAt }) => endsAt ?? [])
  const usages = assignments.map(usageOf)
  const isMeasured = usages.every((usage) => usage !== undefined)
  const esimStatus = statusOf(
    assignments,
    starts.length > 0 || usages.some((usage) => usage !== undefined && usage > 0n),
  )
  return {
    time,
    ...(esimStatus && { esimStatus }),
    ...(isMeasured ? { usage: usages.reduce<bigint>((sum, usage) => sum + usage!, 0n) } : {}),
    ...(starts.length > 0 ? { activateTime: new Date(Math.min(...starts.map(Number))) } : {}),
    ...(ends.length === assignments.length ? { expiredTime: new Date(Math.max(...ends.map(Number))) } : {}),
  }
}

/** Leaves the status unchanged while a bundle waits, or while its state is unknown. */
function statusOf(assignments: Assignment[], hasStarted: boolean): ProfileReport['esimStatus'] {
  const isEach = (...states: string[]) => assignments.every(({ state }) => states.includes(state))
  if (isEach('depleted')) return 'USED_UP'
  if (isEach('lapsed') && !hasStarted) return 'UNUSED_EXPIRED'
  if (isEach('depleted', 'expired', 'lapsed')) return 'USED_EXPIRED'
  return assignments.some(({ state }) => state === 'active') ? 'IN_USE' : undefined
}

/** Bytes; undefined where the bundle has no volume, or states it in an unknown form. */
function usageOf({ initial, remaining, isUnlimited }: Assignment): bigint | undefined {
  if (isUnlimited || initial === undefined || remaining === undefined || remaining > initial) return undefined
  return BigInt(initial - remaining)
}

/**
 * Pure: how much of its bundle a Utilisation event, `{alertType, bundle: {initialQuantity, remainingQuantity, unit}}`,
 * reports as used. The eSIM may have other bundles, so this is a minimum. undefined if the event measures nothing, or
 * minutes or SMS.
 */
export function usedInEvent({ alertType, bundle }: JsonObject): bigint | undefined {
  if (!isObject(bundle) || !/^utilisation$/i.test(String(alertType))) return undefined
  const isInBytes = bundle.unit === undefined || /^bytes$/i.test(String(bundle.unit))
  return isInBytes ? usageOf(assignmentOf('', bundle)) : undefined
}

/**
 * Revokes the bundle of an eSIM that was not started, for a refund. The bundle's state shows whether an earlier call was
 * executed. eSIM Go identifies the eSIM by its ICCID and the bundle by its name, so we leave an eSIM with more than one bundle
 * as it is.
 */
export async function cancel(client: EsimGoClient, { iccid, productCode }: SuppliedEsim): Promise<CancelOutcome> {
  const before = await readAssignments(client, iccid)
  if (isMissing(before.answer)) return { kind: 'refused', message: 'eSIM Go has no such eSIM' }
  const decided = before.assignments && decideCancel(before.assignments, productCode)
  if (decided === undefined) return { kind: 'unknown', message: messageOf(before.answer) }
  if (decided !== 'revocable') return decided
  const answer = await client.revoke(iccid, productCode)
  await failpoint('esim-go.acted')
  if (answer.kind === 'reply' && answer.status >= 200 && answer.status < 300) return { kind: 'cancelled' }
  const { assignments } = await readAssignments(client, iccid)
  const after = assignments && decideCancel(assignments, productCode)
  if (after !== undefined && after !== 'revocable') return after
  const message = messageOf(answer)
  return { kind: after === 'revocable' && isRefusal(answer) ? 'refused' : 'unknown', message }
}

function isMissing(answer: RestAnswer): boolean {
  return answer.kind === 'reply' && answer.status === 404 && isText(answer.body?.message)
}

/** States of a bundle that has been started. */
const STARTED: readonly string[] = ['active', 'depleted', 'expired', 'lapsed']

/** Pure: decides a cancellation from the bundles of an eSIM, as read before and after the request. */
export function decideCancel(all: Assignment[], bundle: string): CancelOutcome | 'revocable' {
  if (all.some(({ state }) => state === UNREADABLE)) {
    return { kind: 'unknown', message: 'a bundle of the eSIM at eSIM Go is unreadable' }
  }
  const left = all.filter(({ state }) => state !== 'revoked')
  const wasRevoked = all.some((one) => one.bundle === bundle && one.state === 'revoked')
  if (left.length === 0) {
    return wasRevoked ? { kind: 'cancelled' } : { kind: 'unknown', message: 'the eSIM has no bundle at eSIM Go' }
  }
  const [only] = left
  if (left.length > 1 || only!.bundle !== bundle) {
    return { kind: 'refused', message: 'the eSIM has other bundles at eSIM Go, such as top-ups' }
  }
  const isUsed = only!.initial !== undefined && only!.remaining !== undefined && only!.remaining < only!.initial
  if (isUsed || STARTED.includes(only!.state)) return { kind: 'refused', message: 'the bundle of the eSIM was started' }
  return 'revocable'
}
