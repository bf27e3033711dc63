import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeBlocks } from '@dealer-esim/gateway/test/harness/processes/docs-commands.ts'
import { expect } from 'vitest'
import { root } from '../local-gateway.ts'

/** The commands in the block of README.md whose first command begins with `start`, without comments. */
export function readmeCommands(start: string): string[] {
  const blocks = codeBlocks(readFileSync(join(root, 'README.md'), 'utf8'), 'sh')
  const block = blocks.find((each) => each.startsWith(start))
  if (block === undefined) throw new Error(`README.md has no block that begins with ${start}`)
  return block
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' #')[0]!.trimEnd())
}

/** Holds the megabytes that a page states, by the groups of a pattern, to what was measured. */
export function expectStated(page: string, pattern: RegExp, bytes: number[], tolerance = 0.04): void {
  const [, ...stated] = pattern.exec(readFileSync(join(root, page), 'utf8')) ?? []
  const measured = bytes.map((each) => each / 1e6)
  const text = `${page} states ${stated.join(', ')} MB; measured: ${measured.map((each) => each.toFixed(1)).join(', ')}`
  const isRight = (each: number, index: number) => Math.abs(each / Number(stated[index]) - 1) <= tolerance
  expect(measured.every(isRight), text).toBe(true)
}
