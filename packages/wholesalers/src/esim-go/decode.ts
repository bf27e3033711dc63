import { parseActivationCode } from '@dealer-esim/contract'
import { amountOf, currencyOf, dateOf, iccidOf, isObject, isText, type JsonObject, textOf } from '#members.ts'
import type { RestAnswer } from '#rest-client.ts'
import type { Charge, DeliveredEsim } from '#supplier.ts'

/* Pure: decodes an order of eSIM Go, its eSIMs, and what it says about a failure. */

/** An order as eSIM Go lists it, with one bundle. */
export interface EsimGoOrder {
  reference: string
  bundle: string
  /** The new eSIMs, or the one that was topped up. Empty until the order is carried out. */
  esims: JsonObject[]
  createdAt: Date | undefined
  status: string | undefined
  charged: Charge | undefined
}

/** Pure. @returns undefined if it has no reference, or other than one bundle */
export function orderOf(members: JsonObject): EsimGoOrder | undefined {
  const { orderReference, order, status } = members
  if (!isText(orderReference) || !Array.isArray(order) || order.length !== 1 || !isObject(order[0])) return undefined
  const { item, esims } = order[0]
  if (!isText(item)) return undefined
  const amount = amountOf(members.total)
  const currencyCode = currencyOf(members.currency)
  return {
    reference: orderReference,
    bundle: item,
    esims: Array.isArray(esims) ? esims.filter(isObject) : [],
    createdAt: dateOf(members.createdDate ?? members.createDate),
    status: textOf(status)?.toLowerCase(),
    charged: amount === undefined || amount < 0n || currencyCode === undefined ? undefined : { amount, currencyCode },
  }
}

/** Pure: an order with several bundles is not ours, because each of our orders has one. */
export function hasSeveralBundles({ order }: JsonObject): boolean {
  return Array.isArray(order) && order.length > 1
}

export function esimOf({ iccid, matchingId, smdpAddress }: JsonObject): DeliveredEsim | undefined {
  const known = iccidOf({ iccid })
  if (known === undefined || !isText(matchingId) || !isText(smdpAddress)) return undefined
  const code = parseActivationCode(`LPA:1$${smdpAddress}$${matchingId}`)
  if (!code.ok || code.value.matchingId !== matchingId) return undefined
  return { iccid: known, smdpAddress: code.value.smdpAddress, matchingId }
}

/** The message about a failure for an operator. */
export function messageOf(answer: RestAnswer): string {
  if (answer.kind === 'failed') return answer.message
  const { status, body } = answer
  return isText(body?.message)
    ? `status ${status}: ${body.message}`
    : `eSIM Go answered with status ${status} and no readable body`
}
