import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { canRun, isInstalled } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { build } from 'esbuild'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stopGateways, temporaryFolder } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim } from '../packages/sdk/src/index.ts'
import { fakeGateway, ok, refusal } from '../packages/sdk/test/fake-gateway.ts'
import { type LocalGateway, root, startLocalGateway } from './local-gateway.ts'

/**
 * Runs docs/samples as readers do. A language whose tools are not installed is skipped with a warning. The languages run
 * concurrently, because each waits a few seconds as the gateway requests.
 */
const samples = join(root, 'docs/samples')
const vectors = JSON.parse(readFileSync(join(root, 'test/vectors/signing.json'), 'utf8'))

interface Language {
  name: string
  folder: string
  /** Programs that must be installed. */
  needs: string[]
  /** Variables that make it start faster. */
  env?: Record<string, string>
  command(program: Program): string[] | Promise<string[]>
  /** The command from the second run on: compiling for each run would take longer than everything else. */
  compiled?(program: Program): Promise<string[]>
}

type Program = 'sign' | 'order' | 'after-sale' | 'verify-event'

const pascal = { sign: 'Sign', order: 'Order', 'after-sale': 'AfterSale', 'verify-event': 'VerifyEvent' }
const QUICK_JAVA = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
let javaClasses: Promise<string> | undefined
const DOTNET = {
  needs: ['dotnet'],
  command: (p: Program) => ['dotnet', 'run', `${pascal[p]}.cs`, '--'],
}
const MONO = {
  needs: ['mcs', 'mono'],
  command: async (p: Program) => ['mono', await compileForMono(p)],
}
const LANGUAGES: Language[] = [
  { name: 'Bash', folder: 'bash', needs: ['bash', 'openssl', 'curl'], command: (p) => ['bash', `${p}.sh`] },
  {
    name: 'Python',
    folder: 'python',
    needs: ['python3'],
    command: (p) => ['python3', '-B', `${p.replace('-', '_')}.py`],
  },
  { name: 'PHP', folder: 'php', needs: ['php'], command: (p) => ['php', `${p}.php`] },
  {
    name: 'Java',
    folder: 'java',
    needs: ['javac', 'java'],
    env: { JAVA_TOOL_OPTIONS: QUICK_JAVA },
    command: (p) => ['java', `${pascal[p]}.java`],
    async compiled(p) {
      javaClasses ??= compileJava()
      return ['java', '-cp', await javaClasses, pascal[p]]
    },
  },
  { name: 'Go', folder: 'go', needs: ['go'], command: (p) => ['go', 'run', `./${p}`] },
  { name: 'C#', folder: 'csharp', ...(isInstalled('dotnet') ? DOTNET : MONO) },
  {
    name: 'TypeScript',
    folder: 'typescript',
    needs: [process.execPath],
    command: (p) => [process.execPath, '--import', 'tsx', `${p}.mts`],
    async compiled(p) {
      const outfile = join(temporaryFolder('sample'), `${p}.mjs`)
      await build({
        ...{ entryPoints: [join(samples, 'typescript', `${p}.mts`)], outfile, bundle: true },
        ...{ platform: 'node', format: 'esm', target: 'node20', logLevel: 'silent' },
      })
      return [process.execPath, outfile]
    },
  },
]

let gateway: LocalGateway
beforeAll(async () => {
  gateway = await startLocalGateway()
})
afterAll(stopGateways)

