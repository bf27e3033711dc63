import { GLOBAL, REGIONAL } from '@dealer-esim/contract'
import { type Coverage, EVERYWHERE, matchesWords, searchTextOf, splitKeyword } from '../coverage.ts'
import type { Plan, PlanRuleRow } from '../prices/plan-rules.ts'
import type { OwnPrice } from '../prices/quote.ts'
import { fitKey, fitKeys, hasSameFit } from '../topup-fit.ts'
import type { CataloguePackage } from './snapshot-package.ts'

/**
 * All packages, oldest first by (createdAt, packageCode), with lookups by slug, location and keyword. The position in that
 * order identifies a package; new packages are appended, so positions stay valid. Lists run backwards, newest first. An
 * index is immutable; lookups are built when first used.
 */
export class PackageIndex {
  readonly packages: readonly CataloguePackage[]
  /** Identifies the positions: later indexes share this object while no position changes. */
  readonly order: object
  readonly #positions: ReadonlyMap<string, number>
  readonly #lookups: Lookups

  private constructor(
    packages: readonly CataloguePackage[],
    positions: ReadonlyMap<string, number>,
    order: object,
    lookups: Lookups,
  ) {
    this.packages = packages
    this.#positions = positions
    this.order = order
    this.#lookups = lookups
  }

  static readonly empty = new PackageIndex([], new Map(), {}, {})

  /** Adds these packages, or replaces those with the same code. */
  with(changed: readonly CataloguePackage[]): PackageIndex {
    if (changed.length === 0) return this
    const packages = this.packages.slice()
    const added: CataloguePackage[] = []
    let lookupsChanged = false
    for (const item of changed) {
      const position = this.#positions.get(item.packageCode)
      if (position === undefined) added.push(item)
      else {
        lookupsChanged ||= !hasSameLookups(packages[position]!, item)
        packages[position] = item
      }
    }
    if (added.length === 0)
      return new PackageIndex(packages, this.#positions, this.order, lookupsChanged ? {} : this.#lookups)
    added.sort(oldestFirst)
    const last = packages.at(-1)
    if (last && oldestFirst(added[0]!, last) < 0) return PackageIndex.#of([...packages, ...added])
    const positions = new Map(this.#positions)
    for (const item of added) positions.set(item.packageCode, packages.push(item) - 1)
    return new PackageIndex(packages, positions, this.order, {})
  }

  /** Sorts all packages. Needed for packages older than known ones, which appear only if the database's clock was set back. */
  static #of(packages: CataloguePackage[]): PackageIndex {
    packages.sort(oldestFirst)
    return new PackageIndex(packages, new Map(packages.map((item, at) => [item.packageCode, at])), {}, {})
  }

  positionOf(packageCode: string): number | undefined {
    return this.#positions.get(packageCode)
  }

  bySlug(slug: string): number | undefined {
    this.#lookups.slugs ??= new Map(this.packages.map((item, position) => [item.slug, position]))
    return this.#lookups.slugs.get(slug)
  }

  /** Packages that work in a country or are regional (!RG) or global (!GL); see coverage.ts. */
  byLocation(locationCode: string): readonly number[] {
    this.#lookups.locations ??= indexLocations(this.packages)
    const named = this.#lookups.locations.get(locationCode) ?? []
    const everywhere = this.#lookups.locations.get(EVERYWHERE)
    if (!everywhere || locationCode === REGIONAL || locationCode === GLOBAL) return named
    return [...named, ...everywhere].sort((a, b) => a - b)
  }

  /** By position: 1 if the package is a TOPUP. */
  get topUpFlags(): Uint8Array {
    this.#lookups.topUpFlags ??= Uint8Array.from(this.packages, (item) => (item.packageType === 'TOPUP' ? 1 : 0))
    return this.#lookups.topUpFlags
  }

  /** TOPUP packages that fit a BASE package's eSIMs: those from one supplier, or from any of its suppliers. */
  topUpsOf(base: CataloguePackage, supplier?: string): readonly number[] {
    const keys = supplier === undefined ? fitKeys(base) : [fitKey(base, supplier)]
    return this.#related(keys, 'topUps')
  }

  /** BASE packages that a TOPUP package fits. */
  basesOf(topUp: CataloguePackage): readonly number[] {
    return this.#related(fitKeys(topUp), 'bases')
  }

  #related(keys: readonly string[], side: keyof Related): readonly number[] {
    this.#lookups.related ??= indexRelated(this.packages)
    const lists = keys.flatMap((key) => this.#lookups.related!.get(key)?.[side] ?? [])
    return keys.length > 1 ? [...new Set(lists)].sort((a, b) => a - b) : lists
  }

  /** Packages that match all words of the keyword. Cached, because the result is the same for every tenant. */
  byKeyword(keyword: string): readonly number[] {
    const words = splitKeyword(keyword)
    const key = words.join(' ')
    this.#lookups.keywords ??= new Map()
    const known = this.#lookups.keywords.get(key)
    if (known) return known
    const found = this.#search(words)
    if (this.#lookups.keywords.size >= KEYWORDS_CACHED) {
      this.#lookups.keywords.delete(this.#lookups.keywords.keys().next().value!)
    }
    this.#lookups.keywords.set(key, found)
    return found
  }

  #search(words: readonly string[]): number[] {
    this.#lookups.texts ??= this.packages.map(searchTextOf)
    const { texts } = this.#lookups
    const found: number[] = []
    // Coverages contain most of the text and are shared by many packages: each is searched once.
    const missingWords = new Map<Coverage, readonly string[]>()
    this.packages.forEach(({ coverage }, position) => {
      let rest = missingWords.get(coverage)
      if (!rest) {
        rest = words.filter((word) => !matchesWords('', coverage, [word]))
        missingWords.set(coverage, rest)
      }
      if (rest.every((word) => texts[position]!.includes(word))) found.push(position)
    })
    return found
  }

