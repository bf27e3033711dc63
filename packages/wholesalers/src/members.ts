import { isIccid, MONEY_MAX, stripIccidPadding } from '@dealer-esim/contract'

/*
 * Pure: decodes the members of a supplier's answers. Another program writes them, so each is checked where it is used. We
 * ignore a member in an unknown form: our tables cannot store it, and the failed write would lose the rest of the answer.
 */

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns undefined if the text is not a JSON object */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** @returns undefined if the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The entries of a list: an array, or an object whose keys do not matter, such as `{"100": {…}}`. PHP encodes an array with
 * gaps as such an object.
 * @returns undefined if it is neither
 */
export function entriesOf(list: unknown): readonly unknown[] | undefined {
  if (Array.isArray(list)) return list
  return isObject(list) ? Object.values(list) : undefined
}

/** The object in an answer: in a member such as `data`, or the answer itself if it has `mark`. */
export function resultIn(body: JsonObject | undefined, wrapper: string, mark: string): JsonObject | undefined {
  const wrapped = body?.[wrapper]
  if (isObject(wrapped)) return wrapped
  return body !== undefined && mark in body ? body : undefined
}

/** The fair-use condition, under any of its names: `fair_usage_policy`, `FUP`, `throttleText`. */
export function fairUseOf(members: JsonObject): string | undefined {
  const named = Object.entries(members).filter(([name]) => /fair.?us|fup|throttle|throttling/i.test(name))
  return named.map(([, value]) => (typeof value === 'string' ? value.replace(/\s+/g, ' ').trim() : value)).find(isText)
}

/** A string without control characters or lone surrogates; it may be empty. */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && !/[\p{Cc}\p{Cs}]/u.test(value)
}

/** The same, but not empty: suppliers send an empty text for an absent one. */
export function isText(value: unknown): value is string {
  return isStorableText(value) && value !== ''
}

export function textOf(value: unknown): string | undefined {
  return isText(value) ? value : undefined
}

/** A whole number that is not negative, such as an amount or bytes. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function wholeOf(value: unknown): bigint | undefined {
  return isCount(value) ? BigInt(value) : undefined
}

/**
 * An amount written as a decimal number or text, in 1/10 000, rounded half up: 1.2999999999999998 is 1.30.
 * @returns undefined if it is not a number, or too large
 */
export function amountOf(value: unknown): bigint | undefined {
  return storable(decimalOf(value, 4))
}

/** An amount that is already in 1/10 000, rounded half up to a whole one. */
export function unitsOf(value: unknown): bigint | undefined {
  return storable(decimalOf(value, 0))
}

/** @returns undefined if our tables cannot store the amount */
export function storable(amount: bigint | undefined): bigint | undefined {
  const isStorable = amount !== undefined && amount <= BigInt(MONEY_MAX) && amount >= -BigInt(MONEY_MAX)
  return isStorable ? amount : undefined
}

/** A decimal number or text × 10^places, rounded half up. Exact: it never calculates in floating point. */
export function decimalOf(value: unknown, places: number): bigint | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const match = /^(-?)(\d{1,30})(?:\.(\d{1,60}))?(?:e([+-]?\d{1,2}))?$/i.exec(String(value).trim())
  if (!match) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const digits = BigInt(whole + fraction)
  const shift = places + Number(exponent) - fraction.length
  const amount = shift >= 0 ? digits * 10n ** BigInt(shift) : roundHalfUp(digits, 10n ** BigInt(-shift))
  return sign === '-' ? -amount : amount
}

/** The quotient of two numbers that are not negative, rounded half up. */
export function roundHalfUp(dividend: bigint, divisor: bigint): bigint {
  return (2n * dividend + divisor) / (2n * divisor)
}

export function currencyOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Z]{3}$/.test(value) ? value : undefined
}

/** Two capital letters, the form of ISO 3166-1 alpha-2: suppliers also send longer names and region codes in this place. */
export function isCountryCode(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Z]{2}$/.test(value)
}

/** 18 to 20 digits without padding, as in our tables. */
export function iccidOf({ iccid }: { iccid?: unknown }): string | undefined {
  const stripped = isText(iccid) ? stripIccidPadding(iccid) : ''
  return isIccid(stripped) ? stripped : undefined
}

/**
 * Parses RFC 3339; a time without a zone, such as `2026-11-20T08:26:18`, is in UTC. Rejects times before the first eSIMs and
 * beyond the year 9999, which a table cannot store.
 */
export function dateOf(value: unknown): Date | undefined {
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)
  const time = isTime ? Date.parse(WITHOUT_ZONE.test(value) ? `${value}Z` : value) : Number.NaN
  return time >= BEFORE_ESIMS_MS && time < YEAR_10000_MS ? new Date(time) : undefined
}

/** With at most nine decimals: `2026-11-20T08:26:18.767`. */
const WITHOUT_ZONE = /^\d{4}-\d\d-\d\dT[\d:.]{5,18}$/
const BEFORE_ESIMS_MS = Date.UTC(2010, 0, 1)
const YEAR_10000_MS = Date.UTC(10_000, 0, 1)