for (const language of LANGUAGES) {
  const title = `the samples in ${language.name}`
  describe.skipIf(!canRun(title, ...language.needs))(title, { concurrent: true }, () => {
    test.sequential('sign every vector', async () => {
      for (const { timestamp, requestId, appKey, appSecret, body, signature } of vectors.requests) {
        const { out } = await run(language, 'sign', [timestamp, requestId, appKey, appSecret, body])
        expect(out.trim()).toBe(signature)
      }
    })

    test.sequential('print a usage line if called without arguments', async () => {
      for (const program of ['sign', 'order', 'after-sale', 'verify-event'] as const) {
        const { code, out, err } = await run(language, program, [])
        // `go run` reports the exit code of its program on standard error and exits with status 1.
        expect([program, code, out]).toEqual([program, language.name === 'Go' ? 1 : 2, ''])
        expect(err).toMatch(/^Usage: .*[A-Z]$|^Usage: .* < body$/m)
      }
    })

    test.sequential('order once, however often they are run', async () => {
      const transactionId = `SAMPLE-${language.folder}`
      const first = await run(language, 'order', ['JP_1_7', transactionId], gateway.env)
      const again = await run(language, 'order', ['JP_1_7', transactionId], gateway.env)
      expect(first).toMatchObject({ code: 0 })
      const { data } = JSON.parse(first.out)
      expect(data).toMatchObject({ transactionId, orderNo: expect.any(String) })
      expect(JSON.parse(again.out).data).toMatchObject({ orderNo: data.orderNo, balanceAfter: data.balanceAfter })
    })

    test.sequential('print a refusal and fail', async () => {
      const { code, out } = await run(language, 'order', ['NO_SUCH_PACKAGE', `REFUSED-${language.folder}`], gateway.env)
      expect([code, JSON.parse(out).code]).toEqual([1, '310241'])
    })

    test.sequential('top up and cancel once, however often they are run, and wait for the result', async () => {
      const esim = new DealerEsim(gateway.credentials)
      const own = `${language.folder}-${randomUUID()}` // the test may be tried again
      const packageInfoList = [{ packageCode: 'JP_1_7', count: 2 }]
      await esim.order({ transactionId: `SALE-${own}`, packageInfoList })
      await esim.waitForOrder({ transactionId: `SALE-${own}` })
      const { profileList } = await esim.profiles({ transactionId: `SALE-${own}` })
      const [first = '', second = ''] = profileList.map(({ esimTranNo }) => esimTranNo)
      const afterSale = (...args: string[]) => run(language, 'after-sale', args, gateway.env)

      for (let times = 0; times < 2; times++) {
        const toppedUp = await afterSale('topup', first, 'JP_1_7_TOPUP', `TOPUP-${own}`)
        expect(toppedUp).toMatchObject({ code: 0 })
        expect(JSON.parse(toppedUp.out).data).toMatchObject({ orderType: 'TOPUP', orderStatus: 'DELIVERED' })
        const cancelled = await afterSale('cancel', second, `CANCEL-${own}`)
        expect(cancelled).toMatchObject({ code: 0 })
        expect(JSON.parse(cancelled.out).data).toMatchObject({ action: 'CANCEL', actionStatus: 'DONE' })
      }
      const { profileList: after } = await esim.profiles({ transactionId: `SALE-${own}` })
      const volume = profileList[0]!.totalVolume!
      expect(after.map(({ esimStatus, totalVolume }) => [esimStatus, totalVolume])).toEqual([
        ['GOT_RESOURCE', 2 * volume],
        ['CANCEL', volume],
      ])
      const refused = await afterSale('cancel', first, `TOO-LATE-${own}`)
      expect([refused.code, JSON.parse(refused.out).code]).toEqual([1, '200002'])
    })

    test.sequential('obey Retry-After, retry a used RequestID with the same transactionId, and reject an HTML page', async ({
      onTestFinished,
    }) => {
      const arrived: number[] = []
      const fake = await fakeGateway((_operation, _body, arrival) => {
        arrived.push(performance.now())
        if (arrival === 1) return refusal(429, '101007', {}, { 'Retry-After': '2' })
        if (arrival === 2) return refusal(409, '101006')
        return arrival === 3 ? ok({ orderNo: 'O1' }) : { body: '<h1>Welcome</h1>' }
      })
      onTestFinished(() => fake.close())
      const env = {
        DEALER_ESIM_BASE_URL: fake.baseUrl,
        DEALER_ESIM_APP_KEY: fake.appKey,
        DEALER_ESIM_APP_SECRET: fake.appSecret,
      }
      expect(await run(language, 'order', ['JP_1_7', 'REPEATED'], env)).toMatchObject({ code: 0 })
      expect(fake.seen.map(({ body }) => body.transactionId)).toEqual(['REPEATED', 'REPEATED', 'REPEATED'])
      expect(new Set(fake.seen.map(({ requestId }) => requestId)).size).toBe(3)
      expect((arrived[1] ?? 0) - (arrived[0] ?? 0)).toBeGreaterThanOrEqual(1_990)
      for (const [program, ...args] of [
        ['order', 'JP_1_7', 'PAGE'],
        ['after-sale', 'cancel', 'E-1', 'PAGE'],
      ] as const) {
        const page = await run(language, program, args, env)
        expect(page.code).toBe(1)
        expect(page.out).not.toContain('Welcome')
      }
    })

    test.sequential('distinguish a genuine event from a forged, a changed and an old event', async () => {
      const appSecret = 'demo_app_secret'
      const [grace] = vectors.events.filter((each: { appSecrets: string[] }) => each.appSecrets.length === 2)
      const { id, body } = grace
      const verify = async (secrets: string[], ageS = 0, changed = body) => {
        const at = new Date(Date.now() - ageS * 1000)
        const signatures = secrets.map((secret) =>
          new Webhook(Buffer.from(secret).toString('base64')).sign(id, at, body),
        )
        const seconds = String(Math.floor(at.getTime() / 1000))
        const args = [id, seconds, signatures.join(' ')]
        const { code, out } = await run(language, 'verify-event', args, { DEALER_ESIM_APP_SECRET: appSecret }, changed)
        return code === 0 && out.trim() === 'genuine'
      }
      expect(await verify([appSecret])).toBe(true)
      expect(await verify(['the_new_secret', appSecret]), 'in a grace period').toBe(true)
      expect(await verify(['another_secret']), 'signed with another secret').toBe(false)
      expect(await verify([appSecret], 0, `${body}\n`), 'changed by one line break').toBe(false)
      expect(await verify([appSecret], 400), 'an old one').toBe(false)
      const env = { DEALER_ESIM_APP_SECRET: appSecret }
      const noTime = await run(language, 'verify-event', [id, 'abc', 'v1,x'], env, body)
      expect([noTime.code, noTime.err], 'an invalid timestamp').toEqual([
        1,
        expect.not.stringMatching(/Error|Exception/),
      ])
    })
  })
}

