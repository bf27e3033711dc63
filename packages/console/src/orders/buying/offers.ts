import type { BuyablePackage } from '@dealer-esim/gateway/http/console/orders/buyable-packages.ts'

/** Packages by their data (columns) and days (rows), as people choose. */
export interface OfferGrid {
  columns: BuyablePackage[]
  rows: { first: BuyablePackage; cells: BuyablePackage[][] }[]
}

/** One column for each amount of data, one row for each duration: the cheapest package of a cell comes first. */
export function gridOf(offers: readonly BuyablePackage[]): OfferGrid {
  const columns = firstOfEach(offers, dataKey).sort(byData)
  const rows = firstOfEach(offers, daysKey).sort((left, right) => daysOrder(left) - daysOrder(right))
  return {
    columns,
    rows: rows.map((first) => ({
      first,
      cells: columns.map((column) =>
        offers
          .filter((one) => dataKey(one) === dataKey(column) && daysKey(one) === daysKey(first))
          .sort((left, right) => left.price - right.price),
      ),
    })),
  }
}

function firstOfEach(
  offers: readonly BuyablePackage[],
  keyOf: (one: BuyablePackage) => string | number,
): BuyablePackage[] {
  return [...new Map([...offers].reverse().map((one) => [keyOf(one), one])).values()]
}

const dataKey = ({ dataType, volume }: BuyablePackage) => `${dataType === 'DAILY'} ${volume}`
const daysKey = ({ duration, periodNumMin, periodNumMax }: BuyablePackage) =>
  periodNumMin === null ? duration : `${periodNumMin}-${periodNumMax}`
const daysOrder = ({ duration, periodNumMin }: BuyablePackage) => (periodNumMin === null ? duration : 0)

/** Volumes ascending, then those by the day, then unlimited data. */
function byData(left: BuyablePackage, right: BuyablePackage): number {
  return dataOrder(left) - dataOrder(right) || (left.volume ?? 0) - (right.volume ?? 0)
}

function dataOrder({ dataType, volume }: BuyablePackage): number {
  if (volume === null) return 2
  return dataType === 'DAILY' ? 1 : 0
}

export const OFFER_SORTS = ['data', 'days', 'price', 'margin'] as const
export type OfferSort = (typeof OFFER_SORTS)[number]

/** The dealer's profit at the recommended retail price; null without one. */
export function marginOf({ price, retailPrice }: BuyablePackage): number | null {
  return retailPrice === null ? null : retailPrice - price
}

/** Sorts the packages of one place. The highest margin comes first, of everything else the lowest. */
export function sortOffers(offers: readonly BuyablePackage[], by: OfferSort): BuyablePackage[] {
  const compare: Record<OfferSort, (left: BuyablePackage, right: BuyablePackage) => number> = {
    data: byData,
    days: (left, right) => daysOrder(left) - daysOrder(right),
    price: (left, right) => left.price - right.price,
    margin: (left, right) => (marginOf(right) ?? -1) - (marginOf(left) ?? -1),
  }
  return [...offers].sort((left, right) => compare[by](left, right) || left.price - right.price)
}

/** One line of a purchase: a package, how many, and the days of a day pass. */
export interface PurchaseLine {
  offer: BuyablePackage
  count: number
  days: number | undefined
}

export function amountOf({ offer, count, days }: PurchaseLine): number {
  return offer.price * count * (days ?? 1)
}

export function totalOf(lines: readonly PurchaseLine[]): number {
  return lines.reduce((sum, line) => sum + amountOf(line), 0)
}

export function esimsOf(lines: readonly PurchaseLine[]): number {
  return lines.reduce((sum, line) => sum + line.count, 0)
}

/** Adds a package, or removes it again: a second press of a price undoes the first. */
export function toggleOffer(lines: readonly PurchaseLine[], offer: BuyablePackage): PurchaseLine[] {
  const others = lines.filter((line) => line.offer.packageCode !== offer.packageCode)
  if (others.length < lines.length) return others
  return [...lines, { offer, count: 1, days: offer.periodNumMin ?? undefined }]
}
