import { GLOBAL, REGIONAL } from '@dealer-esim/contract'
import { type Coverage, EVERYWHERE, mentions, ownText, wordsOf } from '../coverage.ts'
import type { OwnPrice, Plan, PlanRuleRow } from '../pricing/tariff.ts'
import type { CataloguePackage } from './package.ts'

/**
 * All packages, oldest first by (createdAt, packageCode), and the ways to find some of them. Positions in that order
 * stand for packages everywhere; new packages come last, so positions stay. Lists go backwards: newest first. An index
 * never changes; ways that are not used are not built.
 */
export class PackageIndex {
  readonly packages: readonly CataloguePackage[]
  /** The same as that of an index before as long as positions are the same. */
  readonly order: object
  private readonly positions: ReadonlyMap<string, number>
  private readonly ways: Ways

  private constructor(
    packages: readonly CataloguePackage[],
    positions: ReadonlyMap<string, number>,
    order: object,
    ways: Ways,
  ) {
    this.packages = packages
    this.positions = positions
    this.order = order
    this.ways = ways
  }

  static readonly empty = new PackageIndex([], new Map(), {}, {})

  /** With these packages added, or in the place of those with the same code. */
  with(changed: readonly CataloguePackage[]): PackageIndex {
    if (changed.length === 0) return this
    const packages = this.packages.slice()
    const newcomers: CataloguePackage[] = []
    let refound = false
    for (const item of changed) {
      const position = this.positions.get(item.packageCode)
      if (position === undefined) newcomers.push(item)
      else {
        refound ||= !foundAlike(packages[position]!, item)
        packages[position] = item
      }
    }
    if (newcomers.length === 0) return new PackageIndex(packages, this.positions, this.order, refound ? {} : this.ways)
    newcomers.sort(oldestFirst)
    const last = packages.at(-1)
    if (last && oldestFirst(newcomers[0]!, last) < 0) return PackageIndex.of([...packages, ...newcomers])
    const positions = new Map(this.positions)
    for (const item of newcomers) positions.set(item.packageCode, packages.push(item) - 1)
    return new PackageIndex(packages, positions, this.order, {})
  }

  /** Only a database that was set back has packages older than those that we know. */
  private static of(packages: CataloguePackage[]): PackageIndex {
    packages.sort(oldestFirst)
    return new PackageIndex(packages, new Map(packages.map((item, at) => [item.packageCode, at])), {}, {})
  }

  positionOf(packageCode: string): number | undefined {
    return this.positions.get(packageCode)
  }

  bySlug(slug: string): number | undefined {
    this.ways.slugs ??= new Map(this.packages.map((item, position) => [item.slug, position]))
    return this.ways.slugs.get(slug)
  }

  /** What works in a country, or is of a kind: !RG, !GL (coverage.ts). */
  inPlace(locationCode: string): readonly number[] {
    this.ways.places ??= indexPlaces(this.packages)
    const named = this.ways.places.get(locationCode) ?? []
    const everywhere = this.ways.places.get(EVERYWHERE)
    if (!everywhere || locationCode === REGIONAL || locationCode === GLOBAL) return named
    return [...named, ...everywhere].sort((a, b) => a - b)
  }

  /** What all words of the keyword find. The answer is the same for every tenant, so it is kept for a while. */
  matching(keyword: string): readonly number[] {
    const words = wordsOf(keyword)
    const key = words.join(' ')
    this.ways.keywords ??= new Map()
    const known = this.ways.keywords.get(key)
    if (known) return known
    const found = this.search(words)
    if (this.ways.keywords.size >= KEYWORDS_KEPT) {
      this.ways.keywords.delete(this.ways.keywords.keys().next().value!)
    }
    this.ways.keywords.set(key, found)
    return found
  }

  private search(words: readonly string[]): number[] {
    this.ways.texts ??= this.packages.map(ownText)
    const { texts } = this.ways
    const found: number[] = []
    // Places hold most of the text and are shared by many packages: each is searched once.
    const unsaid = new Map<Coverage, readonly string[]>()
    this.packages.forEach(({ coverage }, position) => {
      let rest = unsaid.get(coverage)
      if (!rest) {
        rest = words.filter((word) => !mentions('', coverage, [word]))
        unsaid.set(coverage, rest)
      }
      if (rest.every((word) => texts[position]!.includes(word))) found.push(position)
    })
    return found
  }

