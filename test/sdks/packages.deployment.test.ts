import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { canRun, isInstalled } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { codeBlocks } from '@dealer-esim/gateway/test/harness/processes/docs-commands.ts'
import { stopGateways, temporaryFolder } from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalGateway, root, startLocalGateway } from '../local-gateway.ts'
import { run, testShop } from './shop.ts'

/**
 * The SDKs as dealers get them: built, installed into an empty environment, and used as their READMEs and examples say. What a
 * machine does not have is skipped with a warning.
 */
const PYTHON = '/usr/bin/python3'
/** Modules of Debian's Python that the tests need. They are looked for, because importing some disturbs others. */
const pythonHas = (...modules: string[]) => {
  const find = 'import sys; from importlib.util import find_spec; sys.exit(None in map(find_spec, sys.argv[1:]))'
  const has = spawnSync(PYTHON, ['-c', find, ...modules]).status === 0
  return has || canRun(`what needs ${modules.join(', ')} for Python`, `${PYTHON} with ${modules.join(', ')}`)
}

let gateway: LocalGateway
let esim: DealerEsim
beforeAll(async () => {
  gateway = await startLocalGateway()
  esim = new DealerEsim(gateway.credentials)
})
afterAll(stopGateways)

describe.skipIf(!canRun('the package for Python', PYTHON) || !pythonHas('build', 'pip', 'setuptools', 'wheel'))(
  'the package for Python',
  () => {
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
      expect(readdirSync(join(installed, `dealer_esim-${version}.dist-info`))).toContain('LICENSE')
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
      testShop(() => gateway, {
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
  },
)

const SYMFONY = '/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php'
const PSR = '/usr/share/php/Psr/Http'
const phpHas = (what: string, test: string) => {
  const has = isInstalled('php') && spawnSync('php', ['-r', `exit((${test}) ? 0 : 1);`]).status === 0
  return has || canRun(`what needs ${what} for PHP`, `php with ${what}`)
}

describe.skipIf(!canRun('the package for PHP', 'php', 'composer') || !phpHas('curl', 'extension_loaded("curl")'))(
  'the package for PHP',
  () => {
    let project: string
    beforeAll(async () => {
      project = temporaryFolder('php-project')
      const source = temporaryFolder('php-sdk')
      const packed = temporaryFolder('php-packed')
      cpSync(join(root, 'sdks/php'), source, { recursive: true })
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      const composer = async (cwd: string, ...args: string[]) => {
        const env = { COMPOSER_ALLOW_SUPERUSER: '1', COMPOSER_HOME: join(packed, 'home') }
        expect(await run('composer', ['--no-interaction', ...args], env, cwd)).toMatchObject({ code: 0 })
      }
      await composer(source, 'validate', '--strict')
      await composer(source, 'archive', '--format=tar', `--dir=${packed}`, '--file=sdk')
      const unpacked = join(packed, 'sdk')
      mkdirSync(unpacked)
      execFileSync('tar', ['xf', join(packed, 'sdk.tar'), '-C', unpacked])
      const options = { symlink: false, versions: { 'dealer-esim/sdk': version } }
      const repositories = [
        { 'packagist.org': false },
        { type: 'path', url: unpacked, options },
        psrPackage('http-client', 'Client'),
        psrPackage('http-message', 'Message'),
        psrPackage('http-factory', 'Message'),
      ]
      const manifest = { repositories, require: { 'dealer-esim/sdk': '*' } }
      writeFileSync(join(project, 'composer.json'), JSON.stringify(manifest))
      await composer(project, 'install', '--quiet')
    })

    test('places the first order of its README', async () => {
      const [first = '', ...others] = codeBlocks(readFileSync(join(root, 'sdks/php/README.md'), 'utf8'), 'php')
      expect(first.trimEnd().split('\n').length).toBeLessThanOrEqual(13)
      const program = (code: string) => php(['-r', code.replace('<?php\n', '').replaceAll("'T-1'", "'PHP-1'")])
      const { out, err, code } = await program(first)
      expect([code, err]).toEqual([0, ''])
      expect(out).toMatch(/^\S+ DELIVERED http\S+\n$/)
      expect(await esim.query({ transactionId: 'PHP-1' })).toMatchObject({ orderStatus: 'DELIVERED' })
      // The other blocks continue the first one. Their `use` lines must come first.
      const all = [first, ...others].join('\n')
      const uses = all.match(/^use .*$/gm) ?? []
      expect(await program([...uses, all.replace(/^use .*$/gm, '')].join('\n'))).toMatchObject({
        ...{ code: 0, err: '' },
        out: expect.stringMatching(/GOT_RESOURCE\n$/),
      })
    })

    test('shows no secret when it is dumped or fails', async () => {
      const code = `require 'vendor/autoload.php';
      $esim = new DealerEsim\\Client('http://127.0.0.1:1', 'some_app_key', 'the-secret-itself', retries: 0);
      var_dump($esim);
      try { $esim->health(); } catch (Exception $error) { echo $error; }
      try { new DealerEsim\\Client('http://127.0.0.1:1', 'some_app_key', 'the-secret-itself '); } catch (Exception $error) { echo $error; }`
      const { out } = await php(['-r', code])
      expect(out).toContain('Cannot reach http://127.0.0.1:1')
      expect(out).toContain('appSecret begins or ends')
      expect(out).not.toContain('the-secret-itself')
    })

    const hasClient = phpHas('a PSR-18 client', 'is_file("/usr/share/php/Symfony/Component/HttpClient/autoload.php")')
    test.skipIf(!hasClient)("sends its requests with the application's own client", async () => {
      const code = `require 'vendor/autoload.php';
      require '/usr/share/php/Symfony/Component/HttpClient/autoload.php';
      require '/usr/share/php/Nyholm/Psr7/autoload.php';
      use DealerEsim\\Client; use DealerEsim\\Http\\Psr18Transport; use Nyholm\\Psr7\\Factory\\Psr17Factory;
      $factory = new Psr17Factory();
      $client = new Symfony\\Component\\HttpClient\\Psr18Client(null, $factory, $factory);
      $transport = new Psr18Transport($client, $factory, $factory);
      [$url, $key, $secret] = array_map('getenv', ['DEALER_ESIM_BASE_URL', 'DEALER_ESIM_APP_KEY', 'DEALER_ESIM_APP_SECRET']);
      $request = ['transactionId' => 'PSR-${randomUUID()}', 'packageInfoList' => [['packageCode' => 'JP_1_7', 'count' => 1]]];
      $esim = new Client($url, $key, $secret, transport: $transport);
      foreach ([1, 2] as $_) echo $esim->order($request)->replayed ? 'again ' : 'new ';
      try { (new Client('http://127.0.0.1:1', $key, $secret, retries: 0, transport: $transport))->order($request); }
      catch (DealerEsim\\Exception\\NetworkFault $error) { echo $error->outcomeUnknown ? 'unknown' : 'known'; }`
      expect(await php(['-r', code])).toMatchObject({ out: 'new again unknown', code: 0 })
    })

    const hasSymfony = phpHas('Symfony and SQLite', `is_file("${SYMFONY}") && extension_loaded("pdo_sqlite")`)
    describe.skipIf(!hasSymfony)('the example in Symfony', () => {
      const autoload = () => {
        const file = join(project, 'autoload.php')
        writeFileSync(file, `<?php require '${SYMFONY}'; require __DIR__ . '/vendor/autoload.php';`)
        cpSync(join(root, 'sdks/php/examples/symfony_shop.php'), join(project, 'symfony_shop.php'))
        return { SHOP_AUTOLOAD: file }
      }
      testShop(() => gateway, {
        settle: (env) => php(['symfony_shop.php', 'settle'], { ...env, ...autoload() }),
        start: (port, env) => {
          const options = { cwd: project, env: { ...process.env, ...gateway.env, ...env, ...autoload() } }
          return spawn('php', ['-S', `127.0.0.1:${port}`, 'symfony_shop.php'], { ...options, stdio: 'ignore' })
        },
      })
    })

    const php = (args: string[], env: Record<string, string> = {}) => {
      return run(
        'php',
        ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr', ...args],
        { ...gateway.env, ...env },
        project,
      )
    }
  },
)

/** Debian has the interfaces of PSR without a composer.json. */
function psrPackage(name: string, folder: string): object {
  const dist = { type: 'path', url: join(PSR, folder) }
  const autoload = { 'psr-4': { [`Psr\\Http\\${folder}\\`]: '' } }
  return { type: 'package', package: { name: `psr/${name}`, version: '1.0.1', dist, autoload } }
}
