import { deliveredEsim } from '#delivered-esim.ts'
import { amountOf, currencyOf, entriesOf, iccidOf, isObject, isText, type JsonObject, textOf } from '#members.ts'
import type { Charge, DeliveredEsim } from '#supplier.ts'

/* Pure: decodes an order of MobiMatter. */

/** MobiMatter documents prices in US dollars only. */
export const CURRENCY_DEFAULT = 'USD'

/** Reads a list of names and values, some of which end in spaces. */
export function detailsOf(list: unknown): ReadonlyMap<string, string> {
  const rows = (entriesOf(list) ?? []).filter(isObject)
  return new Map(
    rows.flatMap(({ name, value }) => {
      const text = typeof value === 'number' ? String(value) : value
      return isText(name) && typeof text === 'string' ? [[name.trim(), text.trim()] as const] : []
    }),
  )
}

export function deliveredDetailsOf({ orderLineItem }: JsonObject): ReadonlyMap<string, string> {
  return detailsOf(isObject(orderLineItem) ? orderLineItem.lineItemDetails : undefined)
}

/** A detail without a readable name: it may be anything, such as the ICCID. */
export function hasOddDetail({ orderLineItem }: JsonObject): boolean {
  const details = isObject(orderLineItem) ? entriesOf(orderLineItem.lineItemDetails) : undefined
  return (details ?? []).some((one) => !isObject(one) || !isText(one.name))
}

export function deliveredIccidOf(details: ReadonlyMap<string, string>): string | undefined {
  return iccidOf({ iccid: details.get('ICCID') })
}

/** @returns undefined if the activation data is unreadable */
export function esimOf(order: JsonObject): DeliveredEsim | undefined {
  const details = deliveredDetailsOf(order)
  const { oneClickInstall } = isObject(order.orderLineItem) ? order.orderLineItem : {}
  return deliveredEsim({
    iccid: details.get('ICCID'),
    code: details.get('LOCAL_PROFILE_ASSISTANT'),
    smdpAddress: details.get('SMDP_ADDRESS'),
    matchingId: details.get('ACTIVATION_CODE'),
    confirmationCode: details.get('CONF_CODE'),
    apn: details.get('ACCESS_POINT_NAME'),
    msisdn: details.get('PHONE_NUMBER'),
    kycUrl: details.get('KYC_URL'),
    appleUrl: isObject(oneClickInstall) ? oneClickInstall.ios : undefined,
  })
}

/** What MobiMatter debits, never its retail price. @returns undefined if the order does not state it in a valid form */
export function chargeOf({ orderLineItem, currencyCode }: JsonObject): Charge | undefined {
  const amount = isObject(orderLineItem) ? amountOf(orderLineItem.wholesalePrice) : undefined
  const currency = currencyOf(textOf(currencyCode) ?? CURRENCY_DEFAULT)
  return amount === undefined || amount < 0n || currency === undefined ? undefined : { amount, currencyCode: currency }
}
