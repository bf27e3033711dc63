import { buildActivationCode, parseActivationCode } from '@dealer-esim/contract'
import { currencyOf, iccidOf, isCount, isObject, isText, type JsonObject } from '#members.ts'
import type { Charge, DeliveredEsim } from '#supplier.ts'

/*
 * Pure: decodes Zendit's members. A member of an unknown form is left out: our tables cannot store it, and the failed write
 * would lose the rest of the answer.
 */

/** @returns undefined if the activation data is unreadable */
export function esimOf({ confirmation }: JsonObject): DeliveredEsim | undefined {
  if (!isObject(confirmation)) return undefined
  const iccid = iccidOf(confirmation)
  const { activationCode, smdpAddress } = confirmation
  if (iccid === undefined || !isText(activationCode)) return undefined
  // Zendit documents the matching id only. We also accept a whole activation code.
  const isWhole = /^(LPA:)?1\$/i.test(activationCode)
  if (!isWhole && !isText(smdpAddress)) return undefined
  const code = parseActivationCode(isWhole ? activationCode : `LPA:1$${smdpAddress}$${activationCode}`)
  if (!code.ok || code.value.matchingId === '') return undefined
  const { smdpOid, confirmationCodeRequired, ...parts } = code.value
  const hasMore = smdpOid !== undefined || confirmationCodeRequired
  return { iccid, ...parts, ...(hasMore ? { ac: buildActivationCode(code.value) } : {}) }
}

/** @returns undefined if Zendit does not state it in a valid form */
export function chargeOf({ cost, costCurrency, costCurrencyDivisor }: JsonObject): Charge | undefined {
  return moneyOf(cost, costCurrency, costCurrencyDivisor)
}

/**
 * Converts minor units of a currency, exactly: 1250 with the divisor 100 is 12.50.
 * @returns undefined if they are not valid, or if 1/10 000 of the currency cannot express them
 */
export function moneyOf(minor: unknown, currency: unknown, divisor: unknown): Charge | undefined {
  const currencyCode = currencyOf(currency)
  if (!isCount(minor) || !isCount(divisor) || divisor === 0 || currencyCode === undefined) return undefined
  const scaled = BigInt(minor) * 10_000n
  return scaled % BigInt(divisor) === 0n ? { amount: scaled / BigInt(divisor), currencyCode } : undefined
}

/** Zendit does not document whether its GB is 10^9 or 2^30 bytes. The smaller one promises a traveller no more than there is. */
const GIGABYTE = 10 ** 9
const GIGABYTES_MAX = 1_000_000

/** @returns undefined if it is not a valid number of gigabytes */
export function bytesOf(gigabytes: unknown): bigint | undefined {
  const isValid = typeof gigabytes === 'number' && gigabytes >= 0 && gigabytes <= GIGABYTES_MAX
  return isValid ? BigInt(Math.round(gigabytes * GIGABYTE)) : undefined
}
