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

/** Where pages state megabytes that the tests of artifacts measure. */
export const STATED_SIZES = {
  'npm in the README': ['README.md', /takes (\d+) MB of disk beside Node/],
  npm: ['docs/installing.md', /npm without the embedded PostgreSQL \| (\d+) MB \(with it, (\d+) MB\)/],
  'package in the README': ['README.md', /Debian package: (\d+) MB with Node/],
  package: ['docs/installing.md', /Debian package \| (\d+) MB, of which Node takes (\d+) MB; the file is (\d+) MB/],
  image: ['docs/installing.md', /disk, image \| (\d+) MB/],
  'memory in the README': ['README.md', /about (\d+) MB of memory when idle/],
  memory: ['docs/installing.md', /about (\d+) MB \(resident\) when idle/],
} as const satisfies Record<string, readonly [page: string, pattern: RegExp]>

/** @returns the numbers; empty if the page does not state them in these words */
export function statedMegabytes(of: keyof typeof STATED_SIZES): number[] {
  const [page, pattern] = STATED_SIZES[of]
  const [, ...stated] = pattern.exec(readFileSync(join(root, page), 'utf8')) ?? []
  return stated.map(Number)
}

/** Holds what a page states to what was measured. */
export function expectStated(of: keyof typeof STATED_SIZES, bytes: number[], tolerance = 0.04): void {
  const stated = statedMegabytes(of)
  const measured = bytes.map((each) => each / 1e6)
  const text = `${STATED_SIZES[of][0]} states ${stated.join(', ')} MB; measured: ${measured.map((each) => each.toFixed(1)).join(', ')}`
  const isRight = (each: number, index: number) => Math.abs(each / stated[index]! - 1) <= tolerance
  expect(measured.every(isRight), text).toBe(true)
}
