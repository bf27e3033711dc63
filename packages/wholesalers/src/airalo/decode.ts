import { buildActivationCode, parseActivationCode } from '@dealer-esim/contract'
import { amountOf, currencyOf, dateOf, iccidOf, isCount, isObject, isText, type JsonObject, textOf } from '#members.ts'
import type { RestAnswer } from '#rest-client.ts'
import type { Charge, DeliveredEsim } from '#supplier.ts'

/*
 * Pure: decodes an order of Airalo, and what it says about a failure. A member of an unknown form is left out: our tables cannot store it, and the failed write
 * would lose the rest of the answer.
 */

/** The number by which GET /orders/{id} finds the order. */
export function referenceOf({ id }: JsonObject): string | undefined {
  return isCount(id) && id > 0 ? String(id) : undefined
}

/** @returns an empty list if the order is not delivered yet; undefined if an eSIM is unreadable */
export function esimsOf({ sims }: JsonObject): DeliveredEsim[] | undefined {
  if (sims === undefined || sims === null) return []
  if (!Array.isArray(sims)) return undefined
  const esims = sims.map((sim) => (isObject(sim) ? esimOf(sim) : undefined))
  return esims.every((esim) => esim !== undefined) ? esims : undefined
}

/** `lpa` is the address of the SM-DP+, `qrcode` the whole activation code. */
function esimOf(sim: JsonObject): DeliveredEsim | undefined {
  const iccid = iccidOf(sim)
  const { qrcode, lpa, matching_id } = sim
  const text = isText(qrcode) ? qrcode : isText(lpa) && isText(matching_id) ? `LPA:1$${lpa}$${matching_id}` : ''
  const code = parseActivationCode(text)
  if (iccid === undefined || !code.ok || code.value.matchingId === '') return undefined
  const { smdpOid, confirmationCodeRequired, ...parts } = code.value
  const confirmationCode = textOf(sim.confirmation_code)
  const apn = textOf(sim.apn_value)
  const hasMore = smdpOid !== undefined || confirmationCodeRequired
  return {
    iccid,
    ...parts,
    ...(hasMore ? { ac: buildActivationCode(code.value) } : {}),
    ...(confirmationCode && { confirmationCode }),
    ...(apn && { apn }),
  }
}

/** What the account was debited: the net price, where the account has one. */
export function chargeOf({ net_price, price, currency }: JsonObject): Charge | undefined {
  const amount = amountOf(net_price) ?? amountOf(price)
  const currencyCode = currencyOf(currency)
  return amount === undefined || amount < 0n || currencyCode === undefined ? undefined : { amount, currencyCode }
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

/** The code of `{code, reason}`. */
export function codeOf(body: JsonObject | undefined): number | undefined {
  const code = body?.code
  if (isCount(code)) return code
  return typeof code === 'string' && /^\d{1,6}$/.test(code) ? Number(code) : undefined
}

/** The message about an answer for an operator. */
export function messageOf(answer: RestAnswer): string {
  if (answer.kind === 'failed') return answer.message
  const { status, body } = answer
  const code = codeOf(body)
  if (code !== undefined) return isText(body?.reason) ? `${code}: ${body.reason}` : `${code}`
  const meta = isObject(body?.meta) && isText(body.meta.message) ? body.meta.message : undefined
  const faults = faultsOf(body?.data)
  if (faults !== undefined) return `status ${status}: ${faults}`
  return meta === undefined ? `Airalo answered with status ${status} and no readable body` : `status ${status}: ${meta}`
}

/** The texts of faulty parameters: `{"quantity": "The quantity field is required."}`. */
function faultsOf(data: unknown): string | undefined {
  if (!isObject(data)) return undefined
  const texts = Object.entries(data).flatMap(([field, text]) => (isText(text) ? `${field}: ${text}` : []))
  return texts.length === 0 ? undefined : texts.join(' ')
}
