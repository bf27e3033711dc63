import { GLOBAL, REGIONAL } from '@dealer-esim/contract'
import { type Coverage, EVERYWHERE, matchesWords, searchTextOf, splitKeyword } from '../coverage.ts'
import type { CataloguePackage } from './package.ts'

/**
 * All packages, oldest first by (createdAt, packageCode), with lookups by slug, location and keyword. The position in that
 * order identifies a package; new packages are appended, so positions stay valid. Lists run backwards, newest first. An
 * index is immutable; lookups are built when first used.
 */
export class PackageIndex {
  readonly packages: readonly CataloguePackage[]
  /** The same object as in earlier indexes as long as positions are the same. */
  readonly order: object
  private readonly positions: ReadonlyMap<string, number>
  private readonly lookups: Lookups

  private constructor(
    packages: readonly CataloguePackage[],
    positions: ReadonlyMap<string, number>,
    order: object,
    lookups: Lookups,
  ) {
    this.packages = packages
    this.positions = positions
    this.order = order
    this.lookups = lookups
  }

  static readonly empty = new PackageIndex([], new Map(), {}, {})

  /** Adds these packages, or replaces those with the same code. */
  with(changed: readonly CataloguePackage[]): PackageIndex {
    if (changed.length === 0) return this
    const packages = this.packages.slice()
    const added: CataloguePackage[] = []
    let lookupsChanged = false
    for (const item of changed) {
      const position = this.positions.get(item.packageCode)
      if (position === undefined) added.push(item)
      else {
        lookupsChanged ||= !hasSameLookups(packages[position]!, item)
        packages[position] = item
      }
    }
    if (added.length === 0)
      return new PackageIndex(packages, this.positions, this.order, lookupsChanged ? {} : this.lookups)
    added.sort(oldestFirst)
    const last = packages.at(-1)
    if (last && oldestFirst(added[0]!, last) < 0) return PackageIndex.of([...packages, ...added])
    const positions = new Map(this.positions)
    for (const item of added) positions.set(item.packageCode, packages.push(item) - 1)
    return new PackageIndex(packages, positions, this.order, {})
  }

  /** For packages older than known ones, which appear only if the database's clock was set back. */
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

  /** Packages that work in a country or are regional (!RG) or global (!GL); see coverage.ts. */
  byLocation(locationCode: string): readonly number[] {
    this.lookups.locations ??= indexLocations(this.packages)
    const named = this.lookups.locations.get(locationCode) ?? []
    const everywhere = this.lookups.locations.get(EVERYWHERE)
    if (!everywhere || locationCode === REGIONAL || locationCode === GLOBAL) return named
    return [...named, ...everywhere].sort((a, b) => a - b)
  }

  /** Packages that match all words of the keyword. The result is the same for every tenant, so it is cached. */
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
    // Coverages have most of the text and are shared by many packages: each is searched once.
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

/** Built when first used. The next version reuses them if slugs, names and coverages are unchanged. */
interface Lookups {
  slugs?: Map<string, number>
  locations?: Map<string, number[]>
  texts?: string[]
  keywords?: Map<string, readonly number[]>
}

/** A keyword that matches all of 50 000 packages takes 400 kB. */
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
