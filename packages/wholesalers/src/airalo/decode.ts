import { deliveredEsim } from '#delivered-esim.ts'
import { amountOf, currencyOf, dateOf, entriesOf, isCount, isObject, isText, type JsonObject } from '#members.ts'
import { describeReply, type RestAnswer } from '#rest-client.ts'
import type { Charge, DeliveredEsim } from '#supplier.ts'

/*
 * Pure: decodes an order of Airalo, and what it says about a failure. A member in an unknown form is left out: our tables
 * cannot store it, and the failed write would lose the rest of the answer.
 */

/** The number by which GET /orders/{id} finds the order. */
export function referenceOf({ id }: JsonObject): string | undefined {
  if (typeof id === 'string' && /^[1-9]\d{0,14}$/.test(id)) return id
  return isCount(id) && id > 0 ? String(id) : undefined
}

/** @returns an empty list if the order is not delivered yet; undefined if it has eSIMs and none is readable */
export function esimsOf({ sims }: JsonObject): DeliveredEsim[] | undefined {
  if (sims === undefined || sims === null) return []
  const entries = entriesOf(sims)
  const esims = entries?.filter(isObject).flatMap((sim) => esimOf(sim) ?? [])
  return esims?.length === 0 && entries!.length > 0 ? undefined : esims
}

/** `lpa` is the address of the SM-DP+, `qrcode` the whole activation code. */
function esimOf(sim: JsonObject): DeliveredEsim | undefined {
  const { iccid, qrcode: code, lpa: smdpAddress, matching_id: matchingId, msisdn } = sim
  const { confirmation_code: confirmationCode, direct_apple_installation_url: appleUrl } = sim
  const named = { iccid, code, smdpAddress, matchingId, confirmationCode, msisdn, appleUrl }
  return deliveredEsim({ ...named, apn: apnOf(sim) })
}

/** An eSIM may need a different APN on each system: the first one is used. */
function apnOf({ apn_value, apn }: JsonObject): unknown {
  if (isText(apn_value)) return apn_value
  const systems = isObject(apn) ? [apn.ios, apn.android] : []
  return systems
    .filter(isObject)
    .map((system) => system.apn_value)
    .find(isText)
}

/**
 * What the account was debited for an order of one eSIM. An account has net prices, or a discount on retail prices. `price` is
 * the retail price in both, so an order without the other members leaves the charge unknown.
 */
export function chargeOf({ net_price, total_amount_paid, unit_paid_price, currency }: JsonObject): Charge | undefined {
  const amount = [net_price, total_amount_paid, unit_paid_price].map(amountOf).find((one) => one !== undefined)
  const currencyCode = currencyOf(currency)
  return amount === undefined || amount < 0n || currencyCode === undefined ? undefined : { amount, currencyCode }
}

/** `completed`, `failed` or `refunded`, if the order was requested with it. */
export function statusOf({ status }: JsonObject): string | undefined {
  const slug = isObject(status) ? (status.slug ?? status.name) : status
  return isText(slug) ? slug.toLowerCase() : undefined
}

/** 2026-11-25 12:00:00, in UTC. */
export function timeOf(value: unknown): Date | undefined {
  const match = typeof value === 'string' ? /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/.exec(value) : null
  return dateOf(match ? `${match[1]}T${match[2]}Z` : value)
}

/** Airalo does not document whether its MB is 10^6 or 2^20 bytes. The smaller one promises a traveller no more than there is. */
const MEGABYTE = 10 ** 6
const MEGABYTES_MAX = 1_000_000_000

/** @returns undefined if it is not a valid number of megabytes */
export function bytesOf(megabytes: unknown): bigint | undefined {
  const isValid = typeof megabytes === 'number' && megabytes >= 0 && megabytes <= MEGABYTES_MAX
  return isValid ? BigInt(Math.round(megabytes * MEGABYTE)) : undefined
}

/** The code in `{code, reason}`. */
export function codeOf(body: JsonObject | undefined): number | undefined {
  const code = body?.code
  if (isCount(code)) return code
  return typeof code === 'string' && /^\d{1,6}$/.test(code) ? Number(code) : undefined
}

/** The message for an operator about an answer. */
export function messageOf(answer: RestAnswer): string {
  if (answer.kind === 'failed') return answer.message
  const { body } = answer
  const code = codeOf(body)
  if (code !== undefined) return isText(body?.reason) ? `${code}: ${body.reason}` : `${code}`
  const meta = isObject(body?.meta) ? body.meta.message : undefined
  return describeReply('Airalo', answer, faultsOf(body?.data), body?.reason, meta, body?.message)
}

/** The texts of faulty parameters: `{"quantity": "The quantity field is required."}`. */
function faultsOf(data: unknown): string | undefined {
  if (!isObject(data)) return undefined
  const texts = Object.entries(data).flatMap(([field, text]) => (isText(text) ? `${field}: ${text}` : []))
  return texts.length === 0 ? undefined : texts.join(' ')
}
