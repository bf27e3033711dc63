import { systemClock } from '@dealer-esim/lib/clock.ts'
import { includedOf } from '#allowances.ts'
import { fairUseOf, isCountryCode, type JsonObject, textOf, unitsOf, wholeOf } from '#members.ts'
import type { BalanceOutcome, ListedTopUps, SupplierProduct, SupplierRecord, UnreadableEntry } from '#supplier.ts'
import { readEach, topUpsIn, Unreadable } from '#unreadable-entry.ts'
import { type Call, entriesIn } from './client.ts'
import { type EsimRow, hasOddKey, isAbsent, nameOf, timeOf } from './decode.ts'
import { CLOCK_TOLERANCE_MS, PENDING, scan } from './find.ts'

/** Leaves out minutes with an order that is not delivered yet: the next comparison reads them. @throws on a failure */
export async function* listSold(call: Call, since: Date): AsyncGenerator<SupplierRecord | UnreadableEntry> {
  for await (const part of scan(call, since, new Date(systemClock.now() + CLOCK_TOLERANCE_MS))) {
    if ('failure' in part) {
      if (part.failure.kind === 'failed' && part.failure.code === PENDING) continue
      throw new Error(part.failure.message)
    }
    yield* part.unreadable
    for (const row of part.value) {
      const found = soldIn(row, since)
      if (found !== undefined) yield found
    }
  }
}

/** Pure. @returns undefined for an eSIM that is not ours, or not delivered yet */
function soldIn(row: EsimRow, since: Date): SupplierRecord | UnreadableEntry | undefined {
  const { transactionId: key, iccid, status, members } = row
  const entry = nameOf(row)
  if (hasOddKey(row)) return { entry, reason: 'its transactionId is unreadable' }
  if (key === undefined) return undefined
  if (iccid === undefined) return isAbsent(members.iccid) ? undefined : { entry, reason: 'its iccid is unreadable' }
  return { key, iccid, cancelled: status === 'CANCEL', time: timeOf(members.createTime) ?? since }
}

/** Reads the packages for new eSIMs, then those for top-ups, each in one answer. @throws if there is no list */
export async function* listProducts(call: Call): AsyncGenerator<SupplierProduct | UnreadableEntry> {
  for (const packageType of ['BASE', 'TOPUP'] as const) {
    const answer = await call('package/list', { type: packageType })
    if (answer.kind !== 'done') throw new Error(answer.message)
    const entries = entriesIn(answer, 'packageList')
    if (entries === undefined) throw new Error('the catalogue is unreadable')
    yield* readEach(entries, `the list of type ${packageType}`, (one) => productOf(one, packageType))
  }
}

/**
 * The top-ups that an eSIM accepts, by code and by slug: the product code of a package is either.
 * @returns undefined if there is no readable list
 */
export async function listTopUpsOf(call: Call, iccid: string): Promise<ListedTopUps | undefined> {
  const answer = await call('package/list', { type: 'TOPUP', iccid })
  const entries = answer.kind === 'done' ? entriesIn(answer, 'packageList') : undefined
  return topUpsIn(entries, ({ packageCode, slug }) => [packageCode, slug])
}

/** dataType: 1 in total, 2 and 3 a day, 4 unlimited a day. */
const UNLIMITED_DAILY = 4

/** Pure. @returns undefined for what sale rules cannot sell: a daily volume for several days */
export function productOf(
  members: JsonObject,
  packageType: 'BASE' | 'TOPUP',
): SupplierProduct | Unreadable | undefined {
  const [productCode, name, currencyCode] = [members.packageCode, members.name, members.currencyCode].map(textOf)
  const cost = unitsOf(members.price)
  const durationDays = daysOf(members)
  const isUnlimited = members.dataType === UNLIMITED_DAILY
  const size = wholeOf(members.volume)
  if (productCode === undefined) return new Unreadable('it has no packageCode')
  if (name === undefined) return new Unreadable('it has no name', productCode)
  if (cost === undefined || cost < 0n) return new Unreadable('its price is unreadable', productCode)
  if (durationDays === undefined) {
    const { duration, durationUnit } = members
    const said = `${JSON.stringify(duration)} ${JSON.stringify(durationUnit)}`
    return new Unreadable(`its duration is not a number of days: ${said}`, productCode)
  }
  if (size === undefined && !isUnlimited) return new Unreadable('its volume is unreadable', productCode)
  const isDaily = typeof members.dataType === 'number' && members.dataType > 1
  const volume = isUnlimited || size === undefined || size === 0n ? null : size
  const isDayPass = isDaily && durationDays === 1
  if (isDaily && !isDayPass && volume !== null) return undefined
  const fupPolicy = fairUseOf(members)
  // 1: SMS by phone, their number is not stated. 2: only through the interface, which this gateway does not offer.
  const included = includedOf({ sms: members.smsStatus === 1 })
  return {
    productCode,
    name,
    packageType,
    countries: (textOf(members.location) ?? '').split(',').filter(isCountryCode),
    volume,
    isDayPass,
    durationDays,
    cost,
    currencyCode: currencyCode ?? 'USD',
    ...(fupPolicy && { fupPolicy }),
    ...(included && { included }),
  }
}

const HOURS_OF_A_DAY = 24
const HOURS: Readonly<Record<string, number>> = {
  HOUR: 1,
  DAY: HOURS_OF_A_DAY,
  WEEK: 7 * HOURS_OF_A_DAY,
  MONTH: 30 * HOURS_OF_A_DAY,
  YEAR: 365 * HOURS_OF_A_DAY,
}

/** `7 DAY`, `1 MONTHS`, `48 HOUR(S)`. @returns undefined if it is not a whole number of days */
function daysOf({ duration, durationUnit }: JsonObject): number | undefined {
  const unit = (textOf(durationUnit) ?? 'DAY').toUpperCase().replace(/\(?S\)?$/, '')
  const hours = Number(wholeOf(duration) ?? Number.NaN) * (HOURS[unit] ?? Number.NaN)
  return hours > 0 && hours % HOURS_OF_A_DAY === 0 ? hours / HOURS_OF_A_DAY : undefined
}

export async function queryBalance(call: Call, currencyCode: string): Promise<BalanceOutcome> {
  const answer = await call('balance/query', {})
  if (answer.kind !== 'done') return { kind: 'silent', message: answer.message }
  const amount = unitsOf(answer.obj.balance)
  if (amount === undefined) return { kind: 'silent', message: 'the balance is unreadable' }
  return { kind: 'balance', amount, currencyCode }
}
