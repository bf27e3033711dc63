import { dateOf, iccidOf, isObject, type JsonObject } from '#members.ts'
import { describeFailure, downOf, listOf, withoutStop } from '#rest-client.ts'
import type { BalanceOutcome, ProfileReport, ReportOutcome, SuppliedEsim } from '#supplier.ts'
import { objectsIn, unreadableIn } from '#unreadable-entry.ts'
import type { ZenditClient } from './client.ts'
import { bytesOf, moneyOf } from './decode.ts'
import { messageOf } from './outcome.ts'

/** Requests the plans of one eSIM: its package and those added to it. */
export async function reportOn(client: ZenditClient, { iccid }: SuppliedEsim): Promise<ReportOutcome> {
  const answer = await client.get(`/esim/${encodeURIComponent(iccid)}/plans`)
  if (answer.kind === 'failed' || answer.status >= 500) return { kind: 'silent', ...downOf(answer) }
  const { status, time } = answer
  const plans = listOf(answer, 'list')
  if (status !== 200 || plans === undefined || time === undefined) return { kind: 'silent' }
  const report = reportOf(plans, iccid, time)
  const unreadable = unreadableIn(objectsIn(plans, 'the list of plans').unreadable)
  return report ? { kind: 'reported', report, ...unreadable } : { kind: 'silent', ...unreadable }
}

/**
 * Pure: adds up the plans of an eSIM. Zendit lists only active and queued plans, so a missing plan proves nothing: the eSIM
 * may be unused or expired. Plan statuses are not fully documented; the times and volumes decide.
 */
export function reportOf(list: readonly unknown[], iccid: string, time: Date): ProfileReport | undefined {
  // A plan that is not an object states nothing, so neither do the sums.
  const rows = list.map((plan): JsonObject => (isObject(plan) ? plan : {}))
  const plans = rows.filter((plan) => plan.iccid === undefined || iccidOf(plan) === iccid)
  if (plans.every((plan) => Object.keys(plan).length === 0)) return undefined
  const starts = plans.flatMap(({ startAt }) => dateOf(startAt) ?? []).filter((start) => start <= time)
  const installations = plans.flatMap(({ firstInstalledAt }) => dateOf(firstInstalledAt) ?? [])
  const ends = plans.flatMap(({ endAt }) => dateOf(endAt) ?? [])
  const usages = plans.map(usageOf)
  const isMeasured = usages.every((usage) => usage !== undefined)
  const remaining = plans.map(({ remainingDataGB, reamainingDataGB }) => bytesOf(remainingDataGB ?? reamainingDataGB))
  const isUsedUp = isMeasured && usages.some((usage) => usage! > 0n) && remaining.every((left) => left === 0n)
  return {
    time,
    ...(installations.length > 0
      ? { smdpStatus: 'INSTALLATION' as const, installationTime: earliest(installations) }
      : {}),
    ...(isUsedUp ? { esimStatus: 'USED_UP' as const } : starts.length > 0 ? { esimStatus: 'IN_USE' as const } : {}),
    ...(isMeasured ? { usage: usages.reduce<bigint>((sum, usage) => sum + usage!, 0n) } : {}),
    ...(starts.length > 0 ? { activateTime: earliest(starts) } : {}),
    ...(starts.length > 0 && ends.length === plans.length ? { expiredTime: latest(ends) } : {}),
  }
}

/** An unlimited plan has no volume. Zendit's documents spell the remaining volume in two ways. */
function usageOf({ initialDataGB, remainingDataGB, reamainingDataGB }: JsonObject): bigint | undefined {
  const initial = bytesOf(initialDataGB)
  const left = bytesOf(remainingDataGB ?? reamainingDataGB)
  return initial && left !== undefined && left <= initial ? initial - left : undefined
}

function earliest(dates: Date[]): Date {
  return new Date(Math.min(...dates.map(Number)))
}

function latest(dates: Date[]): Date {
  return new Date(Math.max(...dates.map(Number)))
}

export async function readBalance(client: ZenditClient): Promise<BalanceOutcome> {
  const answer = await client.get('/balance')
  if (answer.kind === 'failed' || answer.status !== 200) {
    return { kind: 'silent', message: messageOf(answer) }
  }
  const { availableBalance, currency, currencyDivisor } = answer.body ?? {}
  const money = moneyOf(availableBalance, currency, currencyDivisor)
  return money ? { kind: 'balance', ...money } : { kind: 'silent', message: 'the balance at Zendit is unreadable' }
}

/** Reads the balance, which changes nothing. @returns a message for the operator: the problem and how to fix it */
export async function testAccount(client: ZenditClient): Promise<string | undefined> {
  const answer = await client.get('/balance')
  if (answer.kind === 'failed') return describeFailure(answer)
  const message = withoutStop(messageOf(answer))
  if (answer.status === 401)
    return `Credentials: ${message}. Copy the API key of this environment from Zendit's console.`
  if (answer.status === 403) return `Address: ${message}. Allow this gateway's outgoing address in Zendit's console.`
  if (answer.status === 404)
    return `Protocol: ${message}. The url must end with the version, as in https://api.zendit.io/v1.`
  if (answer.status !== 200) return `${message}.`
  const { currency, currencyDivisor, availableBalance } = answer.body ?? {}
  if (moneyOf(availableBalance, currency, currencyDivisor)) return undefined
  return 'Protocol: the balance is unreadable. Check that the url is that of Zendit or of something compatible with it.'
}
