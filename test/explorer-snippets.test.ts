import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SNIPPETS, type SnippetLanguage } from '../packages/console/src/tenants/explorer/snippets.ts'
import { temporaryFolder } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { type FakeGateway, fakeGateway, ok } from '../packages/sdk/test/fake-gateway.ts'
import { root } from './local-gateway.ts'

/*
 * Runs what the explorer of the console offers for copying. A language whose tools are not installed is skipped with a
 * warning.
 */
interface Runner {
  needs: string[]
  file: string
  command(path: string): string[] | Promise<string[]>
}

const RUNNERS: Record<SnippetLanguage, Runner> = {
  bash: { needs: ['bash', 'openssl', 'curl'], file: 'call.sh', command: (path) => ['bash', path] },
  python: { needs: ['python3'], file: 'call.py', command: (path) => ['python3', '-B', path] },
  php: { needs: ['php'], file: 'call.php', command: (path) => ['php', path] },
  java: { needs: ['java'], file: 'Call.java', command: (path) => ['java', path] },
  go: { needs: ['go'], file: 'call.go', command: (path) => ['go', 'run', path] },
  csharp: { needs: ['dotnet'], file: 'Call.cs', command: (path) => ['dotnet', 'run', path] },
  typescript: { needs: [process.execPath], file: 'call.mts', command: bundled },
}

/** Characters that end or change strings in some languages. */
const REMARK = 'it\'s `five` "quoted" \\ $HOME #{y} %d é'

let gateway: FakeGateway
beforeAll(async () => {
  gateway = await fakeGateway(() => ok({ orderNo: 'O-1' }))
})
afterAll(() => gateway.close())

for (const [language, { needs, file, command }] of Object.entries(RUNNERS) as [SnippetLanguage, Runner][]) {
  const { name, write } = SNIPPETS[language]
  const title = `the snippet in ${name}`
  describe.skipIf(!canRun(title, ...needs))(title, () => {
    test('an explorer snippet signs and sends the members in the body, whatever their texts contain', async () => {
      const members = { transactionId: 'T-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }], remark: REMARK }
      const body = JSON.stringify(members, null, 2)
      const text = write({ publicUrl: gateway.baseUrl, appKey: gateway.appKey, operation: 'esim/order', body })
      const folder = temporaryFolder('snippet')
      const path = join(folder, file)
      writeFileSync(path, text)
      const [program = '', ...args] = await command(path)
      const env = { ...process.env, DEALER_ESIM_APP_SECRET: gateway.appSecret }
      const before = gateway.seen.length
      const { stdout } = await promisify(execFile)(program, args, { env, timeout: 60_000 })
      expect(stdout).toContain('O-1')
      expect(gateway.seen.slice(before)).toMatchObject([{ operation: 'esim/order', body: members }])
    })
  })
}

/** With the SDK, which is not installed where the snippet runs. */
async function bundled(path: string): Promise<string[]> {
  const outfile = `${path}.mjs`
  await build({
    ...{ entryPoints: [path], outfile, bundle: true, nodePaths: [join(root, 'node_modules')] },
    ...{ platform: 'node', format: 'esm', target: 'node20', logLevel: 'silent' },
  })
  return [process.execPath, outfile]
}
