import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtArtifacts } from './built-artifacts.ts'
import { inRoot, unpackBase } from './debian-root.ts'
import { startPrefixProxy } from './prefix-proxy.ts'
import { readmeCommands } from './readme-commands.ts'
import { emptyFolder, run, sell, startService } from './service.ts'

const isPossible = process.getuid?.() === 0 && canRun('the Debian package', 'mmdebstrap', 'lintian', 'unshare')

/* The package in a Debian 12 of its own. The PostgreSQL is another machine's, reached over the network. */
describe.skipIf(!isPossible)('the Debian package', () => {
  const folder = emptyFolder('deb')
  const debian = join(folder, 'root')
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' }
  const inside = (command: string[], user?: string) =>
    run(inRoot({ folder: debian, ...(user && { user }) }, command), { cwd: '/', env })
  let file: string
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>
  beforeAll(async () => {
    const artifacts = builtArtifacts('deb')
    file = join(artifacts, readdirSync(artifacts).find((name) => name.endsWith('.deb'))!)
    unpackBase(debian)
    server = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), log: silentLog, expectedErrors: /^$/ })
  }, 900_000)
  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('has no errors by lintian', () => {
    const tags = execFileSync('sh', ['-c', 'lintian --tag-display-limit 0 "$0" 2>/dev/null || true', file], {
      encoding: 'utf8',
    })
    expect(tags.split('\n').filter((line) => line.startsWith('E:'))).toEqual([])
  })

  test('is installed, set up by one command, sells as its own user, survives an upgrade, and is purged', async () => {
    // As README says, with root for sudo.
    const commands = readmeCommands('sudo apt install').map((command) => command.replace('sudo ', '').split(' '))
    const [install = [], setUp = [], enable = []] = commands
    copyFileSync(file, join(debian, basename(file)))
    await inside(install)
    const prefix = '/dealers'
    const address = ['--deployment', 'test', '--public-url', `https://esim.example.com${prefix}`]
    const others = ['--proxies', '127.0.0.1', '--database-admin', server.url, '--port', '18080']
    const printed = await inside([...setUp, ...address, ...others, '--operator-email', 'a@example.com'])
    expect(printed).toContain('0 faults')
    const environment = join(debian, 'etc/dealer-esim/environment')
    const settings = Object.fromEntries(
      readFileSync(environment, 'utf8')
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )

    // The root has no systemd: what it would start for README's systemctl.
    expect(enable).toEqual(['systemctl', 'enable', '--now', 'dealer-esim'])
    const unit = readFileSync(join(debian, 'lib/systemd/system/dealer-esim.service'), 'utf8')
    const [user, cwd, command] = ['User', 'WorkingDirectory', 'ExecStart'].map(
      (name) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)![1]!,
    ) as [string, string, string]
    const service = ['env', '-C', cwd, ...command.split(' ')]
    const start = () =>
      startService(inRoot({ folder: debian, user: `${user}:${user}` }, service), {
        cwd: '/',
        env: { ...env, ...settings, METRICS_PORT: '0' },
      })
    const refused = inside(['dealer-esim-admin', 'doctor'], 'nobody:nogroup')
    await expect(refused).rejects.toThrow(/Only root can read the gateway's variables/)
    const first = await start()
    const created = JSON.parse(await inside(['dealer-esim-admin', 'tenant', 'create', '--name', 'Acme', '--json']))
    await inside(['dealer-esim-admin', 'wallet', 'top-up', created.tenantId, '100.00', '--reference', 'INV-1'])
    const proxy = await startPrefixProxy(first.baseUrl, prefix)
    const credentials = { baseUrl: proxy.url, appKey: created.appKey, appSecret: created.appSecret }
    const [sold] = JSON.parse(await inside(['dealer-esim-admin', 'package', 'list', '--json']))
    const order = await sell(credentials, 'DEB-1', sold.packageCode)
    expect(await (await fetch(`${proxy.url}/docs`)).text()).toContain('href="')
    expect(await inside(['dealer-esim-admin', 'doctor'])).not.toContain('FAULT')
    expect((await first.stop('SIGTERM')).code).toBe(0)
    proxy.close()

    await inside(['dpkg', '--install', `/${basename(file)}`])
    const second = await start()
    const again = await startPrefixProxy(second.baseUrl, prefix)
    const replayed = await sell({ ...credentials, baseUrl: again.url }, 'DEB-1', sold.packageCode)
    expect(replayed).toMatchObject({ orderNo: order.orderNo, replayed: true })
    again.close()
    await second.stop('SIGTERM')

    await inside(['apt-get', 'purge', '-y', 'dealer-esim-gateway'])
    expect(
      ['usr/lib/dealer-esim-gateway', 'etc/dealer-esim', 'usr/bin/dealer-esim-admin'].filter((path) =>
        existsSync(join(debian, path)),
      ),
    ).toEqual([])
    // The database is still there, and only this key opens it.
    expect(readFileSync(join(debian, 'var/backups/dealer-esim.master-key'), 'utf8')).toBe(
      `MASTER_KEY=${settings.MASTER_KEY}\n`,
    )
  }, 600_000)
})
