import { expect, test } from 'vitest'
import { listFiles, readLines } from './repository.ts'

test('every mutation names test files that exist, because a run without tests counts as failed', () => {
  const files = new Set(listFiles(/./))
  const missing = listFiles(/^test\/mutations\/.*\.patch$/).flatMap((patch) => {
    const [header = ''] = readLines(patch).filter((line) => line.startsWith('# caught by: '))
    const tests = header.slice('# caught by: '.length).split(' ')
    return tests.filter((path) => !files.has(path)).map((path) => `${patch}: ${path}`)
  })
  expect(missing).toEqual([])
})
