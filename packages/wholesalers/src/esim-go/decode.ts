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
  /** It has an unreadable line besides its bundle, possibly another bundle: the order is then not ours. */
  hasOddLines: boolean
  createdAt: Date | undefined
  status: string | undefined
  charged: Charge | undefined
}

/** Pure. @returns undefined if it has no reference, or not exactly one bundle */
export function orderOf(members: JsonObject): EsimGoOrder | undefined {
  const { orderReference, order, status } = members
  const [line, ...others] = linesOf(order)
  if (!isText(orderReference) || line === undefined || others.length > 0) return undefined
  const listed = entriesOf(line.esims) ?? []
  const amount = amountOf(members.total)
  const currencyCode = currencyOf(members.currency)
  return {
    reference: orderReference,
    bundle: line.item,
    esims: listed.filter(isObject),
    hasOddEsims: !listed.every(isObject),
    hasOddLines: (entriesOf(order) ?? []).length > 1,
    createdAt: dateOf(members.createdDate ?? members.createDate),
    status: textOf(status)?.toLowerCase(),
    charged: amount === undefined || amount < 0n || currencyCode === undefined ? undefined : { amount, currencyCode },
  }
}

/** Pure: an order with several bundles is not ours, because each of our orders has one. */
export function hasSeveralBundles({ order }: JsonObject): boolean {
  return linesOf(order).length > 1
}

/** The lines that name a bundle. */
function linesOf(order: unknown): (JsonObject & { item: string })[] {
  const lines = (entriesOf(order) ?? []).filter(isObject)
  return lines.flatMap(({ item, ...more }) => (isText(item) ? [{ ...more, item }] : []))
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
