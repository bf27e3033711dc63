import { Flag } from './flags/flag.tsx'
import { packageTitle, packageTitleText } from './package-title.ts'

/**
 * A package as people call it, with the flag of its country, a globe for a region and the flag of the EU for Europe.
 * @param location null: not known, so no flag
 */
export function PackageName({ name, location, more = 0 }: { name: string; location: string | null; more?: number }) {
  const title = packageTitleText(name) + (more > 0 ? ` + ${more}` : '')
  return (
    <span className="package-name" title={title} data-from-gateway>
      <PackageFlag name={name} location={location} />
      <span>{title}</span>
    </span>
  )
}

/** The flag of where a package works. */
export function PackageFlag({ name, location }: { name: string; location: string | null }) {
  if (location === null) return null
  return <Flag locationCode={location === '!RG' && packageTitle(name).parts[0] === 'Europe' ? 'EU' : location} />
}

/** The packages of an order: the first, and the number of others. */
export function PackageNames({ packages, location }: { packages: readonly string[]; location: string | null }) {
  return <PackageName name={packages[0] ?? '–'} location={location} more={packages.length - 1} />
}
