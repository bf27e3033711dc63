import { basename, dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listFiles, readLines } from './repository.ts'

/** Beyond this, a file contains more than one idea. The linter limits functions to 70 lines (biome.json). */
const FILE_LINES_MAX = 400
/** Source files directly in a folder: beyond this number, a reader no longer finds a file by name. */
const FOLDER_FILES_MAX = 14
/** Tests are found by the file that they test, so a folder of tests may hold more. */
const TEST_FOLDER_FILES_MAX = 20
/** A subfolder with fewer files costs a reader more than it helps. */
const SUBFOLDER_FILES_MIN = 3
/** Names that say nothing about a folder's contents. */
const EMPTY_NAMES = new Set(['misc', 'shared', 'internal', 'utils', 'common', 'types', 'helpers'])
/** Entries of packages. Any other index file would hide where a name comes from. */
const PACKAGE_ENTRIES = new Set([
  'packages/contract/src/index.ts',
  'packages/sdk/src/index.ts',
  'packages/embedded-postgres/src/index.ts',
])

const CODE = /\.(tsx?|[mc]?js|css|sql)$/
const ANY_LANGUAGE = /\.(tsx?|[mc]?tsx?|[mc]?js|css|sql|sh|py|php|java|go|cs|rb)$/
const TEST_FILE = /\.test\.tsx?$/
const TEST_FOLDER = /^(packages\/[^/]+\/)?test(\/|$)/
/** Folders whose contents are prescribed by others: one program per language, files that a browser asks for by name. */
const PRESCRIBED = /^docs\/|^packages\/console\/public/

describe('a file', () => {
  it('has at most 400 lines, whatever its language', () => {
    const long = listFiles(ANY_LANGUAGE)
      .map((path) => ({ path, lines: readLines(path).length - 1 }))
      .filter(({ lines }) => lines > FILE_LINES_MAX)
    expect(long).toEqual([])
  })

  it('is not an index that only re-exports what other files export', () => {
    const indexes = listFiles(/(^|\/)index\.(tsx?|mjs)$/).filter((path) => !PACKAGE_ENTRIES.has(path))
    expect(indexes).toEqual([])
  })
})

describe('a test file', () => {
  it('that runs tests at the same time registers no hooks for whichever test vitest holds for the present one', () => {
    const wrong = listFiles(TEST_FILE).filter((path) => {
      const text = readLines(path).join('\n')
      return /\.concurrent\b|concurrent: true/.test(text) && /^import .*\bonTestFinished\b/m.test(text)
    })
    expect(wrong).toEqual([])
  })
})

describe('a folder', () => {
  const folders = filesByFolder()

  it('holds at most 14 source files, or 20 test files', () => {
    const crowded = [...folders].flatMap(([folder, files]) => {
      if (folder === 'packages/gateway/migrations') return [] // each release appends, and none is ever removed
      const counted = TEST_FOLDER.test(folder) ? files : files.filter((file) => !TEST_FILE.test(file))
      const max = TEST_FOLDER.test(folder) ? TEST_FOLDER_FILES_MAX : FOLDER_FILES_MAX
      return counted.length > max ? [`${folder}: ${counted.length}`] : []
    })
    expect(crowded).toEqual([])
  })

  it('has a name that describes its contents', () => {
    const empty = [...folders.keys()].filter((folder) => EMPTY_NAMES.has(basename(folder)))
    expect(empty).toEqual([])
  })

  it('inside a module holds at least three files', () => {
    const small = [...folders].flatMap(([folder, files]) => {
      const isInModule = /^packages\/[^/]+\/src\/[^/]+\//.test(folder)
      const hasSubfolders = [...folders.keys()].some((other) => other.startsWith(`${folder}/`))
      return isInModule && !hasSubfolders && files.length < SUBFOLDER_FILES_MIN ? [`${folder}: ${files.length}`] : []
    })
    expect(small).toEqual([])
  })
})

function filesByFolder(): Map<string, string[]> {
  const folders = new Map<string, string[]>()
  for (const path of listFiles(CODE)) {
    const folder = dirname(path)
    if (PRESCRIBED.test(folder)) continue
    folders.set(folder, [...(folders.get(folder) ?? []), basename(path)])
  }
  return folders
}
