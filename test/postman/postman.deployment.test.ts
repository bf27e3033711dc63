import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operationNames } from '@dealer-esim/contract'
import { stopGateways, temporaryFolder } from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalGateway, root, startLocalGateway } from '../local-gateway.ts'

/** newman runs the collection as Postman does. It is outside the workspaces: nobody else installs 66 MB for it. */
const folder = import.meta.dirname
let gateway: LocalGateway
beforeAll(async () => {
  const { status, stderr } = spawnSync('npm', ['ci', '--ignore-scripts', '--prefer-offline'], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, expect.any(String)])
  gateway = await startLocalGateway()
}, 300_000)
afterAll(stopGateways)

test('every request of the collection answers 200 or its documented refusal', async () => {
  const { executions, failures } = await runCollection(gateway.credentials)
  expect(failures).toEqual([])
  const answers = new Map<string, string>()
  for (const { name, code } of executions) answers.set(name, code)
  const operations = new Set([...answers.keys()].map((name) => name.replace(/,.*/, '')))
  expect(operations).toEqual(new Set(operationNames))
  // What a local gateway without mail and without a callback URL refuses, and what an eSIM that nobody uses does not allow.
  const refused = [...answers].filter(([, code]) => code !== '000000')
  expect(Object.fromEntries(refused)).toEqual({
    'esim/profile/send': '200019',
    'webhook/test': '400101',
    'esim/suspend': '200002',
    'esim/unsuspend': '200002',
    ...(answers.get('esim/revoke') !== '000000' && { 'esim/revoke': '200002' }), // while the top-up is on its way
  })
})

test('a second run buys again, and a live key is refused before anything is sent', async () => {
  const { executions } = await runCollection(gateway.credentials)
  expect(executions.find(({ name }) => name === 'esim/order')).toMatchObject({ code: '000000' })
  const { appKey, appSecret } = gateway.credentials
  const live = await runCollection({ baseUrl: 'https://esim.example.invalid', appKey, appSecret }, [
    '--folder',
    'Account',
  ])
  expect(live.failures[0]).toContain('This is no test key')
})

interface Run {
  executions: { name: string; code: string }[]
  failures: string[]
}

async function runCollection(credentials: LocalGateway['credentials'], more: string[] = []): Promise<Run> {
  const report = join(temporaryFolder('newman'), 'report.json')
  const { baseUrl, appKey, appSecret } = credentials
  const variables = Object.entries({ baseUrl, appKey, appSecret }).flatMap((pair) => ['--env-var', pair.join('=')])
  const documents = ['docs/postman.json', '--environment', 'docs/postman-environment.json']
  const reporters = ['--reporters', 'json', '--reporter-json-export', report]
  const args = ['run', ...documents, ...variables, ...reporters, ...more]
  await new Promise((resolve) => {
    execFile(join(folder, 'node_modules/.bin/newman'), args, { cwd: root, timeout: 110_000 }, resolve)
  })
  const { run } = JSON.parse(readFileSync(report, 'utf8'))
  return {
    executions: run.executions.map(({ item, response }: Execution) => ({
      name: item.name,
      code: response ? JSON.parse(Buffer.from(response.stream.data).toString('utf8')).code : '',
    })),
    failures: run.failures.map(({ error, source }: { error: Error; source?: { name: string } }) => {
      return `${source?.name}: ${error.message}`
    }),
  }
}

interface Execution {
  item: { name: string }
  response?: { stream: { data: number[] } }
}
