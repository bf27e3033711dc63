import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bash, codeBlocks } from '../packages/gateway/test/harness/processes/docs-commands.ts'
import { stopGateways, temporaryFolder } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim } from '../packages/sdk/src/index.ts'
import { type LocalGateway, root, startLocalGateway } from './local-gateway.ts'

let gateway: LocalGateway
beforeAll(async () => {
  gateway = await startLocalGateway()
})
afterAll(stopGateways)

/** Pages whose `sh` blocks a reader can copy; `text` blocks need the reader's own values. */
const PAGES = ['README.md', 'docs/quick-start.md', 'docs/signing.md', 'docs/idempotency.md', 'packages/sdk/README.md']

describe.each(PAGES)('the commands in %s', (page) => {
  // README also has the commands that install and test the project, which this test is part of.
  const blocks = fences(page, 'sh').filter((block) => page !== 'README.md' || block.startsWith('npx dealer-esim'))

  test('exist', () => expect(blocks.length).toBeGreaterThan(0))

  test.each(blocks)('run unchanged: %s', async (block) => {
    const { code, output } = await shell(block, page === 'README.md' && block === blocks[0] ? 'npx' : 'quick npx')
    expect(output).not.toBe('')
    expect([code, output]).toEqual([0, output])
  })
})

test('the commands print what the pages say', async () => {
  const vector = await shell(fences('docs/signing.md', 'sh').find((block) => block.includes('openssl')) ?? '')
  expect(vector.output).toBe('b4084664c3ec5f6431cbdb1143ebdd047ad47dea5711349e3779b0d37a047a4f\n')
  const call = await shell(fences('docs/signing.md', 'sh').find((block) => block.includes('curl')) ?? '')
  expect(JSON.parse(call.output)).toMatchObject({ code: '000000', data: { status: 'UP' } })
  const twice = await shell(fences('docs/idempotency.md', 'sh')[0]?.replaceAll('RETRY-1', 'RETRY-2') ?? '')
  expect(twice.output.match(/nothing was debited again/g)).toHaveLength(1)
})

test.each([
  ['ts', 'node', '--input-type=module', '-e'],
  ['python', 'python3', '-c'],
  ['php', 'php', '-r'],
])('the function in %s on the page about signing prints the signature of its table', async (language, ...command) => {
  const [sample = ''] = fences('docs/signing.md', language)
  const { stdout } = await promisify(execFile)(command[0]!, [...command.slice(1), sample.replace(/^<\?php\n/, '')])
  expect(stdout.trim()).toBe('b4084664c3ec5f6431cbdb1143ebdd047ad47dea5711349e3779b0d37a047a4f')
})

test('the quick start shows every member of the answer to health', async () => {
  const shown = fences('docs/quick-start.md', 'json')
    .map((block) => JSON.parse(block))
    .find((each) => each.code === '000000')
  const health = await new DealerEsim(gateway.credentials).health()
  expect(Object.keys(shown.data)).toEqual(Object.keys(health))
})

test('the quick start names members that the answer of the step’s operation has', () => {
  const { paths } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'))
  const steps = readFileSync(join(root, 'docs/quick-start.md'), 'utf8').split(/^## \d\. /m)
  const unknown = steps.flatMap((step) => {
    const operation = step.split(':')[0]!
    const answer = JSON.stringify(paths[`/open-api/v1/${operation}`]?.post.responses['200'].content ?? {})
    const named = [...step.matchAll(/`data\.(\w+)`/g)].map(([, member]) => member!)
    return named.filter((member) => !answer.includes(`"${member}":`)).map((member) => `${operation}: ${member}`)
  })
  expect(unknown).toEqual([])
})

test('the quick start’s order is accepted unchanged', async () => {
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
 * Runs commands with the SDK installed and the credentials in the environment. One block uses the real npx; the others use
 * a small script in its place, because npx takes longer than the commands.
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
