import { type ExecFileException, execFile, execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { codeBlocks } from '@dealer-esim/gateway/test/harness/processes/docs-commands.ts'
import { stopGateways, temporaryFolder } from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type LocalGateway, root, startLocalGateway } from '../local-gateway.ts'
import { freePort, startCuttingProxy } from './proxies.ts'

/**
 * The SDKs as dealers get them: built, installed into an empty environment, and used as their READMEs and examples say. What a
 * machine does not have is skipped with a warning.
 */
const PYTHON = '/usr/bin/python3'
const pythonHas = (module: string) => {
  try {
    execFileSync(PYTHON, ['-c', `import ${module}`], { stdio: 'ignore' })
    return true
  } catch {
    return canRun(`what needs ${module} for Python`, `${PYTHON} with ${module}`)
  }
}

let gateway: LocalGateway
let esim: DealerEsim
beforeAll(async () => {
  gateway = await startLocalGateway()
  esim = new DealerEsim(gateway.credentials)
})
afterAll(stopGateways)

describe.skipIf(!canRun('the package for Python', PYTHON) || !pythonHas('build'))('the package for Python', () => {
  let installed: string
  let files: string[]
  beforeAll(async () => {
    const source = temporaryFolder('python-sdk')
    const built = temporaryFolder('python-dist')
    installed = temporaryFolder('python-installed')
    cpSync(join(root, 'sdks/python'), source, { recursive: true })
    await promisify(execFile)(PYTHON, ['-m', 'build', '--no-isolation', '--outdir', built], { cwd: source })
    files = readdirSync(built).sort()
    const wheel = join(built, files.find((name) => name.endsWith('.whl'))!)
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-index', '--no-deps', '--target', installed, wheel]
    await promisify(execFile)(PYTHON, pip, { env: { ...process.env, PIP_ROOT_USER_ACTION: 'ignore' } })
  })

  test('is a wheel and an sdist with the version of the gateway', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(files).toEqual([`dealer_esim-${version}-py3-none-any.whl`, `dealer-esim-${version}.tar.gz`].sort())
    expect(readdirSync(join(installed, 'dealer_esim'))).toContain('py.typed')
  })

  test('places the first order of its README', async () => {
    const [first = '', ...others] = codeBlocks(readFileSync(join(root, 'sdks/python/README.md'), 'utf8'), 'python')
    expect(first.trimEnd().split('\n').length).toBeLessThanOrEqual(12)
    const { out, err, code } = await python(['-c', first])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^\S+ DELIVERED http\S+\n$/)
    expect(await esim.query({ transactionId: 'T-1' })).toMatchObject({ orderStatus: 'DELIVERED' })
    // The other blocks continue the first one.
    const all = await python(['-c', [first, ...others].join('\n')])
    expect([all.code, all.err]).toEqual([0, ''])
    expect(all.out).toMatch(/GOT_RESOURCE\n$/)
  })

  test.skipIf(!canRun('the types of the SDK for Python', 'mypy'))(
    'has types that a strict checker accepts and uses',
    async () => {
      const folder = temporaryFolder('python-types')
      const program = `from dealer_esim import DealerEsim, refusals

def buy(esim: DealerEsim) -> str:
    try:
        order = esim.order({"transactionId": "T", "packageInfoList": [{"packageCode": "JP_1_7", "count": 1}]})
    except refusals.BalanceInsufficient as error:
        return str(error.data["shortfall"] + 1)
    return order["orderNo"] if order["replayed"] else order["currencyCode"]
`
      const wrong = program.replace('"count": 1}', '"counts": 1}').replace('"shortfall"', '"deficit"')
      writeFileSync(join(folder, 'right.py'), program)
      writeFileSync(join(folder, 'wrong.py'), wrong)
      const check = (...args: string[]) =>
        run(
          'mypy',
          ['--strict', '--no-warn-return-any', '--cache-dir', join(folder, 'cache'), ...args],
          { MYPYPATH: installed },
          folder,
        )
      expect(await check('right.py')).toMatchObject({ code: 0, err: '' })
      const { code, out } = await check('wrong.py')
      expect(code).toBe(1)
      expect(out).toContain('has no key "deficit"')
      expect(out.match(/wrong\.py:\d+: error/g)!.length).toBeGreaterThanOrEqual(2)
      const config = join(root, 'sdks/python/pyproject.toml')
      expect(await check('--config-file', config, join(root, 'sdks/python/src'))).toMatchObject({ code: 0 })
    },
  )

  describe.skipIf(!pythonHas('django'))('the example in Django', () => {
    const example = join(root, 'sdks/python/examples/django_shop.py')
    shopTests({
      settle: (env) => python([example, 'settle'], env),
      start: (port, env) => {
        const args = ['-B', example, 'runserver', '--noreload', `127.0.0.1:${port}`]
        return spawn(PYTHON, args, { env: { ...pythonEnv(), ...env }, stdio: 'ignore' })
      },
    })
  })

  const pythonEnv = () => ({ ...process.env, ...gateway.env, PYTHONPATH: installed, PYTHONUNBUFFERED: '1' })
  const python = (args: string[], env: Record<string, string> = {}) =>
    run(PYTHON, ['-B', ...args], { ...pythonEnv(), ...env }, temporaryFolder('python'))
})

