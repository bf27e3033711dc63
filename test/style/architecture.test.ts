import { codes } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import { listFiles, readLines } from './repository.ts'

const files = new Set(listFiles(/./))

/** The folders that paths in ARCHITECTURE.md are relative to, besides the root. */
const BASES = ['packages/gateway/src', 'packages/lib/src', 'packages/wholesalers/src', 'packages']

/** Every row of a table with the files that it names. A bare file name is in the folder of the file named before it. */
const rows = readLines('ARCHITECTURE.md')
  .filter((line) => line.startsWith('| '))
  .map((line) => {
    let folder = ''
    const named = [...line.matchAll(/`([\w./-]+\.(?:ts|tsx|yml|sql|md))`/g)].map(([, name = '']) => {
      const path = name.replace(/^contract\//, 'contract/src/')
      const found = [
        ...(path.includes('/') ? [] : [`${folder}/${path}`]),
        path,
        ...BASES.map((base) => `${base}/${path}`),
      ]
      const file = found.find((one) => files.has(one))
      if (file !== undefined) folder = file.slice(0, file.lastIndexOf('/'))
      return { name, file }
    })
    return { line, named }
  })

describe('ARCHITECTURE.md', () => {
  it('names only files that exist', () => {
    const missing = rows.flatMap(({ line, named }) =>
      named.filter(({ file }) => file === undefined).map(({ name }) => `${name} in ${line.slice(0, 60)}`),
    )
    expect(missing).toEqual([])
  })

  it.each(Object.keys(codes))('names a file that contains code %s', (code) => {
    const about = rows.filter(({ line }) => line.split('|')[1]?.includes(code))
    const deciding = about
      .flatMap(({ named }) => named.flatMap(({ file }) => file ?? []))
      .filter((file) => readLines(file).some((line) => line.includes(`'${code}'`)))
    expect(deciding).not.toEqual([])
  })
})
