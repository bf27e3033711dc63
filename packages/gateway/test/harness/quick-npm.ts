import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { packageRoot } from '../../src/lib/process/package-root.ts'

/**
 * A PATH for the commands of a page: `npm run -s admin -- …` becomes what package.json says it runs, without npm, which
 * takes longer than most commands do. Everything else that npm is asked for fails.
 */
export function quickNpmPath(folder: string): string {
  const { scripts } = JSON.parse(readFileSync(join(packageRoot(), '../../package.json'), 'utf8'))
  const bin = join(folder, 'quick-npm')
  mkdirSync(bin, { recursive: true })
  const script = `#!/bin/sh
[ "$1 $2 $3 $4" = 'run -s admin --' ] || { echo "npm $*: only admin commands are quick" >&2; exit 64; }
shift 4
${scripts.admin} "$@"
`
  writeFileSync(join(bin, 'npm'), script, { mode: 0o755 })
  return `${bin}${delimiter}${process.env.PATH}`
}