interface Shop {
  start(port: number, env: Record<string, string>): ReturnType<typeof spawn>
  settle(env: Record<string, string>): Promise<Outcome>
}

/** What every example shop does, whatever its framework. */
function shopTests(shop: Shop): void {
  test('orders at checkout, loses nothing when the answer is lost, and keeps what events report', async () => {
    const proxy = await startCuttingProxy(gateway.credentials.baseUrl, 1)
    const port = await freePort()
    const folder = temporaryFolder('shop')
    mkdirSync(folder, { recursive: true })
    const env = { DEALER_ESIM_BASE_URL: proxy.baseUrl, SHOP_DATABASE: join(folder, 'shop.sqlite3') }
    const server = shop.start(port, env)
    const before = await esim.setWebhook()
    onTestFinished(async () => {
      server.kill()
      proxy.close()
      await esim.setWebhook({ callbackUrl: before.callbackUrl, enabled: before.enabled })
    })
    const url = `http://127.0.0.1:${port}`
    await expect
      .poll(() =>
        fetch(`${url}/checkout`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(405)

    const checkout = async () => {
      const body = new URLSearchParams({ packageCode: 'JP_1_7' })
      const answer = await fetch(`${url}/checkout`, { method: 'POST', body })
      return (await answer.json()) as { transactionId: string; status: string }
    }
    const lost = await checkout()
    expect(lost.status).toBe('UNKNOWN')
    // The gateway has the order, although its answer was lost.
    await expect.poll(() => esim.query({ transactionId: lost.transactionId }).catch(() => undefined)).toBeDefined()
    const settled = await shop.settle(env)
    expect([settled.code, settled.out]).toEqual([0, expect.stringContaining(lost.transactionId)])
    expect(settled.out).not.toContain('UNKNOWN')
    expect((await shop.settle(env)).out, 'nothing is left to settle').toBe('')
    const entries: string[] = []
    for await (const { transactionId } of esim.eachEntry({ kind: 'ORDER' })) entries.push(transactionId ?? '')
    expect(entries.filter((each) => each === lost.transactionId)).toHaveLength(1)

    await esim.setWebhook({ callbackUrl: `${url}/esim-events`, enabled: true })
    const { transactionId, status } = await checkout()
    expect(status).toMatch(/^(PAID|ALLOCATING|DELIVERED)$/)
    await expect.poll(() => statusOf(env.SHOP_DATABASE, transactionId)).toBe('DELIVERED')
    const forged = await fetch(`${url}/esim-events`, { method: 'POST', body: '{}' })
    expect(forged.status).toBe(401)
  })
}

async function statusOf(database: string, transactionId: string): Promise<string> {
  const script =
    'import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute("select status from purchases where transaction_id = ?", sys.argv[2:]).fetchone()[0])'
  const { out } = await run(PYTHON, ['-c', script, database, transactionId])
  return out.trim()
}

interface Outcome {
  code: number
  out: string
  err: string
}

function run(file: string, args: string[], env: NodeJS.ProcessEnv = {}, cwd = root): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, cwd, timeout: 60_000 }
    execFile(file, args, options, (error: ExecFileException | null, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    )
  })
}