  /** Counts the packages before this sort key. */
  countOlder(createdAt: number, packageCode: string): number {
    const key = { createdAt, packageCode }
    let low = 0
    let high = this.packages.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (oldestFirst(this.packages[middle]!, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Built when first used. The next version reuses them if their sources are unchanged. */
interface Lookups {
  slugs?: Map<string, number>
  locations?: Map<string, number[]>
  topUpFlags?: Uint8Array
  related?: Map<string, Related>
  texts?: string[]
  keywords?: Map<string, readonly number[]>
}

/** A keyword that matches all of 50 000 packages takes 400 kB. */
const KEYWORDS_CACHED = 50

function hasSameLookups(a: CataloguePackage, b: CataloguePackage): boolean {
  return a.slug === b.slug && a.name === b.name && a.coverage === b.coverage && hasSameFit(a, b)
}

type SortKey = Pick<CataloguePackage, 'createdAt' | 'packageCode'>

function oldestFirst(a: SortKey, b: SortKey): number {
  return a.createdAt - b.createdAt || (a.packageCode < b.packageCode ? -1 : a.packageCode > b.packageCode ? 1 : 0)
}

function indexLocations(packages: readonly CataloguePackage[]): Map<string, number[]> {
  const places = new Map<string, number[]>()
  packages.forEach((item, position) => {
    for (const place of item.coverage.locations) {
      const list = places.get(place)
      if (list) list.push(position)
      else places.set(place, [position])
    }
  })
  return places
}

/** Positions of packages with one fitKey. */
interface Related {
  readonly bases: number[]
  readonly topUps: number[]
}

function indexRelated(packages: readonly CataloguePackage[]): Map<string, Related> {
  const index = new Map<string, Related>()
  packages.forEach((item, position) => {
    for (const key of fitKeys(item)) {
      const related = index.get(key) ?? { bases: [], topUps: [] }
      index.set(key, related)
      related[item.packageType === 'TOPUP' ? 'topUps' : 'bases'].push(position)
    }
  })
  return index
}

/** The parts of a snapshot from which a prefilter is computed. */
export interface PriceSources {
  readonly index: PackageIndex
  readonly plans: ReadonlyMap<string, Plan>
  readonly ownPrices: ReadonlyMap<string, ReadonlyMap<string, OwnPrice>>
}

/** Rows that changed since the previous version. */
interface NewRows {
  readonly packages: readonly CataloguePackage[]
  readonly planRules: readonly PlanRuleRow[]
  readonly ownPrices: readonly { readonly packageCode: string; readonly updatedAt: number }[]
}

/**
 * One or two numbers per package, with which lists can skip it without computing its price: reading 50 000 objects takes 60
 * ms, reading 50 000 adjacent numbers 0.1 ms. Updated from version to version.
 */
export class Prefilter {
  /** By position: when the package or its price for any tenant last changed (ms). */
  readonly touchedAt: Float64Array
  readonly #sources: PriceSources
  readonly #priced: Map<string, Uint8Array>

  private constructor(sources: PriceSources, touchedAt: Float64Array, priced: Map<string, Uint8Array>) {
    this.#sources = sources
    this.touchedAt = touchedAt
    this.#priced = priced
  }

  static from(sources: PriceSources): Prefilter {
    const { index, plans, ownPrices } = sources
    const prefilter = new Prefilter(sources, new Float64Array(index.packages.length), new Map())
    for (const item of index.packages) prefilter.#addPackage(item)
    for (const plan of plans.values())
      for (const { target, updatedAt } of plan.packageRules()) prefilter.#touch(target, updatedAt)
    for (const prices of ownPrices.values()) for (const [code, own] of prices) prefilter.#touch(code, own.updatedAt)
    return prefilter
  }

  with(sources: PriceSources, rows: NewRows): Prefilter {
    if (sources.index.order !== this.#sources.index.order) return Prefilter.from(sources)
    const size = sources.index.packages.length
    const touchedAt = new Float64Array(size)
    touchedAt.set(this.touchedAt)
    const priced = new Map(
      [...this.#priced].map(([currencyCode, before]) => {
        const flags = new Uint8Array(size)
        flags.set(before)
        return [currencyCode, flags]
      }),
    )
    const prefilter = new Prefilter(sources, touchedAt, priced)
    for (const item of rows.packages) prefilter.#addPackage(item)
    for (const rule of rows.planRules) prefilter.#addRule(rule)
    for (const own of rows.ownPrices) prefilter.#touch(own.packageCode, own.updatedAt)
    for (const [currencyCode, flags] of priced) if (prefilter.#allPriced(currencyCode)) flags.fill(1)
    return prefilter
  }

  /**
   * By position: 1 if the list or a plan has, or had, a price in the currency. Own prices are checked for each tenant.
   * Takes one array in memory per tenant currency.
   */
  pricedIn(currencyCode: string): Uint8Array {
    const known = this.#priced.get(currencyCode)
    if (known) return known
    const { packages } = this.#sources.index
    const flags = new Uint8Array(packages.length)
    packages.forEach((item, position) => {
      if (item.prices.some((price) => price.currencyCode === currencyCode)) flags[position] = 1
    })
    for (const plan of this.#sources.plans.values()) {
      for (const code of plan.fixedPrices(currencyCode)) this.#flag(flags, code)
    }
    if (this.#allPriced(currencyCode)) flags.fill(1)
    this.#priced.set(currencyCode, flags)
    return flags
  }

  #addPackage(item: CataloguePackage): void {
    // For tenants whose plan is based on costs, a change in costs changes the price.
    this.#touch(item.packageCode, item.touchedAt)
    for (const { updatedAt, currencyCode } of item.prices) {
      this.#touch(item.packageCode, updatedAt)
      this.#flag(this.#priced.get(currencyCode), item.packageCode)
    }
  }

  #addRule({ scope, target, currencyCode, updatedAt }: PlanRuleRow): void {
    if (scope !== 'PACKAGE') return
    this.#touch(target, updatedAt)
    this.#flag(this.#priced.get(currencyCode), target)
  }

  /** @returns whether some plan has a fixed price for every package. */
  #allPriced(currencyCode: string): boolean {
    return [...this.#sources.plans.values()].some((plan) => plan.hasFixedPriceForAll(currencyCode))
  }

  #flag(flags: Uint8Array | undefined, packageCode: string): void {
    const position = this.#sources.index.positionOf(packageCode)
    if (flags && position !== undefined) flags[position] = 1
  }

  #touch(packageCode: string, time: number): void {
    const position = this.#sources.index.positionOf(packageCode)
    if (position !== undefined && time > this.touchedAt[position]!) this.touchedAt[position] = time
  }
}
