import { deliveredEsim } from '#delivered-esim.ts'
import { currencyOf, decimalOf, isCount, isObject, isText, type JsonObject, roundHalfUp, storable } from '#members.ts'
import type { Charge, DeliveredEsim } from '#supplier.ts'

/*
 * Pure: decodes Zendit's members. A member in an unknown form is left out: our tables cannot store it, and the failed write
 * would lose the rest of the answer.
 */

/** @returns undefined if the activation data is unreadable */
export function esimOf({ confirmation }: JsonObject): DeliveredEsim | undefined {
  if (!isObject(confirmation)) return undefined
  const { iccid, activationCode, smdpAddress, confirmationCode, apn, msisdn } = confirmation
  if (!isText(activationCode)) return undefined
  // Zendit documents the matching id only. We also accept a whole activation code.
  const isWhole = /^(LPA:)?1\$/i.test(activationCode)
  const code = isWhole ? { code: activationCode } : { smdpAddress, matchingId: activationCode }
  return deliveredEsim({ iccid, ...code, confirmationCode, apn, msisdn })
}

/**
 * What the wallet was debited. Zendit does not say whether `cost` includes `costFee`: with a fee, the charge is known only
 * if `cost` is the sum of the base and the fee.
 * @returns undefined if Zendit does not state it clearly, or at all
 */
export function chargeOf(purchase: JsonObject): Charge | undefined {
  const { cost, costBase, costFee, costCurrency, costCurrencyDivisor } = purchase
  const [total, base, fee] = [cost, costBase, costFee ?? 0].map((part) => decimalOf(part, MINOR_PLACES))
  const isWhole = fee === 0n || (total !== undefined && base !== undefined && fee !== undefined && total === base + fee)
  return isWhole && total !== undefined && total >= 0n ? scaled(total, costCurrency, costCurrencyDivisor) : undefined
}

/**
 * Converts minor units of a currency: 1250 with the divisor 100 is 12.50. More than four decimals are rounded half up.
 * @returns undefined if they are not valid
 */
export function moneyOf(minor: unknown, currency: unknown, divisor: unknown): Charge | undefined {
  return scaled(decimalOf(minor, MINOR_PLACES), currency, divisor)
}

/** Minor units are calculated with this many decimals, so that they are rounded only once. */
export const MINOR_PLACES = 20

/** @param minor in 1/10^MINOR_PLACES of the minor unit */
export function scaled(minor: bigint | undefined, currency: unknown, divisor: unknown): Charge | undefined {
  const currencyCode = currencyOf(currency)
  if (minor === undefined || !isCount(divisor) || divisor === 0 || currencyCode === undefined) return undefined
  const size = roundHalfUp(minor < 0n ? -minor : minor, 10n ** BigInt(MINOR_PLACES - 4) * BigInt(divisor))
  const amount = storable(minor < 0n ? -size : size)
  return amount === undefined ? undefined : { amount, currencyCode }
}

/** Zendit does not document whether its GB is 10^9 or 2^30 bytes. The smaller one promises a traveller no more than there is. */
const GIGABYTE = 10 ** 9
const GIGABYTES_MAX = 1_000_000

/** @returns undefined if it is not a valid number of gigabytes */
export function bytesOf(gigabytes: unknown): bigint | undefined {
  const isValid = typeof gigabytes === 'number' && gigabytes >= 0 && gigabytes <= GIGABYTES_MAX
  return isValid ? BigInt(Math.round(gigabytes * GIGABYTE)) : undefined
}
