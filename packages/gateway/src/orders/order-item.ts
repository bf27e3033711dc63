import type { CancelPolicy, OrderLine, OrderStatus } from '@dealer-esim/contract'
import { orderIdOf, orderNoOf } from '@dealer-esim/contract'
import type { CataloguePackage } from '#catalogue/catalogue.ts'

export const ITEM_STATUSES = ['WAITING', 'ASKED', 'UNKNOWN', 'REVIEW', 'DELIVERED', 'REFUSED', 'CANCELLED'] as const
export type ItemStatus = (typeof ITEM_STATUSES)[number]

/*
 * An item is one eSIM of an order, or the addition of a TOPUP to one:
 *
 *   WAITING    no supplier is working on it: none has been asked yet, or the last one definitely did nothing
 *   ASKED      the intent to buy is committed, and only the worker that committed it calls the supplier
 *   UNKNOWN    it may have been bought: its supplier is queried, and it is never bought again
 *   REVIEW     not decided in time: re-checked at intervals, or resolved by an operator
 *   DELIVERED  the supplier delivered it; a later cancellation of the unused eSIM changes only the profile
 *   REFUSED    definitely not delivered by any supplier: refunded in the same transaction
 *   CANCELLED  an operator cancelled it before any supplier was asked: refunded
 *
 *   WAITING → ASKED | REFUSED (no supplier may be asked) | REVIEW (too late) | CANCELLED
 *   ASKED   → DELIVERED | REFUSED | WAITING (retry, next supplier) | UNKNOWN | REVIEW
 *   UNKNOWN → DELIVERED | REFUSED | WAITING | REVIEW
 *   REVIEW  → DELIVERED | REFUSED | WAITING (next supplier, or an operator's decision)
 *
 * The order's status is a function of its items:
 *
 *   | items                                   | order               |
 *   | all CANCELLED                           | CANCELLED           |
 *   | all WAITING, no supplier asked yet      | PAID                |
 *   | any WAITING, ASKED or UNKNOWN           | ALLOCATING          |
 *   | else any REVIEW                         | UNDER_REVIEW        |
 *   | else all DELIVERED                      | DELIVERED           |
 *   | else none DELIVERED                     | FAILED              |
 *   | else                                    | PARTIALLY_DELIVERED |
 */
export function orderStatusOf(items: readonly { itemStatus: ItemStatus; asked: boolean }[]): OrderStatus {
  const all = (status: ItemStatus) => items.every((item) => item.itemStatus === status)
  const any = (...statuses: ItemStatus[]) => items.some((item) => statuses.includes(item.itemStatus))
  if (all('CANCELLED')) return 'CANCELLED'
  if (all('WAITING') && items.every((item) => !item.asked)) return 'PAID'
  if (any('WAITING', 'ASKED', 'UNKNOWN')) return 'ALLOCATING'
  if (any('REVIEW')) return 'UNDER_REVIEW'
  if (all('DELIVERED')) return 'DELIVERED'
  return any('DELIVERED') ? 'PARTIALLY_DELIVERED' : 'FAILED'
}

/** The statuses of an order that still has undecided items. */
export const UNFINISHED_STATUSES = ['PAID', 'ALLOCATING', 'UNDER_REVIEW'] as const satisfies OrderStatus[]

/** SQL: the order with this alias has one of UNFINISHED_STATUSES. */
export const isUnfinished = (order: string): string =>
  `${order}.order_status in (${UNFINISHED_STATUSES.map((status) => `'${status}'`).join(', ')})`

/** True if fulfilment may still change the item. */
export function isOpen(status: ItemStatus): boolean {
  return status === 'WAITING' || status === 'ASKED' || status === 'UNKNOWN'
}

/** The statuses that an order passes through, including the last: from PAID, it becomes ALLOCATING first. */
export function statusesBetween(from: OrderStatus, to: OrderStatus): OrderStatus[] {
  if (from === to) return []
  if (from === 'PAID' && to !== 'ALLOCATING' && to !== 'CANCELLED') return ['ALLOCATING', to]
  return [to]
}

/** A line of an order, at the price that was debited. Kept with the order and never changed. */
export interface PackageLine {
  packageCode: string
  packageName: string
  count: number
  /** The price of one eSIM; for a day pass, the price of one day. */
  price: number
  /** Number of days of a day pass. */
  periodNum?: number
  /** The slugs that an RT API request used to identify the package. A repeat matches on them. */
  sentAs?: string[]
  /** The dealer did not send periodNum, so it is 1. Part of the content that a repeat is compared with. */
  periodNumDefaulted?: true
  /** The package's policy at the time of the order; absent if its eSIMs cannot be cancelled through the API. */
  cancelPolicy?: CancelPolicy
  /** The brand and the language (BCP 47) that its eSIMs are handed over in, where the order names them. */
  brand?: string
  language?: string
}

/** The price of one item of a line: for a day pass, `price` times its days. */
export function itemPriceOf({ price, periodNum }: Pick<PackageLine, 'price' | 'periodNum'>): bigint {
  return BigInt(price) * BigInt(periodNum ?? 1)
}

/** The allowance of one eSIM of a package, or what a top-up with the package adds: bytes (null: unlimited) and days. */
export function allowanceOf(
  { dataType, volume, duration }: Pick<CataloguePackage, 'dataType' | 'volume' | 'duration'>,
  periodNum: number | undefined,
): { volume: bigint | null; days: number } {
  const days = periodNum ?? duration
  return { volume: volume !== null && dataType === 'DAILY' ? volume * BigInt(days) : volume, days }
}

/** The members of a line that dealers see, in answers and events. */
export function publicLineOf({
  packageCode,
  packageName,
  count,
  price,
  periodNum,
}: PackageLine): Pick<OrderLine, 'packageCode' | 'packageName' | 'count' | 'price' | 'periodNum'> {
  return { packageCode, packageName, count, price, periodNum: periodNum ?? null }
}

/**
 * The line that an item belongs to: items are numbered consecutively from 1, in the order of the lines (placing/write.ts).
 */
export function lineOfItem(lines: readonly PackageLine[], itemNo: number): PackageLine {
  let last = 0
  for (const line of lines) {
    last += line.count
    if (itemNo <= last) return line
  }
  throw new Error(`an order of ${last} eSIMs has no item ${itemNo}`)
}

/** An item's name at its supplier: the same for every attempt, so that a supplier delivers the item only once. */
export function itemKeyOf(orderId: string, itemNo: number): string {
  return `${orderNoOf(orderId)}-${itemNo}`
}

/** @returns undefined if the text is not an item key */
export function parseItemKey(key: string): { orderId: string; itemNo: number } | undefined {
  const [, orderNo = '', itemNo = ''] = /^([0-9A-Z]{26})-(\d{1,3})$/.exec(key) ?? []
  const orderId = orderIdOf(orderNo)
  return orderId === undefined ? undefined : { orderId, itemNo: Number(itemNo) }
}
