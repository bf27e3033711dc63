import { describe, expect, it } from 'vitest'
import { listFiles, readLines } from './repository.ts'

/** Phrases that a reader has to decode, each with what to write instead. cspell.json flags single words (`flagWords`). */
const PHRASES: readonly [RegExp, string][] = [
  [/\b(is|are|was|were) none\b/, 'name what does not exist: "an unknown path"'],
  [/\b(is|are|was|were) had (of|from|by)\b/, 'use the verb: "comes from"'],
  [/comes? to nothing/, 'name what fails'],
  [/\bof who\b/i, 'name the person or the program'],
  [/\btell of\b/, 'report, notify, return'],
  [/\bas good as\b/, 'name what it is treated as'],
  [/\bin the clear\b/, 'unencrypted, over plain HTTP'],
  [/\bfor want of\b/, 'because … is missing'],
  [/\bwithout a word\b/, 'silently, without notice'],
  [/\bat once\b/, 'immediately, at the same time, or together'],
  [/clocks? that (was|were|is|are) ahead/, 'a fast clock'],
  [/^\s*(\*|\/\/|--|\/\*\*)\s*(Of|Who|Whether) /, 'begin a comment with the thing that it describes'],
]

const TEXT = /\.(tsx?|[mc]ts|[mc]?js|sql|md|sh|ya?ml|patch|py|php)$|(^|\/)en\.json$/

describe('a text', () => {
  it('uses plain technical English', () => {
    // Migrations that have landed do not change.
    const texts = listFiles(TEXT).filter((path) => !path.includes('/migrations/'))
    const faults = texts.flatMap((path) =>
      readLines(path).flatMap((line, index) => adviceFor(line).map((advice) => `${path}:${index + 1}: ${advice}`)),
    )
    expect(faults).toEqual([])
  })
})

function adviceFor(line: string): string[] {
  return PHRASES.filter(([phrase]) => phrase.test(line)).map(([, advice]) => advice)
}
