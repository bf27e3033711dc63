import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import packageJson from '#package.json' with { type: 'json' }

/** Set by `npm run dist`. */
declare const RELEASE_COMMIT: string | undefined

/**
 * Counts the releases, so that a database can tell how much newer it is. Each number has a release page (docs/releases),
 * and test/previous-release moves to a commit with the preceding number.
 */
export const RELEASE = 2

/** This release and its commit, e.g. `0.1.0 (fe2c68f0)`; without the commit if nobody knows it. */
export function releaseText(): string {
  const commit = typeof RELEASE_COMMIT === 'string' ? RELEASE_COMMIT : commitOfCheckout()
  return commit === undefined ? packageJson.version : `${packageJson.version} (${commit})`
}

function commitOfCheckout(): string | undefined {
  try {
    const command = ['rev-parse', '--short=8', 'HEAD']
    const cwd = dirname(fileURLToPath(import.meta.url))
    return execFileSync('git', command, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return undefined // copied without its history, or without git
  }
}
