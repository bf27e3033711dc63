import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'

/** What a test has done and counted, such as `{ kills: 20, orders: 412 }`. */
export type Figures = Record<string, number>

/** Prints what a test has counted. `npm run torture` names a file, in which it adds the figures of all rounds up. */
export function reportFigures(figures: Figures): void {
  const file = process.env.TEST_FIGURES
  if (file === undefined) console.info(JSON.stringify(figures))
  else appendFileSync(file, `${JSON.stringify({ test: expect.getState().currentTestName, figures })}\n`)
}
