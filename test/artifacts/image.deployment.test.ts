import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { withServerClient } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { removeFolder } from '@dealer-esim/gateway/test/harness/temporary-folders.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { root } from '../local-gateway.ts'
import { hasAirGaps, startAirGap } from './air-gap.ts'
import { builtArtifacts, sbomPackages } from './built-artifacts.ts'
import { openedConnections, RECORD_CONNECTIONS } from './connection-recorder.ts'
import { inRoot, mayUnshare } from './debian-root.ts'
import { DRAWN_PNG, drawing } from './drawing.ts'
import { expectPagesUnder, startPrefixProxy } from './prefix-proxy.ts'
import { expectStated, readmeCommands } from './readme-commands.ts'
import { emptyFolder, run, sell, startService } from './service.ts'

const isPossible = mayUnshare('the container image', ['--mount'], 'mmdebstrap', 'buildah')

interface ImageConfig {
  config: {
    Env: string[]
    User: string
    Cmd: string[]
    WorkingDir: string
    StopSignal: string
    Healthcheck: { Test: string[] }
  }
}

interface Compose {
  services: Record<string, ComposeService>
}

interface ComposeService {
  image: string
  user?: string
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  healthcheck?: { test: string[] }
  read_only?: boolean
}

/*
 * The image is unpacked and its command run as a container engine would run it: with its environment, in its root without
 * write access, by a user id that the image does not know.
 */
