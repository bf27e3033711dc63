import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bash, codeBlocks, fakeNpmPath } from '../packages/gateway/test/harness/processes/docs-commands.ts'
import { stopGateways } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { startReceiver } from '../packages/gateway/test/webhooks/receiver.ts'
import { DealerEsim } from '../packages/sdk/src/index.ts'
import { type LocalGateway, root, startLocalGateway } from './local-gateway.ts'

/* Runs the `sh` blocks of the operator's pages unchanged, with a local gateway and its demo catalogue. */
let gateway: LocalGateway
let dealer: DealerEsim
/** Values for the placeholders of the pages; their examples replay events since yesterday. */
const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
const placeholders: Record<string, string> = {
  '2026-11-20T08:00:00Z': `${yesterday}T08:00:00Z`,
  '2026-11-20': yesterday,
}
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-operator-'))
beforeAll(async () => {
  gateway = await startLocalGateway()
  dealer = new DealerEsim(gateway.credentials)
  await dealer.order({ transactionId: 'DOCS-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
  const { tenantId } = await dealer.health()
  placeholders.TENANT = tenantId
  // This one command runs with the real npm.
  const { stdout } = await shell('npm run -s admin -- webhook list TENANT --json', process.env.PATH)
  placeholders.NOTIFY_ID = /"notifyId": "([^"]+)"/.exec(stdout)?.[1] ?? ''
  placeholders['catalogue.csv'] = join(folder, 'catalogue.csv')
})
afterAll(async () => {
  await stopGateways()
  rmSync(folder, { recursive: true, force: true })
})

test.each([
  ['docs/catalogue.md', ['Japan, 1 GB, 7 days', 'unchanged']],
  ['docs/prices.md', ['Gold partners', 'packages of FR: -25 %', 'STAFF', 'NORTH']],
  [
    'docs/running.md',
    ['No faults were found', 'first.operator@example.com', 'The ledger is consistent', 'is up to date'],
  ],
])('the commands in %s run unchanged and in order', async (page, texts) => {
  const { code, stdout, stderr } = await shell(commandsOf(page).join(''))
  expect([code, stderr.replace(/^\d+ %: .*\n/gm, '')]).toEqual([0, ''])
  for (const text of texts) expect(stdout).toContain(text)
})

test('the commands in docs/webhooks.md run unchanged and send events recorded before the endpoint existed', async () => {
  const [secret = '', events = ''] = commandsOf('docs/webhooks.md')
  const printed = await shell(secret)
  expect(printed.stdout).toBe(`whsec_${Buffer.from(gateway.credentials.appSecret).toString('base64')}\n`)
  const receiver = await startReceiver()
  try {
    await dealer.setWebhook({ callbackUrl: receiver.url })
    const { code, stdout, stderr } = await shell(events)
    expect([code, stderr]).toEqual([0, ''])
    for (const each of [placeholders.NOTIFY_ID, 'RUNNING', 'Enabled']) expect(stdout).toContain(each)
    await expect.poll(() => receiver.events.map(({ notifyId }) => notifyId)).toContain(placeholders.NOTIFY_ID)
  } finally {
    await receiver.close()
  }
})

function commandsOf(page: string): string[] {
  const blocks = codeBlocks(readFileSync(join(root, page), 'utf8'), 'sh')
  expect(blocks.length).toBeGreaterThan(1)
  return blocks
}

function shell(script: string, PATH = fakeNpmPath(folder)) {
  const filled = Object.entries(placeholders).reduce(
    (text, [name, value]) => text.replace(new RegExp(`\\b${name}\\b`, 'g'), value),
    script,
  )
  const { dataDir, logs } = gateway.process
  const metricsPort = String(logs.find((line) => line.msg === 'ready')!.metricsPort)
  const env = { ...process.env, ...gateway.env, DATA_DIR: dataDir, METRICS_PORT: metricsPort, PATH }
  return bash(filled, { cwd: root, env })
}
