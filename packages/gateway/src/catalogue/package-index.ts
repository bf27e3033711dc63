import { GLOBAL, REGIONAL } from '@dealer-esim/contract'
import { EVERYWHERE, mentions, wordsOf } from './coverage.ts'
import type { CataloguePackage } from './package.ts'

/**
 * All packages in the order in which lists show them, newest first by (createdAt, packageCode), and the ways to find
 * some of them. Positions in that order stand for packages everywhere. An index never changes; ways that are not used
 * are not built.
 */
export class PackageIndex {
  readonly packages: readonly CataloguePackage[]
  private readonly positions: ReadonlyMap<string, number>
  private slugs: Map<string, number> | undefined
  private places: Map<string, number[]> | undefined
  /** Of the latest keywords; the answer is the same for every tenant. */
  private readonly keywords = new Map<string, readonly number[]>()

  private constructor(packages: readonly CataloguePackage[], positions: ReadonlyMap<string, number>) {
    this.packages = packages
    this.positions = positions
  }

  static readonly empty = new PackageIndex([], new Map())

  /** With these packages added, or in the place of those with the same code. */
  with(changed: readonly CataloguePackage[]): PackageIndex {
    if (changed.length === 0) return this
    const packages = this.packages.slice()
    let grown = false
    for (const item of changed) {
      const position = this.positions.get(item.packageCode)
      if (position !== undefined) packages[position] = item
      else grown = packages.push(item) > 0
    }
    // createdAt and code never change, so only new packages move others.
    if (!grown) return new PackageIndex(packages, this.positions)
    packages.sort(newestFirst)
    return new PackageIndex(packages, new Map(packages.map((item, position) => [item.packageCode, position])))
  }

  positionOf(packageCode: string): number | undefined {
    return this.positions.get(packageCode)
  }

  bySlug(slug: string): number | undefined {
    this.slugs ??= new Map(this.packages.map((item, position) => [item.slug, position]))
    return this.slugs.get(slug)
  }

  /** What works in a country, or is of a kind: !RG, !GL (coverage.ts). */
  inPlace(locationCode: string): readonly number[] {
    this.places ??= indexPlaces(this.packages)
    const named = this.places.get(locationCode) ?? []
    const everywhere = this.places.get(EVERYWHERE)
    if (!everywhere || locationCode === REGIONAL || locationCode === GLOBAL) return named
    return [...named, ...everywhere].sort((a, b) => a - b)
  }

  matching(keyword: string): readonly number[] {
    const words = wordsOf(keyword)
    const key = words.join(' ')
    const known = this.keywords.get(key)
    if (known) return known
    const found: number[] = []
    this.packages.forEach((item, position) => {
      if (mentions(item, item.coverage, words)) found.push(position)
    })
    if (this.keywords.size >= KEYWORDS_KEPT) this.keywords.delete(this.keywords.keys().next().value!)
    this.keywords.set(key, found)
    return found
  }

  /** The first position after a sort key, whether or not a package has it. */
  after(createdAt: number, packageCode: string): number {
    const key = { createdAt, packageCode }
    let low = 0
    let high = this.packages.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (newestFirst(this.packages[middle]!, key) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** A keyword that matches everything costs 400 kB at 50 000 packages. */
const KEYWORDS_KEPT = 50

type SortKey = Pick<CataloguePackage, 'createdAt' | 'packageCode'>

function newestFirst(a: SortKey, b: SortKey): number {
  return b.createdAt - a.createdAt || (a.packageCode > b.packageCode ? -1 : a.packageCode < b.packageCode ? 1 : 0)
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
