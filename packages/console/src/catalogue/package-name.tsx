import { Flag } from './flags/flag.tsx'
import { packageTitle } from './package-title.ts'

/**
 * A package as people call it, with the flag of its country, a globe for a region and the flag of the EU for Europe.
 * @param location null: not known, so no flag
 */
export function PackageName({ name, location, more = 0 }: { name: string; location: string | null; more?: number }) {
  const { parts } = packageTitle(name)
  const code = location === '!RG' && parts[0] === 'Europe' ? 'EU' : location
  return (
    <span className="package-name" data-from-gateway>
      {code !== null && <Flag locationCode={code} />}
      <span>
        {parts.join(' · ')}
        {more > 0 && ` + ${more}`}
      </span>
    </span>
  )
}

/** The packages of an order: the first, and how many there are besides. */
export function PackageNames({ packages, location }: { packages: readonly string[]; location: string | null }) {
  return <PackageName name={packages[0] ?? '–'} location={location} more={packages.length - 1} />
}
