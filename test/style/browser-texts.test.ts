import { expect, it } from 'vitest'
import { listFiles, readLines } from './repository.ts'

/**
 * Modules whose texts reach people in a browser: everything except the command line and texts that only a server's log
 * shows.
 */
const SHOWN =
  /^packages\/(gateway\/src\/(?!cli\/|operations\/doctor\/|platform\/config\/|http\/console\/console-pages)|console\/src\/)/

it('a text for a browser names a page, not a command, and does not show JSON', () => {
  const faults = listFiles(SHOWN)
    .filter((path) => /\.(tsx?|json)$/.test(path) && !/\.test\.ts$/.test(path))
    .flatMap((path) =>
      readLines(path).flatMap((line, index) => {
        const isComment = /^\s*(\*|\/\/|\/\*)/.test(line)
        const isShown = /npm run|, such as \{"/.test(line) && !/description:/.test(line)
        return isShown && !isComment ? [`${path}:${index + 1}: ${line.trim()}`] : []
      }),
    )
  expect(faults).toEqual([])
})
