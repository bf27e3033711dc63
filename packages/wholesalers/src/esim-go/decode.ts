import { deliveredEsim } from '#delivered-esim.ts'
import { amountOf, currencyOf, dateOf, entriesOf, isObject, isText, type JsonObject, textOf } from '#members.ts'
import { describeReply, type RestAnswer } from '#rest-client.ts'
import type { Charge, DeliveredEsim } from '#supplier.ts'

/* Pure: decodes an order of eSIM Go, its eSIMs, and what it says about a failure. */

/** An order as eSIM Go lists it, with one bundle. */
export interface EsimGoOrder {
  reference: string
  bundle: string
  /** The new eSIMs, or the one that was topped up. Empty until the order is carried out. */
  esims: JsonObject[]
  /** Some entries among the eSIMs are not even objects. */
  hasOddEsims: boolean
  createdAt: Date | undefined
  status: string | undefined
  charged: Charge | undefined
}

/** Pure. @returns undefined if it has no reference, or not exactly one bundle */
export function orderOf(members: JsonObject): EsimGoOrder | undefined {
  const { orderReference, order, status } = members
  const [line, ...others] = entriesOf(order) ?? []
  if (!isText(orderReference) || !isObject(line) || others.length > 0) return undefined
  const { item, esims } = line
  if (!isText(item)) return undefined
  const listed = entriesOf(esims) ?? []
  const amount = amountOf(members.total)
  const currencyCode = currencyOf(members.currency)
  return {
    reference: orderReference,
    bundle: item,
    esims: listed.filter(isObject),
    hasOddEsims: !listed.every(isObject),
    createdAt: dateOf(members.createdDate ?? members.createDate),
    status: textOf(status)?.toLowerCase(),
    charged: amount === undefined || amount < 0n || currencyCode === undefined ? undefined : { amount, currencyCode },
  }
}

/** Pure: an order with several bundles is not ours, because each of our orders has one. */
export function hasSeveralBundles({ order }: JsonObject): boolean {
  return (entriesOf(order) ?? []).length > 1
}

/** eSIM Go's own examples have a URL as smdpAddress. */
export function esimOf({ iccid, matchingId, smdpAddress, ...more }: JsonObject): DeliveredEsim | undefined {
  const { confirmationCode, apn, msisdn } = more
  const esim = deliveredEsim({ iccid, smdpAddress, matchingId, confirmationCode, apn, msisdn })
  return esim?.matchingId === matchingId ? esim : undefined
}

/** The message for an operator about a failure. */
export function messageOf(answer: RestAnswer): string {
  return answer.kind === 'failed' ? answer.message : describeReply('eSIM Go', answer, answer.body?.message)
}
