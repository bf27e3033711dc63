import { orderIdOf, orderNoOf } from '../lib/ids.ts'

/** An item's name at its supplier: the same at every attempt, so that a supplier delivers it once. */
export function itemKeyOf(orderId: string, itemNo: number): string {
  return `${orderNoOf(orderId)}-${itemNo}`
}

/** undefined where the text cannot be one. */
export function parseItemKey(key: string): { orderId: string; itemNo: number } | undefined {
  const [, orderNo = '', itemNo = ''] = /^([0-9A-Z]{26})-(\d{1,3})$/.exec(key) ?? []
  const orderId = orderIdOf(orderNo)
  return orderId === undefined ? undefined : { orderId, itemNo: Number(itemNo) }
}
