import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

interface Entry {
  resolved?: string
  optionalDependencies?: Record<string, string>
}

describe.each(['package-lock.json', 'test/openapi-clients/package-lock.json', 'test/postman/package-lock.json'])(
  '%s',
  (file) => {
    const { packages } = JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')) as {
      packages: Record<string, Entry>
    }

    it('contains the packages for every platform, without which npm ci in npm 11 fails', () => {
      const missing = Object.entries(packages).flatMap(([path, entry]) =>
        Object.keys(entry.optionalDependencies ?? {}).filter((name) => !isLocked(packages, path, name)),
      )
      expect(missing).toEqual([])
    })

    it('contains no registry URL', () => {
      const withUrl = Object.values(packages).filter((entry) => entry.resolved?.startsWith('http'))
      expect(withUrl).toEqual([])
    })
  },
)

/** Looks a package up as Node does: in the node_modules of the dependent package, then in each enclosing one. */
function isLocked(packages: Record<string, Entry>, path: string, name: string): boolean {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    if (packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`]) return true
    if (at === '') return false
    if (!at.includes('/node_modules/')) at = ''
    if (packages[`node_modules/${name}`]) return true
  }
}