describe.skipIf(!isPossible)('the container image', () => {
  const folder = emptyFolder('image')
  const container = join(folder, 'root')
  const ANY_USER = '123456:0'
  let artifacts: string
  let image: ImageConfig['config']
  let env: Record<string, string>
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>
  beforeAll(async () => {
    artifacts = builtArtifacts('image')
    image = unpackImage(archiveIn(artifacts), container)
    env = Object.fromEntries(
      image.Env.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    )
    server = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), log: silentLog, expectedErrors: /^$/ })
  }, 900_000)
  afterAll(async () => {
    await server?.stop()
    removeFolder(folder)
  })

  test('contains an SBOM that lists the bundled and native packages, Node, and the Debian libraries', () => {
    const packages = sbomPackages(artifacts, 'amd64.tar.cdx.json')
    const native = ['x64', 'arm64'].flatMap((arch) => [
      `pkg:npm/@node-rs/argon2-linux-${arch}-gnu`,
      `pkg:npm/@img/sharp-libvips-linux-${arch}`,
    ])
    const expected = ['pkg:npm/fastify', ...native, 'pkg:generic/node', 'pkg:deb/debian/libc6', 'pkg:deb/debian/tzdata']
    expect(packages).toEqual(expect.arrayContaining(expected))
  })

  const inside = (command: string[], variables: Record<string, string>) => ({
    command: inRoot({ folder: container, user: ANY_USER, readOnly: true }, ['env', '-C', image.WorkingDir, ...command]),
    surroundings: { cwd: '/', env: { ...env, ...variables } },
  })
  const exec = (command: string[], variables: Record<string, string>) => {
    const { command: full, surroundings } = inside(command, variables)
    return run(full, surroundings)
  }
  const start = (variables: Record<string, string>) => {
    const { command, surroundings } = inside(image.Cmd, variables)
    return startService(command, surroundings)
  }

  test('declares an unprivileged user, a stop signal and a health check, but no address', async () => {
    expect(image).toMatchObject({ User: '10001:10001', StopSignal: 'SIGTERM' })
    expect(image.Healthcheck.Test).toEqual(['CMD', 'node', 'bin/health.mjs'])
    expect(JSON.stringify(image)).not.toMatch(/https?:/)
    expect(await exec(['node', '--version'], {})).toMatch(/^v24\./)
    const recipe = readFileSync(join(root, 'ops/container/Containerfile'), 'utf8')
    expect(recipe).toMatch(/^ARG BASE=.*\nFROM \$\{BASE\}$/m)
    expect(recipe).not.toMatch(/amd64|arm64|x64|x86/)
    const native = readdirSync(join(container, 'opt/dealer-esim/node_modules/@node-rs'))
    expect(native).toEqual(['argon2', 'argon2-linux-arm64-gnu', 'argon2-linux-x64-gnu'])
  })

  test('runs with a read-only file system under any user id, behind a proxy with a prefix, with a new PUBLIC_URL', async () => {
    const secrets = join(container, 'run/dealer-esim')
    mkdirSync(secrets, { recursive: true })
    writeFileSync(join(secrets, 'master-key'), Buffer.alloc(32, 9).toString('base64'))
    writeFileSync(join(secrets, 'database-url'), server.url)
    const variables = {
      ...{ DEPLOYMENT: 'test', PUBLIC_URL: 'https://esim.example.com/dealers', TRUSTED_PROXIES: '127.0.0.1' },
      ...{ DATABASE_URL_FILE: '/run/dealer-esim/database-url', MASTER_KEY_FILE: '/run/dealer-esim/master-key' },
      ...{ PORT: '0', METRICS_PORT: '0', HOST: '127.0.0.1' },
    }
    const first = await start(variables)
    const created = JSON.parse(
      await exec(['dealer-esim-admin', 'tenant', 'create', '--name', 'Acme', '--json'], variables),
    )
    await exec(['dealer-esim-admin', 'wallet', 'top-up', created.tenantId, '100.00', '--reference', 'INV-1'], variables)
    const [sold] = JSON.parse(await exec(['dealer-esim-admin', 'package', 'list', '--json'], variables))
    const proxy = await startPrefixProxy(first.baseUrl, '/dealers')
    const credentials = { appKey: created.appKey, appSecret: created.appSecret }
    const order = await sell({ ...credentials, baseUrl: proxy.url }, 'IMAGE-1', sold.packageCode)
    await expectPagesUnder(proxy.url, '/dealers')
    const openApi = await (await fetch(`${proxy.url}/docs/openapi.json`)).json()
    expect(openApi.servers).toEqual([{ url: 'https://esim.example.com/dealers' }])
    const health = ['node', 'bin/health.mjs']
    await exec(health, { ...variables, METRICS_PORT: new URL(first.metricsUrl).port })
    await expect(exec(health, { ...variables, METRICS_PORT: '1' })).rejects.toThrow()
    expect(await exec(['dealer-esim-admin', 'doctor'], variables)).not.toContain('FAULT')
    const [load = ''] = readmeCommands('docker load')
    expect(readdirSync(artifacts)).toContain(load.split(' ').at(-1))
    expect((await first.stop('SIGTERM')).code).toBe(0)
    proxy.close()

    const moved = { ...variables, PUBLIC_URL: 'https://shop.example.org' }
    const second = await start(moved)
    const other = await startPrefixProxy(second.baseUrl, '')
    expect((await (await fetch(`${other.url}/docs/openapi.json`)).json()).servers).toEqual([
      { url: 'https://shop.example.org' },
    ])
    expect(await (await fetch(`${other.url}/console/`)).text()).not.toContain('/dealers/')
    const replayed = await sell({ ...credentials, baseUrl: other.url }, 'IMAGE-1', sold.packageCode)
    expect(replayed).toMatchObject({ orderNo: order.orderNo, replayed: true })
    await expectPagesUnder(other.url, '')
    expect(await exec(['dealer-esim-admin', 'doctor'], moved)).not.toContain('FAULT')
    const dealer = new DealerEsim({ ...credentials, baseUrl: other.url })
    const [esim] = (await dealer.query({ orderNo: order.orderNo })).profileList!
    for (const link of [esim!.shareUrl!, esim!.qrCodeUrl!]) {
      expect(link).toMatch(/^https:\/\/shop\.example\.org\//)
      expect([link, (await fetch(link.replace('https://shop.example.org', other.url))).status]).toEqual([link, 200])
    }
    other.close()
    await second.stop('SIGTERM')
  }, 600_000)

  test.skipIf(!hasAirGaps())(
    'sells on a machine without a network, without trying to connect anywhere',
    async () => {
      const { host, port } = new URL(server.url)
      const gap = await startAirGap({ gateway: 8080, database: Number(port) })
      const proxy = await startPrefixProxy(gap.url, '')
      onTestFinished(() => {
        proxy.close()
        gap.close()
      })
      const variables = {
        ...{ DEPLOYMENT: 'test', PUBLIC_URL: 'https://esim.example.com', TRUSTED_PROXIES: '127.0.0.1' },
        ...{ DATABASE_URL: server.url, MASTER_KEY: Buffer.alloc(32, 9).toString('base64'), HOST: '127.0.0.1' },
        NODE_OPTIONS: RECORD_CONNECTIONS,
      }
      const { command, surroundings } = inside(image.Cmd, variables)
      const gateway = await startService([...gap.enter, ...command], surroundings)
      const admin = (...words: string[]) => exec(['dealer-esim-admin', ...words], { ...variables, NODE_OPTIONS: '' })
      const created = JSON.parse(await admin('tenant', 'create', '--name', 'Island', '--json'))
      await admin('wallet', 'top-up', created.tenantId, '100.00', '--reference', 'INV-1')
      const [{ packageCode }] = JSON.parse(await admin('package', 'list', '--json'))
      await sell({ appKey: created.appKey, appSecret: created.appSecret, baseUrl: proxy.url }, 'ISLAND-1', packageCode)
      await expectPagesUnder(proxy.url, '')
      expect((await gateway.stop('SIGTERM')).code).toBe(0)
      expect(openedConnections(gateway.output())).toEqual([`connect ${host}`])
    },
    600_000,
  )

  test('draws the pictures of brands, with a read-only file system', async () => {
    expect(await exec(drawing('node', '.'), {})).toBe(DRAWN_PNG)
  })

  test('contains the alert rules and the dashboard unchanged, where installing.md says', () => {
    const page = readFileSync(join(root, 'docs/installing.md'), 'utf8')
    for (const name of ['alerts.yml', 'grafana-dashboard.json']) {
      expect(page).toContain('/opt/dealer-esim/ops')
      const inImage = readFileSync(join(container, 'opt/dealer-esim/ops', name), 'utf8')
      expect(inImage).toBe(readFileSync(join(root, 'ops', name), 'utf8'))
    }
  })

  test('takes the disk space stated in installing.md, and matches SHA256SUMS', () => {
    const unpacked = Number(execFileSync('du', ['-sb', container], { encoding: 'utf8' }).split('\t')[0])
    expectStated('image', [unpacked])
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: artifacts, stdio: 'pipe' })
  })

  test('has an identical gateway layer in a second build', () => {
    const again = join(folder, 'again')
    execFileSync(process.execPath, ['scripts/dist.mjs', '--output', again, 'image'], { cwd: root, stdio: 'pipe' })
    const ownLayer = (from: string) => layersOf(archiveIn(from)).at(-1)
    expect(ownLayer(again)).toMatch(/^[0-9a-f]{64}/)
    expect(ownLayer(again)).toBe(ownLayer(artifacts))
  }, 600_000)

  describe('compose.yaml', () => {
    const compose = () => parse(readFileSync(join(artifacts, 'compose.yaml'), 'utf8')) as Compose
    /** `docker-compose config` instead of `docker compose up`, which needs an engine. */
    const readByCompose = async (variables: Record<string, string>) => {
      const command = ['docker-compose', '--file', join(artifacts, 'compose.yaml'), 'config']
      const own = { PATH: process.env.PATH!, HOME: folder }
      return parse(await run(command, { cwd: folder, env: { ...own, ...variables } })) as Compose
    }
    const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version

    test('publishes only on loopback, names this image, and does not have a default secret', () => {
      const { services } = compose()
      for (const port of Object.values(services).flatMap(({ ports = [] }) => ports))
        expect(port).toMatch(/^127\.0\.0\.1:/)
      const text = readFileSync(join(artifacts, 'compose.yaml'), 'utf8')
      expect(text.match(/(PASSWORD|KEY|SECRET)\w*: (?!\/run\/)\S.*/g)).toBe(null)
      expect(services.gateway).toMatchObject({ image: expect.stringContaining(`:-${version}}`), read_only: true })
    })

    test.skipIf(!canRun('compose.yaml', 'docker-compose', 'pg_isready'))(
      'creates its secrets once, and its services run under docker-compose',
      async () => {
        const [, up = '', create = ''] = readmeCommands('docker load')
        const [, PUBLIC_URL = ''] = /^PUBLIC_URL=(\S+) docker compose up --detach$/.exec(up) ?? []
        await expect(readByCompose({})).rejects.toThrow(/set PUBLIC_URL/)
        const { secrets, postgres, gateway } = (await readByCompose({ PUBLIC_URL, TRUSTED_PROXIES: '127.0.0.1' }))
          .services as Record<'secrets' | 'postgres' | 'gateway', ComposeService>

        // Each service without an engine: its user, command and environment, in the image's root.
        const volume = join(container, 'run/dealer-esim')
        removeFolder(volume)
        mkdirSync(volume)
        const makeSecrets = inRoot({ folder: container, user: secrets.user! }, [
          ...['env', '-C', image.WorkingDir],
          ...secrets.command!,
        ])
        const contents = () => readdirSync(volume).map((name) => [name, readFileSync(join(volume, name), 'utf8')])
        const made = await run(makeSecrets, { cwd: '/', env })
        expect(made).toBe('made master-key\nmade database-password\nmade database-url\n')
        const before = contents()
        expect(await run(makeSecrets, { cwd: '/', env })).toBe('')
        expect(contents()).toEqual(before)

        // This test's PostgreSQL stands in for its image, and its loopback port for the name and port in the engine's
        // network.
        const { POSTGRES_USER: user, POSTGRES_DB: database, POSTGRES_PASSWORD_FILE = '' } = postgres.environment!
        const password = readFileSync(join(container, POSTGRES_PASSWORD_FILE), 'utf8')
        await withServerClient(server.url, async (client) => {
          // Those of a first attempt.
          await client.query(`drop database if exists ${database} with (force)`)
          await client.query(`drop role if exists ${user}`)
          await client.query(`create role ${user} login password '${password}'`)
          await client.query(`create database ${database} owner ${user}`)
        })
        const { host, hostname, port } = new URL(server.url)
        const [, ...isReady] = postgres.healthcheck!.test
        await run(isReady, { cwd: '/', env: { PATH: process.env.PATH!, PGHOST: hostname, PGPORT: port } })
        const url = join(volume, 'database-url')
        writeFileSync(url, readFileSync(url, 'utf8').replace('@postgres:5432/', `@${host}/`))

        const variables = { ...gateway.environment!, ...{ PORT: '0', METRICS_PORT: '0', HOST: '127.0.0.1' } }
        const first = await start(variables)
        const invite = create.replace('docker compose exec gateway ', '').split(' ')
        expect(await exec(invite, variables)).toContain(`${PUBLIC_URL}/console/`)
        expect(await exec(['dealer-esim-admin', 'doctor'], variables)).not.toContain('FAULT')
        // An engine repeats it too.
        const health = { ...variables, METRICS_PORT: new URL(first.metricsUrl).port }
        await expect
          .poll(() => exec(image.Healthcheck.Test.slice(1), health).catch(String), { timeout: 120_000 })
          .toBe('')
        expect((await first.stop('SIGTERM')).code).toBe(0)
        const second = await start(variables)
        expect(await exec(['dealer-esim-admin', 'people', 'list'], variables)).toContain('ada@example.com')
        expect((await second.stop('SIGTERM')).code).toBe(0)
      },
      600_000,
    )
  })
})

function archiveIn(artifacts: string): string {
  return join(artifacts, readdirSync(artifacts).find((name) => name.endsWith('.tar'))!)
}

function readArchive(archive: string, name: string): string {
  return execFileSync('tar', ['xOf', archive, name], { encoding: 'utf8', maxBuffer: 2 ** 26 })
}

/** The layers of a docker-archive, named by their digests, the base's first. */
function layersOf(archive: string): string[] {
  return JSON.parse(readArchive(archive, 'manifest.json'))[0].Layers
}

/** Unpacks the layers of a docker-archive, and returns the image's configuration. */
function unpackImage(archive: string, folder: string): ImageConfig['config'] {
  mkdirSync(folder, { recursive: true })
  for (const layer of layersOf(archive)) {
    execFileSync('sh', ['-c', 'tar xOf "$0" "$1" | tar xf - -C "$2" --numeric-owner', archive, layer, folder])
  }
  const [{ Config }] = JSON.parse(readArchive(archive, 'manifest.json'))
  return (JSON.parse(readArchive(archive, Config)) as ImageConfig).config
}
