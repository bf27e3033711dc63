import { isCountryCode, isObject, type JsonObject, textOf, wholeOf } from '#members.ts'
import type { BalanceOutcome, SupplierProduct } from '#supplier.ts'
import type { Call } from './client.ts'

/** Reads the packages for new eSIMs, then those for top-ups, each in one answer. @throws if one of them is unreadable */
export async function* listProducts(call: Call): AsyncGenerator<SupplierProduct> {
  for (const packageType of ['BASE', 'TOPUP'] as const) {
    const answer = await call('package/list', { type: packageType })
    if (answer.kind !== 'done') throw new Error(answer.message)
    const { packageList } = answer.obj
    if (!Array.isArray(packageList)) throw new Error('the catalogue is unreadable')
    for (const one of packageList) {
      const product = productOf(one, packageType)
      if (product !== undefined) yield product
    }
  }
}

/** dataType: 1 in total, 2 and 3 a day, 4 unlimited a day. */
const UNLIMITED_DAILY = 4
const DAYS: Readonly<Record<string, number>> = { DAY: 1, MONTH: 30 }

/**
 * Pure. @returns undefined for what sale rules cannot sell: a daily volume for several days
 * @throws if a member is missing: leaving the product out would take it off sale
 */
export function productOf(value: unknown, packageType: 'BASE' | 'TOPUP'): SupplierProduct | undefined {
  const members: JsonObject = isObject(value) ? value : {}
  const [productCode, name, currencyCode] = [members.packageCode, members.name, members.currencyCode].map(textOf)
  const cost = wholeOf(members.price)
  const duration = wholeOf(members.duration)
  const days = DAYS[textOf(members.durationUnit)?.toUpperCase() ?? 'DAY']
  const missing = [productCode, name, cost, duration, days].includes(undefined)
  if (missing) throw new Error(`package ${productCode ?? '(without a code)'} of the catalogue is unreadable`)
  const isDaily = typeof members.dataType === 'number' && members.dataType > 1
  const size = wholeOf(members.volume)
  const volume = members.dataType === UNLIMITED_DAILY || size === undefined || size === 0n ? null : size
  const durationDays = Number(duration) * days!
  const isDayPass = isDaily && durationDays === 1
  if (isDaily && !isDayPass && volume !== null) return undefined
  return {
    productCode: productCode!,
    name: name!,
    packageType,
    countries: (textOf(members.location) ?? '').split(',').filter(isCountryCode),
    volume,
    isDayPass,
    durationDays,
    cost: cost!,
    currencyCode: currencyCode ?? 'USD',
  }
}

export async function queryBalance(call: Call, currencyCode: string): Promise<BalanceOutcome> {
  const answer = await call('balance/query', {})
  if (answer.kind !== 'done') return { kind: 'silent', message: answer.message }
  const { balance } = answer.obj
  if (!Number.isSafeInteger(balance)) return { kind: 'silent', message: 'the balance is unreadable' }
  return { kind: 'balance', amount: BigInt(balance as number), currencyCode }
}
