import { buildActivationCode, parseActivationCode } from '@dealer-esim/contract'
import { amountOf, currencyOf, iccidOf, isObject, isText, type JsonObject, textOf } from '#members.ts'
import type { Charge, DeliveredEsim } from '#supplier.ts'

/* Pure: decodes an order of MobiMatter. */

/** MobiMatter documents prices in US dollars only. */
export const CURRENCY_DEFAULT = 'USD'

/** Reads a list of names and values. */
export function detailsOf(list: unknown): ReadonlyMap<string, string> {
  const rows = Array.isArray(list) ? list.filter(isObject) : []
  return new Map(rows.flatMap(({ name, value }) => (isText(name) && isText(value) ? [[name, value] as const] : [])))
}

export function deliveredDetailsOf({ orderLineItem }: JsonObject): ReadonlyMap<string, string> {
  return detailsOf(isObject(orderLineItem) ? orderLineItem.lineItemDetails : undefined)
}

export function deliveredIccidOf(details: ReadonlyMap<string, string>): string | undefined {
  return iccidOf({ iccid: details.get('ICCID') })
}

/** @returns undefined if the activation data is unreadable */
export function esimOf(details: ReadonlyMap<string, string>): DeliveredEsim | undefined {
  const iccid = deliveredIccidOf(details)
  const address = details.get('SMDP_ADDRESS')
  const matchingId = details.get('ACTIVATION_CODE')
  const parts = address && matchingId ? `LPA:1$${address}$${matchingId}` : undefined
  const code = parseActivationCode(details.get('LOCAL_PROFILE_ASSISTANT') ?? parts ?? '')
  if (iccid === undefined || !code.ok || code.value.matchingId === '') return undefined
  const { smdpOid, confirmationCodeRequired, ...named } = code.value
  const hasMore = smdpOid !== undefined || confirmationCodeRequired
  const [apn, msisdn] = ['ACCESS_POINT_NAME', 'PHONE_NUMBER'].map((name) => details.get(name))
  return {
    iccid,
    ...named,
    ...(hasMore ? { ac: buildActivationCode(code.value) } : {}),
    ...(apn === undefined ? {} : { apn }),
    ...(msisdn === undefined ? {} : { msisdn }),
  }
}

/** @returns undefined if the order does not state it in a valid form */
export function chargeOf({ orderLineItem, currencyCode }: JsonObject): Charge | undefined {
  const amount = isObject(orderLineItem) ? amountOf(orderLineItem.wholesalePrice) : undefined
  const currency = currencyOf(textOf(currencyCode) ?? CURRENCY_DEFAULT)
  return amount === undefined || amount < 0n || currency === undefined ? undefined : { amount, currencyCode: currency }
}