test('the samples in Bash warn that the process list shows the secret passed to openssl', () => {
  for (const name of readdirSync(join(samples, 'bash'))) {
    const text = readFileSync(join(samples, 'bash', name), 'utf8')
    if (text.includes('-hmac "$')) expect(text, name).toContain('# openssl shows the secret in the process list')
  }
})

describe.skipIf(!canRun('the sample shop in Python', 'python3'))('the sample shop in Python', () => {
  const shop = (...args: string[]) => {
    const options = { cwd: join(samples, 'python'), env: { ...process.env, ...gateway.env } }
    return promisify(execFile)('python3', ['-B', 'shop.py', ...args], options)
  }

  test('orders, receives the delivery event and saves the QR code, but buys nothing in a second run', async () => {
    const picture = join(gateway.cwd, 'qr.png')
    const { stdout } = await shop('JP_1_7', 'SHOP-1', picture)
    expect(stdout).toMatch(
      /^ordered \S+\nevent \w+ [\s\S]*event DELIVERY_UPDATED DELIVERED\ndelivered \d{18,20} QR code in/,
    )
    expect(readFileSync(picture).subarray(1, 4).toString()).toBe('PNG')
    const again = await shop('JP_1_7', 'SHOP-1', picture)
    const [ordered] = stdout.split('\n')
    expect(again.stdout).toMatch(/^ordered \S+\ndelivered /)
    expect(again.stdout.split('\n')[0]).toBe(ordered)
  })

  test('restores the webhook setting, even if it fails', async () => {
    const esim = new DealerEsim(gateway.credentials)
    const receiver = createServer((_request, response) => response.writeHead(204).end())
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const callbackUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
    try {
      const before = await esim.setWebhook({ callbackUrl, eventTypes: ['ORDER_PAID'], enabled: true })
      await expect(shop('NO_SUCH_PACKAGE', 'SHOP-2', join(gateway.cwd, 'none.png'))).rejects.toThrow('310241')
      const { lastUpdateTime: _, ...setting } = before
      expect(await esim.setWebhook()).toMatchObject(setting)
    } finally {
      await esim.setWebhook({ callbackUrl: null, eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED'] })
      receiver.close()
    }
  })
})

interface Outcome {
  code: number
  out: string
  err: string
}

/** The command of each program from its second run on. */
const compiled = new Map<string, Promise<string[]>>()

async function run(
  language: Language,
  program: Program,
  args: readonly string[],
  env: Record<string, string> = {},
  stdin = '',
): Promise<Outcome> {
  const name = `${language.folder}/${program}`
  const known = compiled.get(name)
  if (!known && language.compiled) compiled.set(name, language.compiled(program))
  const [file = '', ...rest] = await (known ?? language.command(program))
  const options = {
    cwd: join(samples, language.folder),
    env: { ...process.env, ...language.env, ...env },
    timeout: 60_000,
  }
  return new Promise((resolve, reject) => {
    const child = execFile(file, [...rest, ...args], options, (error, out, err) => {
      if (error && typeof error.code !== 'number') reject(new Error(`${file}: ${error.message}\n${err}`))
      else resolve({ code: Number(error?.code ?? 0), out, err })
    })
    // A program that rejects the headers need not read the body.
    child.stdin?.on('error', () => undefined).end(stdin)
  })
}

const monoPrograms = new Map<Program, Promise<string>>()

/** Compiles a program once, with the part of .NET that Mono lacks. @returns the executable */
function compileForMono(program: Program): Promise<string> {
  const known = monoPrograms.get(program)
  if (known) return known
  const name = pascal[program]
  const executable = join(temporaryFolder('sample'), `${name}.exe`)
  const libraries = '-r:System.Core,System.Net.Http,System.Runtime.Serialization,System.Xml'
  const sources = [join(samples, 'csharp', `${name}.cs`), join(root, 'test/system-text-json.cs')]
  const compiling = promisify(execFile)('mcs', ['-warnaserror', libraries, `-out:${executable}`, ...sources])
  const compiled = compiling.then(() => executable)
  monoPrograms.set(program, compiled)
  return compiled
}

/** Compiles all programs in one run, which takes hardly longer than one program. @returns the folder of the classes */
async function compileJava(): Promise<string> {
  const folder = temporaryFolder('sample')
  const sources = Object.values(pascal).map((name) => join(samples, 'java', `${name}.java`))
  const env = { ...process.env, JAVA_TOOL_OPTIONS: QUICK_JAVA }
  await promisify(execFile)('javac', ['-d', folder, ...sources], { env })
  return folder
}
