import { amountOf, currencyOf, isCountryCode, isObject, type JsonObject, textOf } from '#members.ts'
import { describeFailure, type RestAnswer } from '#rest-client.ts'
import type { BalanceOutcome, SupplierProduct } from '#supplier.ts'
import type { MobimatterClient } from './client.ts'
import { CURRENCY_DEFAULT, detailsOf } from './decode.ts'
import { messageOf, resultOf } from './outcome.ts'

/** Products for new eSIMs and add-ons, in one answer. @throws if it is unreadable */
export async function* listProducts(client: MobimatterClient): AsyncGenerator<SupplierProduct> {
  const answer = await client.products()
  const list = answer.kind === 'reply' && answer.status === 200 ? answer.body?.result : undefined
  if (!Array.isArray(list)) throw new Error(`the catalogue cannot be read: ${messageOf(answer)}`)
  for (const product of list) {
    const sold = isObject(product) ? productOf(product) : undefined
    if (sold !== undefined) yield sold
  }
}

const PACKAGE_TYPES: Readonly<Record<string, SupplierProduct['packageType']>> = {
  esim_realtime: 'BASE',
  esim_addon: 'TOPUP',
}

/** Pure. @returns undefined if the product cannot be sold here: of another category, without data, or unreadable */
export function productOf(product: JsonObject): SupplierProduct | undefined {
  const details = detailsOf(product.productDetails)
  const productCode = textOf(product.productId)
  const packageType = PACKAGE_TYPES[textOf(product.productCategory) ?? '']
  const cost = amountOf(product.wholesalePrice)
  const currencyCode = currencyOf(textOf(product.currencyCode) ?? CURRENCY_DEFAULT)
  const volume = volumeOf(details)
  const durationDays = Math.floor(Number(details.get('PLAN_VALIDITY') ?? Number.NaN) / HOURS_OF_A_DAY)
  if (productCode === undefined || packageType === undefined || currencyCode === undefined) return undefined
  if (cost === undefined || cost < 0n || volume === undefined || !(durationDays >= 1)) return undefined
  const { countries } = product
  return {
    productCode,
    name: details.get('PLAN_TITLE') ?? textOf(product.productFamilyName) ?? productCode,
    packageType,
    countries: Array.isArray(countries) ? countries.filter(isCountryCode) : [],
    volume,
    isDayPass: false,
    durationDays,
    cost,
    currencyCode,
  }
}

const HOURS_OF_A_DAY = 24
/** MobiMatter does not document whether its GB is 10^9 or 2^30 bytes. The smaller one promises a traveller no more than there is. */
const BYTES: Readonly<Record<string, number>> = { MB: 10 ** 6, GB: 10 ** 9, TB: 10 ** 12 }
const VOLUME_MAX_BYTES = 10 ** 15

/** @returns null if the volume is unlimited; undefined if it is missing or unreadable */
function volumeOf(details: ReadonlyMap<string, string>): bigint | null | undefined {
  const limit = details.get('PLAN_DATA_LIMIT') ?? ''
  if (/^unlimited$/i.test(limit)) return null
  const unit = BYTES[details.get('PLAN_DATA_UNIT')?.toUpperCase() ?? '']
  const bytes = Math.round(/^\d+(\.\d+)?$/.test(limit) ? Number(limit) * (unit ?? Number.NaN) : Number.NaN)
  return bytes > 0 && bytes <= VOLUME_MAX_BYTES ? BigInt(bytes) : undefined
}

export async function readBalance(client: MobimatterClient): Promise<BalanceOutcome> {
  const answer = await client.balance()
  if (answer.kind === 'failed' || answer.status !== 200) {
    return { kind: 'silent', message: messageOf(answer) }
  }
  return balanceOf(answer) ?? { kind: 'silent', message: 'the balance at MobiMatter is unreadable' }
}

function balanceOf(answer: RestAnswer): BalanceOutcome | undefined {
  const { balance, currency, currencyCode } = resultOf(answer) ?? {}
  const amount = amountOf(balance)
  const code = currencyOf(textOf(currency) ?? textOf(currencyCode) ?? CURRENCY_DEFAULT)
  return amount === undefined || code === undefined ? undefined : { kind: 'balance', amount, currencyCode: code }
}

/** Reads the balance, which changes nothing. @returns a message for the operator: the problem and how to fix it */
export async function testAccount(client: MobimatterClient): Promise<string | undefined> {
  const answer = await client.balance()
  if (answer.kind === 'failed') return describeFailure(answer)
  const { status } = answer
  const message = messageOf(answer)
  if (status === 401 || status === 403) {
    return `Credentials: ${message}. Copy apiKey and merchantId from the API section of MobiMatter's partner portal.`
  }
  if (status === 404) {
    return `Protocol: ${message}. The url is given without /api/v2, as in https://api.mobimatter.com/mobimatter.`
  }
  if (status !== 200) return message
  if (balanceOf(answer) !== undefined) return undefined
  return 'Protocol: the balance is unreadable. Check that the url is that of MobiMatter.'
}
