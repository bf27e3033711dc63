import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { readEnvironmentFile } from '@dealer-esim/gateway/operations/setup/environment-file.ts'
import { withServerClient } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { freePort } from '@dealer-esim/gateway/test/harness/processes/free-port.ts'
import { removeFolder } from '@dealer-esim/gateway/test/harness/temporary-folders.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../local-gateway.ts'
import { hasAirGaps, startAirGap } from './air-gap.ts'
import { builtArtifacts, sbomPackages } from './built-artifacts.ts'
import { openedConnections, RECORD_CONNECTIONS } from './connection-recorder.ts'
import { startDebian } from './debian-machine.ts'
import { inRoot, mayUnshare, unpackBase } from './debian-root.ts'
import { DRAWN_PNG, drawing } from './drawing.ts'
import { expectPagesUnder, startPrefixProxy } from './prefix-proxy.ts'
import { expectStated, readmeCommands } from './readme-commands.ts'
import { emptyFolder, run, sell, startService } from './service.ts'

const PREFIX = '/dealers'
const UNIT = '/lib/systemd/system/dealer-esim.service'
/** Later than any version of this checkout. */
const LATER = '99.0.0'
const isPossible = mayUnshare('the Debian package', ['--mount'], 'mmdebstrap', 'lintian')

/** As README says, with root for sudo. */
const [install = [], setUp = [], enable = []] = readmeCommands('sudo apt install').map((command) =>
  command.replace('sudo ', '').split(' '),
)
const setupFlags = (databaseAdmin: string) => [
  ...['--deployment', 'test', '--public-url', `https://esim.example.com${PREFIX}`, '--proxies', '127.0.0.1'],
  ...['--database-admin', databaseAdmin, '--operator-email', 'a@example.com'],
]

