import { orderIdOf, orderNoOf } from '../lib/ids.ts'

/** What an order asked for, at the price that was debited. Kept with the order and never changed. */
export interface PackageLine {
  packageCode: string
  packageName: string
  count: number
  /** Of one eSIM, of a day pass for one day. */
  price: number
  /** Days of a day pass. */
  periodNum?: number
}

/** The line that an item belongs to: items are numbered from 1 through the lines, in their order (placing/write.ts). */
export function lineOfItem(lines: readonly PackageLine[], itemNo: number): PackageLine {
  let last = 0
  for (const line of lines) {
    last += line.count
    if (itemNo <= last) return line
  }
  throw new Error(`an order of ${last} eSIMs has no item ${itemNo}`)
}

/** An item's name at its supplier: the same at every attempt, so that a supplier delivers it once. */
export function itemKeyOf(orderId: string, itemNo: number): string {
  return `${orderNoOf(orderId)}-${itemNo}`
}

/** @returns undefined where the text is not an item key */
export function parseItemKey(key: string): { orderId: string; itemNo: number } | undefined {
  const [, orderNo = '', itemNo = ''] = /^([0-9A-Z]{26})-(\d{1,3})$/.exec(key) ?? []
  const orderId = orderIdOf(orderNo)
  return orderId === undefined ? undefined : { orderId, itemNo: Number(itemNo) }
}
