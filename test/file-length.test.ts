import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'

/** Beyond it a file holds more than one idea. The linter keeps functions within 70 lines (biome.json). */
const LINES_MAX = 400

const ROOT = join(import.meta.dirname, '..')
const ROOMS = ['packages', 'bench', 'test', 'scripts', 'docs']
const WRITTEN_BY_HAND = /\.(tsx?|[mc]?js|css|sql|sh|py|php|java|go|cs|rb)$/
const LEFT_OUT = new Set(['node_modules', 'dist'])
/** Written by a command, not by people: `npm run schema`. */
const GENERATED = new Set(['packages/gateway/schema.sql'])

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : sources(path)
    return WRITTEN_BY_HAND.test(entry.name) && !GENERATED.has(relative(ROOT, path)) ? [path] : []
  })
}

it('no file that people write has more than 400 lines', () => {
  const files = ROOMS.flatMap((room) => sources(join(ROOT, room)))
  const long = files
    .map((path) => ({ path: relative(ROOT, path), lines: readFileSync(path, 'utf8').split('\n').length - 1 }))
    .filter(({ lines }) => lines > LINES_MAX)
  expect(long).toEqual([])
  expect(files.length).toBeGreaterThan(500)
})