/* The package in its own Debian 12. PostgreSQL stands in for one on another machine, reached over the network. */
describe.skipIf(!isPossible)('the Debian package', () => {
  const folder = emptyFolder('deb')
  const debian = join(folder, 'root')
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' }
  const inside = (command: string[], user?: string) =>
    run(inRoot({ folder: debian, ...(user && { user }) }, command), { cwd: '/', env })
  const environment = join(debian, 'etc/dealer-esim/environment')
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
    removeFolder(folder)
  })

  test('has no errors according to lintian', () => {
    // The overrides are shown too: if lintian checked nothing, it would show none.
    const command = 'lintian --show-overrides --tag-display-limit 0 "$0" 2>/dev/null || true'
    const lines = execFileSync('sh', ['-c', command, file], { encoding: 'utf8' }).split('\n')
    expect(lines.filter((line) => line.startsWith('E:'))).toEqual([])
    expect(lines.filter((line) => line.startsWith('O:'))).not.toEqual([])
  })

  test('contains an SBOM that lists the bundled packages, Node, and the native package for its architecture', () => {
    const packages = sbomPackages(dirname(file), '.deb.cdx.json')
    const native = ['@node-rs/argon2', '@node-rs/argon2-linux-x64-gnu', 'sharp', '@img/sharp-libvips-linux-x64']
    const listed = ['pkg:npm/fastify', 'pkg:generic/node', ...native.map((name) => `pkg:npm/${name}`)]
    expect(packages).toEqual(expect.arrayContaining(listed))
    for (const name of ['@node-rs/argon2-linux-arm64-gnu', '@img/sharp-libvips-linux-arm64'])
      expect(packages).not.toContain(`pkg:npm/${name}`)
  })

  /** The command of the package's unit, without systemd. */
  const start = () => {
    const unit = readFileSync(join(debian, UNIT), 'utf8')
    const [user, cwd, command] = ['User', 'WorkingDirectory', 'ExecStart'].map(
      (name) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)![1]!,
    ) as [string, string, string]
    const service = ['env', '-C', cwd, ...command.split(' ')]
    const settings = readEnvironmentFile(environment)
    return startService(inRoot({ folder: debian, user: `${user}:${user}` }, service), {
      cwd: '/',
      env: { ...env, ...settings, METRICS_PORT: '0' },
    })
  }
  let sold: { appKey: string; appSecret: string; packageCode: string; orderNo: string }
  /** Repeats the order. If it were debited again, the answer would have a different number. */
  const repeatOrder = async (baseUrl: string) => {
    const proxy = await startPrefixProxy(baseUrl, PREFIX)
    const replayed = await sell({ ...sold, baseUrl: proxy.url }, 'DEB-1', sold.packageCode)
    proxy.close()
    expect(replayed).toMatchObject({ orderNo: sold.orderNo, replayed: true })
  }

  test('installs, is set up by one command, sells as its own user, and resumes after a restart', async () => {
    copyFileSync(file, join(debian, basename(file)))
    await inside(install)
    const verified = await inside(['systemd-analyze', 'verify', UNIT])
    expect(verified).toBe('')
    const printed = await inside([...setUp, ...setupFlags(server.url), '--port', String(await freePort())])
    expect(printed).toContain('0 faults')
    const [, kilobytes] = /^Installed-Size: (\d+)$/m.exec(await inside(['dpkg', '--status', 'dealer-esim-gateway']))!
    const installed = Number(kilobytes) * 1_024
    const [node, archive] = [join(debian, 'usr/lib/dealer-esim-gateway/node'), file].map((path) => statSync(path).size)
    expectStated('package in the README', [installed])
    expectStated('package', [installed, node!, archive!])

    const refused = inside(['dealer-esim-admin', 'doctor'], 'nobody:nogroup')
    await expect(refused).rejects.toThrow(/Only root can read the gateway's variables/)
    const first = await start()
    const { tenantId, ...keys } = JSON.parse(
      await inside(['dealer-esim-admin', 'tenant', 'create', '--name', 'Acme', '--json']),
    )
    await inside(['dealer-esim-admin', 'wallet', 'top-up', tenantId, '100.00', '--reference', 'INV-1'])
    expectStated('memory in the README', [first.residentBytes()], 0.3)
    expectStated('memory', [first.residentBytes()], 0.3)
    const proxy = await startPrefixProxy(first.baseUrl, PREFIX)
    const [{ packageCode }] = JSON.parse(await inside(['dealer-esim-admin', 'package', 'list', '--json']))
    const { orderNo } = await sell({ ...keys, baseUrl: proxy.url }, 'DEB-1', packageCode)
    sold = { ...keys, packageCode, orderNo }
    await expectPagesUnder(proxy.url, PREFIX)
    expect(await inside(['dealer-esim-admin', 'doctor'])).not.toContain('FAULT')
    expect((await first.stop('SIGTERM')).code).toBe(0)
    proxy.close()

    const second = await start()
    await repeatOrder(second.baseUrl)
    await second.stop('SIGTERM')
  }, 600_000)

  test.skipIf(!hasAirGaps())(
    'has a README that works with systemd and without a network, from installation to removal',
    async () => {
      const machine = join(folder, 'machine')
      unpackBase(machine)
      copyFileSync(file, join(machine, basename(file)))
      const gap = await startAirGap({ gateway: 8080, database: Number(new URL(server.url).port) })
      const systemd = await startDebian(machine, gap.enter)
      const proxy = await startPrefixProxy(gap.url, PREFIX)
      try {
        await systemd.run(install)
        expect(await systemd.run(['systemctl', 'is-enabled', 'dealer-esim']).catch(String)).toContain('disabled')
        const name = ['--database-name', 'machine']
        expect(await systemd.run([...setUp, ...setupFlags(server.url), ...name])).toContain('0 faults')
        const recorder = `[Service]\nEnvironment="NODE_OPTIONS=${RECORD_CONNECTIONS.replaceAll('%', '%%')}"\n`
        mkdirSync(join(machine, 'etc/systemd/system/dealer-esim.service.d'), { recursive: true })
        writeFileSync(join(machine, 'etc/systemd/system/dealer-esim.service.d/record.conf'), recorder)
        await systemd.run(enable)
        const show = async (property: string) =>
          (await systemd.run(['systemctl', 'show', '--value', '-p', property, 'dealer-esim'])).trim()
        const serves = () => fetch(`${proxy.url}/docs`).then(({ status }) => status, String)
        await expect.poll(serves, { timeout: 120_000 }).toBe(200)

        const asAda = { SUDO_USER: 'ada' }
        const create = ['dealer-esim-admin', 'tenant', 'create', '--name', 'Acme', '--json']
        const { tenantId, ...keys } = JSON.parse(await systemd.run(create, asAda))
        const topUp = ['dealer-esim-admin', 'wallet', 'top-up', tenantId, '100.00', '--reference', 'INV-1']
        await systemd.run(topUp, asAda)
        const { DATABASE_URL = '' } = readEnvironmentFile(join(machine, 'etc/dealer-esim/environment'))
        const { rows } = await withServerClient(DATABASE_URL, (client) =>
          client.query('select distinct actor from audit_log where tenant_id = $1', [tenantId]),
        )
        expect(rows).toEqual([{ actor: 'cli:ada' }])
        const unknown = systemd.run(['dealer-esim-admin', 'wallet', 'show', 'nobody'])
        await expect(unknown).rejects.toThrow(/nobody/)
        const [{ packageCode }] = JSON.parse(await systemd.run(['dealer-esim-admin', 'package', 'list', '--json']))
        const credentials = { ...keys, baseUrl: proxy.url }
        const { orderNo } = await sell(credentials, 'MACHINE-1', packageCode)

        const pid = await show('MainPID')
        const later = laterRelease(file, folder)
        copyFileSync(later, join(machine, basename(later)))
        await systemd.run(['apt-get', 'install', '-y', `/${basename(later)}`])
        await expect.poll(serves, { timeout: 120_000 }).toBe(200)
        expect(await show('MainPID')).not.toBe(pid)
        expect(await sell(credentials, 'MACHINE-1', packageCode)).toMatchObject({ orderNo, replayed: true })
        expect(await systemd.run(['dealer-esim-admin', 'doctor'])).not.toContain('FAULT')

        await systemd.run(['rm', '/run/dbus/system_bus_socket'])
        await expect(systemd.run(['dealer-esim-admin', 'doctor'])).rejects.toThrow(/apt install dbus/)

        await systemd.run(['apt-get', 'remove', '-y', 'dealer-esim-gateway'])
        expect(existsSync(join(machine, 'etc/dealer-esim/environment'))).toBe(true)
        const log = await systemd.run(['journalctl', '--unit', 'dealer-esim', '--output', 'cat'])
        expect(log).toMatch(/"msg":"stopping"/)
        expect(openedConnections(log)).toEqual([`connect ${new URL(DATABASE_URL).host}`])
      } finally {
        proxy.close()
        await systemd.stop()
        gap.close()
      }
    },
    600_000,
  )

  test('draws the pictures of brands with its own Node and native library', async () => {
    const installed = '/usr/lib/dealer-esim-gateway'
    expect(await inside(drawing(`${installed}/node`, installed), 'nobody:nogroup')).toBe(DRAWN_PNG)
  })

  test('contains the alert rules and the dashboard unchanged', () => {
    for (const name of ['alerts.yml', 'grafana-dashboard.json']) {
      const installed = readFileSync(join(debian, 'usr/share/dealer-esim-gateway', name), 'utf8')
      expect(installed).toBe(readFileSync(join(root, 'ops', name), 'utf8'))
    }
  })

  test('keeps variables and data in an upgrade, which restarts the unit and migrates the database', async () => {
    const before = readFileSync(environment, 'utf8')
    const running = await start()
    const later = laterRelease(file, folder)
    copyFileSync(later, join(debian, basename(later)))
    const calls = await callsOfSystemctl(debian, () => inside(['dpkg', '--install', `/${basename(later)}`]))
    // This is what try-restart does to a running service.
    expect(calls.filter((call) => /reload|start|stop/.test(call)).slice(-2)).toEqual([
      '--system daemon-reload',
      'try-restart dealer-esim.service',
    ])
    expect((await running.stop('SIGTERM')).code).toBe(0)
    const upgraded = await start()
    await repeatOrder(upgraded.baseUrl)
    expect(await inside(['dealer-esim-admin', 'doctor'])).not.toContain('FAULT')
    await upgraded.stop('SIGTERM')

    expect(readFileSync(environment, 'utf8')).toBe(before)
    const installed = await inside(['dpkg-query', '--show', 'dealer-esim-gateway'])
    expect(installed).toBe(`dealer-esim-gateway\t${LATER}\n`)
    const { rows } = await withServerClient(readEnvironmentFile(environment).DATABASE_URL!, (client) =>
      client.query('select 1 from added_by_a_later_release'),
    )
    expect(rows).toEqual([])
  }, 600_000)

  test('keeps its variables when removed, and only the database’s key when purged', async () => {
    const before = readFileSync(environment, 'utf8')
    const { MASTER_KEY } = readEnvironmentFile(environment)
    await inside(['apt-get', 'remove', '-y', 'dealer-esim-gateway'])
    expect(existsSync(join(debian, 'usr/lib/dealer-esim-gateway'))).toBe(false)
    expect(readFileSync(environment, 'utf8')).toBe(before)
    await inside(['apt-get', 'purge', '-y', 'dealer-esim-gateway'])
    expect(
      ['usr/lib/dealer-esim-gateway', 'etc/dealer-esim', 'usr/bin/dealer-esim-admin'].filter((path) =>
        existsSync(join(debian, path)),
      ),
    ).toEqual([])
    // The database is still there, and only this key opens it.
    expect(readFileSync(join(debian, 'var/backups/dealer-esim.master-key'), 'utf8')).toBe(`MASTER_KEY=${MASTER_KEY}\n`)
  })
})