  /** How many packages are older than this sort key, whether or not a package has it. */
  olderThan(createdAt: number, packageCode: string): number {
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

/** Built when first needed, and handed on to the next version while what they are made from stays. */
interface Ways {
  slugs?: Map<string, number>
  places?: Map<string, number[]>
  texts?: string[]
  keywords?: Map<string, readonly number[]>
}

/** A keyword that matches everything costs 400 kB at 50 000 packages. */
const KEYWORDS_KEPT = 50

function foundAlike(a: CataloguePackage, b: CataloguePackage): boolean {
  return a.slug === b.slug && a.name === b.name && a.coverage === b.coverage
}

type SortKey = Pick<CataloguePackage, 'createdAt' | 'packageCode'>

function oldestFirst(a: SortKey, b: SortKey): number {
  return a.createdAt - b.createdAt || (a.packageCode < b.packageCode ? -1 : a.packageCode > b.packageCode ? 1 : 0)
}

function indexPlaces(packages: readonly CataloguePackage[]): Map<string, number[]> {
  const places = new Map<string, number[]>()
  packages.forEach((item, position) => {
    for (const place of item.coverage.places) {
      const list = places.get(place)
      if (list) list.push(position)
      else places.set(place, [position])
    }
  })
  return places
}

/** What a quick look is taken at. */
export interface PriceSources {
  readonly index: PackageIndex
  readonly plans: ReadonlyMap<string, Plan>
  readonly ownPrices: ReadonlyMap<string, ReadonlyMap<string, OwnPrice>>
}

/** Rows that are new since the look before. */
interface NewRows {
  readonly packages: readonly CataloguePackage[]
  readonly planRules: readonly PlanRuleRow[]
  readonly ownPrices: readonly { readonly packageCode: string; readonly updatedAt: number }[]
}

/**
 * A number or two per package by which lists pass over it, instead of working out its price: reading 50 000 objects
 * takes 60 ms, 50 000 numbers in a row a tenth of one. Carried from version to version.
 */
export class QuickLook {
  /** By position: when anything about the package, its prices for anybody included, last changed (ms). */
  readonly touchedAt: Float64Array
  private readonly sources: PriceSources
  private readonly priced: Map<string, Uint8Array>

  private constructor(sources: PriceSources, touchedAt: Float64Array, priced: Map<string, Uint8Array>) {
    this.sources = sources
    this.touchedAt = touchedAt
    this.priced = priced
  }

  static at(sources: PriceSources): QuickLook {
    const { index, plans, ownPrices } = sources
    const look = new QuickLook(sources, new Float64Array(index.packages.length), new Map())
    for (const item of index.packages) look.seePackage(item)
    for (const plan of plans.values()) for (const [code, time] of plan.touches()) look.touch(code, time)
    for (const prices of ownPrices.values()) for (const [code, own] of prices) look.touch(code, own.updatedAt)
    return look
  }

  with(sources: PriceSources, rows: NewRows): QuickLook {
    if (sources.index.order !== this.sources.index.order) return QuickLook.at(sources)
    const size = sources.index.packages.length
    const touchedAt = new Float64Array(size)
    touchedAt.set(this.touchedAt)
    const priced = new Map(
      [...this.priced].map(([currencyCode, before]) => {
        const flags = new Uint8Array(size)
        flags.set(before)
        return [currencyCode, flags]
      }),
    )
    const look = new QuickLook(sources, touchedAt, priced)
    for (const item of rows.packages) look.seePackage(item)
    for (const rule of rows.planRules) look.seeRule(rule)
    for (const own of rows.ownPrices) look.touch(own.packageCode, own.updatedAt)
    for (const [currencyCode, flags] of priced) if (look.allPriced(currencyCode)) flags.fill(1)
    return look
  }

  /**
   * By position: 1 where the list or a plan has, or had, a price in the currency. Own prices are each tenant's matter.
   * As many are kept as tenants have currencies.
   */
  pricedIn(currencyCode: string): Uint8Array {
    const known = this.priced.get(currencyCode)
    if (known) return known
    const { packages } = this.sources.index
    const flags = new Uint8Array(packages.length)
    packages.forEach((item, position) => {
      if (item.prices.some((price) => price.currencyCode === currencyCode)) flags[position] = 1
    })
    for (const plan of this.sources.plans.values()) {
      for (const code of plan.fixedPrices(currencyCode)) this.flag(flags, code)
    }
    if (this.allPriced(currencyCode)) flags.fill(1)
    this.priced.set(currencyCode, flags)
    return flags
  }

  private seePackage(item: CataloguePackage): void {
    this.touch(item.packageCode, item.updatedAt)
    for (const { updatedAt, currencyCode } of item.prices) {
      this.touch(item.packageCode, updatedAt)
      this.flag(this.priced.get(currencyCode), item.packageCode)
    }
  }

  private seeRule({ packageCode, currencyCode, updatedAt }: PlanRuleRow): void {
    this.touch(packageCode, updatedAt)
    this.flag(this.priced.get(currencyCode), packageCode)
  }

  /** Some plan has a fixed price for every package. */
  private allPriced(currencyCode: string): boolean {
    return [...this.sources.plans.values()].some((plan) => plan.hasRule('', currencyCode))
  }

  private flag(flags: Uint8Array | undefined, packageCode: string): void {
    const position = this.sources.index.positionOf(packageCode)
    if (flags && position !== undefined) flags[position] = 1
  }

  private touch(packageCode: string, time: number): void {
    const position = this.sources.index.positionOf(packageCode)
    if (position !== undefined && time > this.touchedAt[position]!) this.touchedAt[position] = time
  }
}
