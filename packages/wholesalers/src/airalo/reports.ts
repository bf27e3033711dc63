import { amountOf, currencyOf, entriesOf, isObject, type JsonObject, resultIn } from '#members.ts'
import { describeBlocked, downOf, withoutStop } from '#rest-client.ts'
import type { BalanceOutcome, ProfileReport, ReportOutcome, SuppliedEsim } from '#supplier.ts'
import type { AiraloClient } from './client.ts'
import { bytesOf, messageOf, timeOf } from './decode.ts'

/** Requests the usage of one eSIM: its package and those added to it. */
export async function reportOn(client: AiraloClient, { iccid }: SuppliedEsim): Promise<ReportOutcome> {
  const answer = await client.getUsage(iccid)
  if (answer.kind === 'failed' || answer.status >= 500) return { kind: 'silent', ...downOf(answer) }
  const { status, body, time } = answer
  const usage = resultIn(body, 'data', 'remaining')
  if (status !== 200 || usage === undefined || time === undefined) return { kind: 'silent' }
  return { kind: 'reported', report: reportOf(usage, time) }
}

/** Pure: an unlimited package has no volume. A recycled eSIM has a total of 0, which measures nothing. */
export function reportOf(
  { remaining, total, expired_at, is_unlimited, status }: JsonObject,
  time: Date,
): ProfileReport {
  const volume = bytesOf(total)
  const left = bytesOf(remaining)
  const isMeasured =
    is_unlimited !== true && volume !== undefined && volume > 0n && left !== undefined && left <= volume
  const usage = isMeasured ? volume - left : undefined
  const esimStatus = statusOf(status, usage)
  const expiredTime = timeOf(expired_at)
  return {
    time,
    ...(esimStatus && { esimStatus }),
    ...(usage === undefined ? {} : { usage }),
    ...(expiredTime && { expiredTime }),
  }
}

/** Leaves the status unchanged for an eSIM that is not active yet, or whose status Airalo does not know. */
function statusOf(status: unknown, usage: bigint | undefined): ProfileReport['esimStatus'] {
  switch (status) {
    case 'ACTIVE':
      return 'IN_USE'
    case 'FINISHED':
      return 'USED_UP'
    case 'EXPIRED':
      return usage === 0n ? 'UNUSED_EXPIRED' : 'USED_EXPIRED'
    case 'RECYCLED':
      return 'USED_EXPIRED'
    default:
      return undefined
  }
}

export async function readBalance(client: AiraloClient): Promise<BalanceOutcome> {
  const answer = await client.get('/balance')
  if (answer.kind === 'failed' || answer.status !== 200) {
    return { kind: 'silent', message: messageOf(answer) }
  }
  return balanceOf(answer.body) ?? { kind: 'silent', message: 'the balance at Airalo is unreadable' }
}

/** `{data: {balances: {availableBalance: {amount, currency}}}}`, or less deeply nested. */
function balanceOf(body: JsonObject | undefined): Extract<BalanceOutcome, { kind: 'balance' }> | undefined {
  const { balances } = resultIn(body, 'data', 'balances') ?? {}
  const available = [balances, ...(entriesOf(balances) ?? [])]
    .filter(isObject)
    .map((one) => (isObject(one.availableBalance) ? one.availableBalance : one))
    .find((one) => amountOf(one.amount) !== undefined)
  const amount = amountOf(available?.amount)
  const currencyCode = currencyOf(available?.currency)
  return amount === undefined || currencyCode === undefined ? undefined : { kind: 'balance', amount, currencyCode }
}

/** Reads the balance, which changes nothing. @returns a message for the operator: the problem and how to fix it */
export async function testAccount(client: AiraloClient): Promise<string | undefined> {
  const answer = await client.get('/balance')
  // Without a token, the message already describes the problem and the remedy.
  if (answer.kind === 'failed') return messageOf(answer).replace(/^not sent: /, '')
  const blocked = describeBlocked('Airalo', answer)
  if (blocked !== undefined) return blocked
  const message = withoutStop(messageOf(answer))
  if (answer.status === 401 || answer.status === 403) {
    return `Credentials: ${message}. Ask Airalo whether the account may use its Partner API.`
  }
  if (answer.status === 404) {
    return `Protocol: ${message}. The url must end with the version, as in https://partners-api.airalo.com/v2.`
  }
  if (answer.status === 429) return `Limit: ${message}. Try again; if it stays so, lower perSecond or share.`
  if (answer.status !== 200) return `${message}.`
  if (balanceOf(answer.body)) return undefined
  return "Protocol: the balance is unreadable. Check that the url is that of Airalo's Partner API."
}
