import {
  formatTime,
  PAGE_SIZE_DEFAULT,
  type Package,
  type PackageListAnswer,
  type PackageListRequest,
  type PackageOnSale,
  type PackageType,
  parseTime,
} from '@dealer-esim/contract'
import { type CursorScope, createCursor, type Position, readCursor } from '@dealer-esim/lib/cursor.ts'
import type { Buyer, ListSource, Snapshot } from '../catalogue.ts'
import { COMMIT_WITHIN_MS } from '../catalogue-version.ts'
import { covers } from '../coverage.ts'
import type { Tariff } from '../prices/quote.ts'
import { pricedUntil, type Quote, quote, wideChangedAt } from '../prices/quote.ts'
import type { EsimToTopUp } from '../topup-fit.ts'
import type { PackageIndex } from './package-index.ts'
import type { CataloguePackage } from './snapshot-package.ts'

/**
 * Returns one page of `package/list`, newest first by (createTime, packageCode). This key never changes, so a package
 * edited between two pages neither moves nor disappears. A binary search finds the start of a page.
 *
 * @param esim list only the packages that fit this eSIM; without a supplier, the eSIMs of this package
 */
export function listPackages(
  catalogue: Pick<Snapshot, 'listSource'>,
  buyer: Buyer,
  request: PackageListRequest,
  esim?: FittedEsim,
): PackageListAnswer {
  const source = catalogue.listSource(buyer)
  const { index, tariff, now } = source
  const { cursor, pageSize, ...filters } = request
  // A set: the order of its countries does not matter to a cursor.
  const coversAll = filters.coversAll && [...new Set(filters.coversAll)].sort()
  const scope: CursorScope = { list: 'package/list', tenantId: buyer.tenantId, filters: { ...filters, coversAll } }
  const since = request.updatedSince == null ? undefined : parseTime(request.updatedSince).getTime()
  const show = since === undefined ? onlyOnSale(index, tariff, now) : onlyChanged(index, tariff, since, now, request)
  const size = pageSize ?? PAGE_SIZE_DEFAULT
  const end = cursor == null ? index.packages.length : before(source, readCursor(source.linkKey, scope, cursor))

  const packageList: Package[] = []
  let last: CataloguePackage | undefined
  let more = false
  const isCandidate = createPrefilter(source, request.type ?? 'BASE', since)
  for (const position of candidates(index, request, esim, end, isCandidate)) {
    const item = index.packages[position]!
    const shown = since === undefined && !isWanted(item, request) ? undefined : show(item)
    if (!shown) continue
    // One package more than fits on the page means that there is a next page.
    more = packageList.length === size
    if (more) break
    packageList.push(shown)
    last = item
  }
  const nextCursor = more && last ? createCursor(source.linkKey, scope, [last.createdAt, last.packageCode]) : null
  return { packageList, nextCursor, asOf: formatTime(new Date(asOf(source))) }
}

/**
 * Checks coversAll, volumeMin and durationMin. A package that the tenant can no longer buy is listed regardless of them,
 * because a dealer may have a copy from when it passed.
 */
function isWanted(item: CataloguePackage, { coversAll, volumeMin, durationMin }: PackageListRequest): boolean {
  if (coversAll != null && !coversAll.every((country) => covers(item.coverage, country))) return false
  if (volumeMin != null && item.volume !== null && item.volume < volumeMin) return false
  return durationMin == null || (item.periodNumMax ?? item.duration) >= durationMin
}

type FittedEsim = Pick<EsimToTopUp, 'packageCode'> & Partial<EsimToTopUp>

/** Counts the packages on all pages of `listPackages`. Stops at `max` + 1. */
export function countListed(
  catalogue: Pick<Snapshot, 'listSource'>,
  buyer: Buyer,
  request: Pick<PackageListRequest, 'locationCode' | 'keyword'>,
  max: number,
): number {
  const source = catalogue.listSource(buyer)
  const { index, tariff, now } = source
  const isCandidate = createPrefilter(source, 'BASE', undefined)
  let count = 0
  for (const position of candidates(index, request, undefined, index.packages.length, isCandidate)) {
    const item = index.packages[position]!
    if (item.onSale && quote(tariff, item, now).price !== undefined && ++count > max) break
  }
  return count
}

