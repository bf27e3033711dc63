import { GLOBAL, REGIONAL } from '@dealer-esim/contract'
import { type Coverage, EVERYWHERE, matchesWords, searchTextOf, splitKeyword } from '../coverage.ts'
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
  private readonly lookups: Lookups

  private constructor(
    packages: readonly CataloguePackage[],
    positions: ReadonlyMap<string, number>,
    order: object,
    ways: Lookups,
  ) {
    this.packages = packages
    this.positions = positions
    this.order = order
    this.lookups = ways
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
        refound ||= !hasSameLookups(packages[position]!, item)
        packages[position] = item
      }
    }
    if (newcomers.length === 0)
      return new PackageIndex(packages, this.positions, this.order, refound ? {} : this.lookups)
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
    this.lookups.slugs ??= new Map(this.packages.map((item, position) => [item.slug, position]))
    return this.lookups.slugs.get(slug)
  }

  /** What works in a country, or is of a kind: !RG, !GL (coverage.ts). */
  byLocation(locationCode: string): readonly number[] {
    this.lookups.locations ??= indexLocations(this.packages)
    const named = this.lookups.locations.get(locationCode) ?? []
    const everywhere = this.lookups.locations.get(EVERYWHERE)
    if (!everywhere || locationCode === REGIONAL || locationCode === GLOBAL) return named
    return [...named, ...everywhere].sort((a, b) => a - b)
  }

  /** What all words of the keyword find. The answer is the same for every tenant, so it is kept for a while. */
  byKeyword(keyword: string): readonly number[] {
    const words = splitKeyword(keyword)
    const key = words.join(' ')
    this.lookups.keywords ??= new Map()
    const known = this.lookups.keywords.get(key)
    if (known) return known
    const found = this.search(words)
    if (this.lookups.keywords.size >= KEYWORDS_CACHED) {
      this.lookups.keywords.delete(this.lookups.keywords.keys().next().value!)
    }
    this.lookups.keywords.set(key, found)
    return found
  }

  private search(words: readonly string[]): number[] {
    this.lookups.texts ??= this.packages.map(searchTextOf)
    const { texts } = this.lookups
    const found: number[] = []
    // Places hold most of the text and are shared by many packages: each is searched once.
    const unsaid = new Map<Coverage, readonly string[]>()
    this.packages.forEach(({ coverage }, position) => {
      let rest = unsaid.get(coverage)
      if (!rest) {
        rest = words.filter((word) => !matchesWords('', coverage, [word]))
        unsaid.set(coverage, rest)
      }
      if (rest.every((word) => texts[position]!.includes(word))) found.push(position)
    })
    return found
  }

  /** How many packages are older than this sort key, whether or not a package has it. */
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

/** Built when first needed, and handed on to the next version while what they are made from stays. */
interface Lookups {
  slugs?: Map<string, number>
  locations?: Map<string, number[]>
  texts?: string[]
  keywords?: Map<string, readonly number[]>
}

/** A keyword that matches everything costs 400 kB at 50 000 packages. */
const KEYWORDS_CACHED = 50

function hasSameLookups(a: CataloguePackage, b: CataloguePackage): boolean {
  return a.slug === b.slug && a.name === b.name && a.coverage === b.coverage
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
