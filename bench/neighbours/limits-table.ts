import type { Result } from '../compare.ts'

export const FIGURE = 'neighbours'
/** The rows of that table have five cells, the first with the caller's name. */
const ROW = /^(\| `([a-z-]+)` \|(?:[^|]*\|){3}) [^|]* \|$/gm

/** The names in the table of docs/limits.md, in its order. */
export function rowsOfLimits(page: string): string[] {
  return [...page.matchAll(ROW)].map(([, , name = '']) => name)
}

/** Writes the figures of a run into the last column of the table of docs/limits.md. Rows that were not measured stay. */
export function fillLimits(page: string, results: readonly Pick<Result, 'name' | 'ratio'>[]): string {
  return page.replace(ROW, (line, row: string, name: string) => {
    const result = results.find((one) => one.name === `${FIGURE}: ${name}`)
    return result === undefined ? line : `${row} ${result.ratio.median.toFixed(1)} |`
  })
}