/** The package as a later release would be: with a higher version and one more migration. Made once. */
function laterRelease(file: string, folder: string): string {
  const tree = join(folder, 'later')
  const later = `${tree}.deb`
  if (existsSync(later)) return later
  execFileSync('dpkg-deb', ['--raw-extract', file, tree])
  const control = join(tree, 'DEBIAN/control')
  const text = readFileSync(control, 'utf8')
  writeFileSync(control, text.replace(/^Version: .*$/m, `Version: ${LATER}`))
  const migration = join(tree, 'usr/lib/dealer-esim-gateway/migrations/9999_later_release.sql')
  writeFileSync(migration, 'create table added_by_a_later_release (id int primary key);\n', { mode: 0o644 })
  execFileSync('dpkg-deb', ['--root-owner-group', '-z1', '--build', tree, later], { stdio: 'pipe' })
  return later
}

/** Runs something in a root that seems to have been started by systemd, whose systemctl only records its calls. */
async function callsOfSystemctl(debian: string, action: () => Promise<unknown>): Promise<string[]> {
  const [booted, program, record] = ['run/systemd/system', 'usr/bin/systemctl', 'run/systemctl-calls'].map((path) =>
    join(debian, path),
  ) as [string, string, string]
  mkdirSync(booted, { recursive: true })
  renameSync(program, `${program}.own`)
  writeFileSync(program, '#!/bin/sh\necho "$*" >>/run/systemctl-calls\n', { mode: 0o755 })
  try {
    await action()
    return readFileSync(record, 'utf8').trimEnd().split('\n')
  } finally {
    removeFolder(booted)
    renameSync(`${program}.own`, program)
  }
}