function before(source: ListSource, position: Position): number {
  const [createdAt, packageCode] = position as [number, string]
  return source.index.countOlder(createdAt, packageCode)
}

/**
 * The next `updatedSince`. The answer includes everything up to this version, and a later version has a later time. Without
 * changes it advances with the clock, so that pollers with an overlap do not receive the last change forever.
 */
function asOf({ changedAt, now }: ListSource): number {
  return Math.max(changedAt + 1, now - COMMIT_WITHIN_MS)
}

/** Excludes most packages by comparing a few numbers for each, before their prices are computed. */
function createPrefilter(
  source: ListSource,
  type: PackageType,
  since: number | undefined,
): (position: number) => boolean {
  const { priced, touchedAt, index, tariff, now } = source
  const { topUpFlags } = index
  const wantedFlag = type === 'TOPUP' ? 1 : 0
  const changedAfter = since === undefined || wideChangedAt(tariff, now) >= since ? Number.NEGATIVE_INFINITY : since
  const hasOwn = tariff.ownPrices.size > 0
  const withChangedTopUps = type === 'BASE' ? basesOfTopUps(source, changedAfter) : NO_POSITIONS
  return (position) =>
    topUpFlags[position] === wantedFlag &&
    (touchedAt[position]! >= changedAfter || withChangedTopUps.has(position)) &&
    (priced[position] === 1 || (hasOwn && tariff.ownPrices.has(index.packages[position]!.packageCode)))
}

const NO_POSITIONS: ReadonlySet<number> = new Set()

/** BASE packages with a changed top-up: they may have gained their first top-up or lost their last. */
function basesOfTopUps({ index, touchedAt }: ListSource, changedAfter: number): ReadonlySet<number> {
  if (changedAfter === Number.NEGATIVE_INFINITY) return NO_POSITIONS
  const bases = new Set<number>()
  const { topUpFlags } = index
  for (let position = 0; position < touchedAt.length; position++) {
    if (topUpFlags[position] === 0 || touchedAt[position]! < changedAfter) continue
    for (const base of index.basesOf(index.packages[position]!)) bases.add(base)
  }
  return bases
}

/** Positions below `end` that pass the filters and the prefilter, newest first. */
function* candidates(
  index: PackageIndex,
  request: PackageListRequest,
  esim: FittedEsim | undefined,
  end: number,
  isCandidate: (position: number) => boolean,
): Iterable<number> {
  const sets: (readonly number[])[] = []
  const single = (position: number | undefined) => sets.push(position === undefined ? [] : [position])
  if (esim) {
    const base = index.positionOf(esim.packageCode)
    sets.push(base === undefined ? [] : index.topUpsOf(index.packages[base]!, esim.supplier))
  }
  if (request.packageCode != null) single(index.positionOf(request.packageCode))
  if (request.slug != null) single(index.bySlug(request.slug))
  if (request.locationCode != null) sets.push(index.byLocation(request.locationCode))
  if (request.keyword != null) sets.push(index.byKeyword(request.keyword))
  const [shortest, ...others] = sets.sort((a, b) => a.length - b.length)
  if (!shortest) {
    for (let position = end - 1; position >= 0; position--) if (isCandidate(position)) yield position
    return
  }
  for (let at = firstFrom(shortest, end) - 1; at >= 0; at--) {
    const position = shortest[at]!
    if (isCandidate(position) && others.every((set) => set[firstFrom(set, position)] === position)) yield position
  }
}

/** Index of the first entry that is not below `bound`, in an ascending list. */
function firstFrom(rising: readonly number[], bound: number): number {
  let low = 0
  let high = rising.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (rising[middle]! < bound) low = middle + 1
    else high = middle
  }
  return low
}

type Show = (item: CataloguePackage) => Package | undefined

