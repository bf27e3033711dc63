import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeBlocks } from '@dealer-esim/gateway/test/harness/processes/docs-commands.ts'
import { root } from '../local-gateway.ts'

/** The commands of the block of README.md whose first command begins with `start`, without remarks. */
export function readmeCommands(start: string): string[] {
  const blocks = codeBlocks(readFileSync(join(root, 'README.md'), 'utf8'), 'sh')
  const block = blocks.find((each) => each.startsWith(start))
  if (block === undefined) throw new Error(`README.md has no block that begins with ${start}`)
  return block
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' #')[0]!.trimEnd())
}
