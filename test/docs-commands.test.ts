import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bash, codeBlocks } from '../packages/gateway/test/harness/processes/docs-commands.ts'
import { stopGateways, temporaryFolder } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim } from '../packages/sdk/src/index.ts'
import { type LocalGateway, localGateway, root } from './local-gateway.ts'

let gateway: LocalGateway
beforeAll(async () => {
  gateway = await localGateway()
})
afterAll(stopGateways)

/** Pages whose `sh` blocks a reader copies; `text` blocks need values of his own. */
const PAGES = ['README.md', 'docs/quick-start.md', 'docs/signing.md', 'docs/idempotency.md', 'packages/sdk/README.md']

describe.each(PAGES)('the commands of %s', (page) => {
  // README also tells how to install and to run the suite, which is what is happening here.
  const blocks = fences(page, 'sh').filter((block) => page !== 'README.md' || block.startsWith('npx dealer-esim'))

  test('are there to be copied', () => expect(blocks.length).toBeGreaterThan(0))

  test.each(blocks)('run as they stand: %s', async (block) => {
    const { code, output } = await shell(block, page === 'README.md' && block === blocks[0] ? 'npx' : 'quick npx')
    expect(output).not.toBe('')
    expect([code, output]).toEqual([0, output])
  })
})

test('what the pages say of their commands is what they print', async () => {
  const vector = await shell(fences('docs/signing.md', 'sh').find((block) => block.includes('openssl')) ?? '')
  expect(vector.output).toContain('b4084664c3ec5f6431cbdb1143ebdd047ad47dea5711349e3779b0d37a047a4f')
  const twice = await shell(fences('docs/idempotency.md', 'sh')[0]?.replaceAll('RETRY-1', 'RETRY-2') ?? '')
  expect(twice.output.match(/nothing was debited again/g)).toHaveLength(1)
})

test('the order that the quick start shows is taken as it stands', async () => {
  const request = fences('docs/quick-start.md', 'json')
    .map((block) => JSON.parse(block))
    .find((each) => each.packageInfoList)
  const esim = new DealerEsim(gateway.credentials)
  expect(await esim.order({ ...request, transactionId: 'QUICK-START-GUARDS' })).toMatchObject({
    amount: request.amount,
    replayed: false,
  })
})

function fences(page: string, language: string): string[] {
  return codeBlocks(readFileSync(join(root, page), 'utf8'), language).map((block) => block.trimEnd())
}

/**
 * As a reader runs it: the SDK is installed, and the credentials are in the environment. npx takes longer than what it
 * starts: one block is run with it, the others with as much of it as a project needs that has the package.
 */
async function shell(script: string, by: 'npx' | 'quick npx' = 'quick npx') {
  const cwd = temporaryFolder('reader')
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'))
  writeFileSync(join(cwd, 'npx'), '#!/bin/sh\nname=$1\nshift\nexec "./node_modules/.bin/$name" "$@"\n', { mode: 0o755 })
  const PATH = by === 'npx' ? process.env.PATH : `${cwd}${delimiter}${process.env.PATH}`
  const env = { ...process.env, ...gateway.env, PATH, npm_config_offline: 'true' }
  const { code, stdout, stderr } = await bash(script, { cwd, env })
  return { code, output: stdout + (code === 0 ? '' : stderr) }
}