/** The packages that this tenant may buy now. */
function onlyOnSale(index: PackageIndex, tariff: Tariff, now: number): Show {
  return (item) => {
    const quoted = item.onSale ? quote(tariff, item, now) : undefined
    if (quoted?.price === undefined) return undefined
    return onSale(tariff, item, quoted, quoted.price, topUpsOf(index, tariff, item, now))
  }
}

/** The packages that changed for this tenant since a time, including those it can no longer buy. */
function onlyChanged(
  index: PackageIndex,
  tariff: Tariff,
  since: number,
  now: number,
  request: PackageListRequest,
): Show {
  return (item) => {
    const quoted = quote(tariff, item, now)
    if (item.onSale && quoted.price !== undefined) {
      if (!isWanted(item, request)) return undefined
      const topUps = topUpsOf(index, tariff, item, now)
      const changed = Math.max(item.updatedAt, quoted.changedAt, topUps.changedAt) >= since
      return changed ? onSale(tariff, item, quoted, quoted.price, topUps) : undefined
    }
    const left = leftAt(tariff, item, quoted)
    return left === undefined || left < since ? undefined : offSale(item, left)
  }
}

interface TopUps {
  /** The tenant can currently buy one of them. */
  readonly isSupported: boolean
  /** When one of them last changed for the tenant (ms). */
  readonly changedAt: number
}

/** The TOPUP packages that fit eSIMs of this package. A TOPUP package has none. */
function topUpsOf(index: PackageIndex, tariff: Tariff, item: CataloguePackage, now: number): TopUps {
  let isSupported = false
  let changedAt = 0
  if (item.packageType === 'TOPUP') return { isSupported, changedAt }
  for (const position of index.topUpsOf(item)) {
    const topUp = index.packages[position]!
    const quoted = quote(tariff, topUp, now)
    if (topUp.onSale && quoted.price !== undefined) isSupported = true
    changedAt = Math.max(changedAt, topUp.updatedAt, quoted.changedAt)
  }
  return { isSupported, changedAt }
}

/** The time from which the tenant could no longer buy the package; undefined if it never could. */
function leftAt(tariff: Tariff, item: CataloguePackage, quoted: Quote): number | undefined {
  if (!item.everOnSale) return undefined
  const onSale = { from: item.firstOnSaleAt, until: item.onSale ? Number.POSITIVE_INFINITY : item.saleChangedAt }
  const until = pricedUntil(tariff, item, quoted, onSale)
  if (until === undefined) return undefined
  return Math.max(item.onSale ? 0 : item.saleChangedAt, quoted.price === undefined ? until : 0)
}

function offSale(item: CataloguePackage, left: number): Package {
  return { packageCode: item.packageCode, status: 'OFF_SALE', lastUpdateTime: formatTime(new Date(left)) }
}

function onSale(tariff: Tariff, item: CataloguePackage, quoted: Quote, price: bigint, topUps: TopUps): PackageOnSale {
  return {
    packageCode: item.packageCode,
    slug: item.slug,
    packageType: item.packageType,
    name: item.name,
    description: item.description,
    price: Number(price),
    retailPrice: quoted.retailPrice === null ? null : Number(quoted.retailPrice),
    currencyCode: tariff.currencyCode,
    dataType: item.dataType,
    volume: item.volume === null ? null : Number(item.volume),
    duration: item.duration,
    durationUnit: item.durationUnit,
    periodNumMin: item.periodNumMin,
    periodNumMax: item.periodNumMax,
    unusedValidTime: item.unusedValidTime,
    activationPolicy: item.activationPolicy,
    ekycRequired: item.ekycRequired,
    locationCodes: item.coverage.locationCodes as string[],
    locationNetworkList: item.coverage.networks as PackageOnSale['locationNetworkList'],
    speed: item.speed,
    fupPolicy: item.fupPolicy,
    smsStatus: item.smsStatus,
    topUpSupported: topUps.isSupported,
    cancelPolicy: item.cancelPolicy,
    status: 'ON_SALE',
    lastUpdateTime: formatTime(new Date(Math.max(item.updatedAt, quoted.changedAt, topUps.changedAt))),
  }
}
