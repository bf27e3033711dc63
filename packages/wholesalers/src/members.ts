import { isIccid, parseMoney, stripIccidPadding } from '@dealer-esim/contract'

/*
 * Pure: decodes the members of a supplier's answers. Another program writes them, so each is checked where it is used. We
 * ignore a member of an unknown form: our tables cannot store it, and the failed write would lose the rest of the answer.
 */

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns undefined if the text is not a JSON object */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
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

/** A string without control characters and lone surrogates; it may be empty. */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && !/[\p{Cc}\p{Cs}]/u.test(value)
}

/** The same, not empty: suppliers send an empty text for an absent one. */
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
 * An amount written as a decimal number or text, in 1/10 000.
 * @returns undefined if it is not a number, or if 1/10 000 cannot express it
 */
export function amountOf(value: unknown): bigint | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  try {
    return parseMoney(String(value))
  } catch {
    return undefined
  }
}

export function currencyOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Z]{3}$/.test(value) ? value : undefined
}

/** Two capitals, the form of ISO 3166-1 alpha-2: suppliers send longer names and codes of regions in the same place. */
export function isCountryCode(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Z]{2}$/.test(value)
}

/** 18 to 20 digits without padding, as in our tables. */
export function iccidOf({ iccid }: { iccid?: unknown }): string | undefined {
  const stripped = isText(iccid) ? stripIccidPadding(iccid) : ''
  return isIccid(stripped) ? stripped : undefined
}

/** Parses RFC 3339. Rejects times before the first eSIMs and beyond the year 9999, which a table cannot store. */
export function dateOf(value: unknown): Date | undefined {
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN
  return time >= BEFORE_ESIMS_MS && time < YEAR_10000_MS ? new Date(time) : undefined
}

const BEFORE_ESIMS_MS = Date.UTC(2010, 0, 1)
const YEAR_10000_MS = Date.UTC(10_000, 0, 1)
