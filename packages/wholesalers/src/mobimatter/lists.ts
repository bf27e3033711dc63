import { includedOf } from '#allowances.ts'
import {
  amountOf,
  currencyOf,
  entriesOf,
  fairUseOf,
  isCountryCode,
  isText,
  type JsonObject,
  parseObject,
  textOf,
} from '#members.ts'
import { describeBlocked, describeFailure, listOf, type RestAnswer, withoutStop } from '#rest-client.ts'
import type { BalanceOutcome, SupplierProduct, UnreadableEntry } from '#supplier.ts'
import { readEach, Unreadable } from '#unreadable-entry.ts'
import type { MobimatterClient } from './client.ts'
import { CURRENCY_DEFAULT, detailsOf } from './decode.ts'
import { messageOf, resultOf } from './outcome.ts'

/** Products for new eSIMs and add-ons, in one answer. @throws if it has no list */
export async function* listProducts(client: MobimatterClient): AsyncGenerator<SupplierProduct | UnreadableEntry> {
  const answer = await client.products()
  const list = answer.kind === 'reply' && answer.status === 200 ? listOf(answer, 'result') : undefined
  if (list === undefined) throw new Error(`the catalogue cannot be read: ${messageOf(answer)}`)
  yield* readEach(list, 'the list', productOf)
}

const PACKAGE_TYPES: Readonly<Record<string, SupplierProduct['packageType']>> = {
  esim_realtime: 'BASE',
  esim_addon: 'TOPUP',
}

/**
 * Pure. @returns undefined if the product cannot be sold here: of a different category, without data or for less than a day
 */
export function productOf(product: JsonObject): SupplierProduct | Unreadable | undefined {
  const details = detailsOf(product.productDetails)
  const productCode = textOf(product.productId)
  const category = textOf(product.productCategory)
  const packageType = PACKAGE_TYPES[category ?? '']
  if (category !== undefined && packageType === undefined) return undefined
  if (productCode === undefined) return new Unreadable('it has no productId')
  if (packageType === undefined) return new Unreadable('it has no productCategory', productCode)
  const cost = amountOf(product.wholesalePrice)
  const currencyCode = currencyOf(textOf(product.currencyCode) ?? CURRENCY_DEFAULT)
  if (cost === undefined || cost < 0n) return new Unreadable('its wholesalePrice is unreadable', productCode)
  if (currencyCode === undefined) return new Unreadable('its currency is unreadable', productCode)
  const volume = volumeOf(details)
  if (volume === undefined) return new Unreadable('its PLAN_DATA_LIMIT is unreadable', productCode)
  const durationDays = Math.floor(Number(details.get('PLAN_VALIDITY') ?? Number.NaN) / HOURS_OF_A_DAY)
  if (Number.isNaN(durationDays)) return new Unreadable('its PLAN_VALIDITY is unreadable', productCode)
  if (volume === 0n || durationDays < 1) return undefined
  const fupPolicy = fairUseOf(Object.fromEntries(details)) ?? limitIn(details)
  const included = includedOf({
    minutes: details.get('PLAN_VOICE_LIMIT') ?? isMarked(details, 'HAS_CALLS'),
    sms: details.get('PLAN_SMS_LIMIT') ?? isMarked(details, 'HAS_SMS'),
  })
  return {
    productCode,
    name: details.get('PLAN_TITLE') ?? textOf(product.productFamilyName) ?? productCode,
    packageType,
    countries: (entriesOf(product.countries) ?? []).filter(isCountryCode),
    volume,
    isDayPass: false,
    durationDays,
    cost,
    currencyCode,
    ...(fupPolicy && { fupPolicy }),
    ...(included && { included }),
  }
}

/**
 * A limit on speed or use, among the texts of a product: `{"items": ["Usage limitation: 5 GB per day of high-speed
 * data."]}`.
 */
function limitIn(details: ReadonlyMap<string, string>): string | undefined {
  const { heading, description, items } = parseObject(details.get('PLAN_DETAILS') ?? '') ?? {}
  const texts = [details.get('SPEED_LONG'), heading, description, ...(entriesOf(items) ?? [])].filter(isText)
  return texts.find((text) => LIMIT.test(text) && !NO_LIMIT.test(text))?.trim()
}

const LIMIT =
  /usage limit|fair.?us|throttled|throttling|speed (?:is|will be) (?:restricted|limited|reduced)|daily[^.]{1,60}allowance/i
const NO_LIMIT = /no (?:daily limits|throttling)/i

function isMarked(details: ReadonlyMap<string, string>, name: string): boolean {
  return /^(1|true|yes)$/i.test(details.get(name) ?? '')
}

const HOURS_OF_A_DAY = 24
/** MobiMatter does not document whether its GB is 10^9 or 2^30 bytes. The smaller one promises a traveller no more than there is. */
const BYTES: Readonly<Record<string, number>> = { MB: 10 ** 6, GB: 10 ** 9, TB: 10 ** 12 }
const VOLUME_MAX_BYTES = 10 ** 15

/** @returns null if the volume is unlimited, whichever limit stands beside the mark; undefined if it is unreadable */
function volumeOf(details: ReadonlyMap<string, string>): bigint | null | undefined {
  const limit = details.get('PLAN_DATA_LIMIT') ?? ''
  if (isMarked(details, 'UNLIMITED') || /^unlimited$/i.test(limit)) return null
  if (/^0*$/.test(limit)) return 0n
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
  const { balance, currency, currencyCode } = resultOf(answer, 'balance') ?? {}
  const amount = amountOf(balance)
  const code = currencyOf(textOf(currency) ?? textOf(currencyCode) ?? CURRENCY_DEFAULT)
  return amount === undefined || code === undefined ? undefined : { kind: 'balance', amount, currencyCode: code }
}

/** Reads the balance, which changes nothing. @returns a message for the operator: the problem and how to fix it */
export async function testAccount(client: MobimatterClient): Promise<string | undefined> {
  const answer = await client.balance()
  if (answer.kind === 'failed') return describeFailure(answer)
  const blocked = describeBlocked('MobiMatter', answer)
  if (blocked !== undefined) return blocked
  const { status } = answer
  const message = withoutStop(messageOf(answer))
  if (status === 401 || status === 403) {
    return `Credentials: ${message}. Copy apiKey and merchantId from the API section of MobiMatter's partner portal.`
  }
  if (status === 404) {
    return `Protocol: ${message}. The url is given without /api/v2, as in https://api.mobimatter.com/mobimatter.`
  }
  if (status !== 200) return `${message}.`
  if (balanceOf(answer) !== undefined) return undefined
  return 'Protocol: the balance is unreadable. Check that the url is that of MobiMatter.'
}
