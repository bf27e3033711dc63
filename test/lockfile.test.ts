import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

interface Entry {
  resolved?: string
  optionalDependencies?: Record<string, string>
}

const lockfile = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Entry>
}

describe('the lockfile', () => {
  it('knows the packages of every platform, without which npm ci of npm 11 refuses it', () => {
    const missing = Object.entries(lockfile.packages).flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).filter((name) => !isLocked(path, name)),
    )
    expect(missing).toEqual([])
  })

  it('names no place to download from', () => {
    const named = Object.values(lockfile.packages).filter((entry) => entry.resolved?.startsWith('http'))
    expect(named).toEqual([])
  })
})

/** As node looks a package up: beside the one that asks, then beside each that surrounds it. */
function isLocked(path: string, name: string): boolean {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    if (lockfile.packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`]) return true
    if (at === '') return false
    if (!at.includes('/node_modules/')) at = ''
    if (lockfile.packages[`node_modules/${name}`]) return true
  }
}
