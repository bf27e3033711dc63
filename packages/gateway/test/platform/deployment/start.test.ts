import { spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readRunningPostgres } from '@dealer-esim/embedded-postgres'
import { processIdentity } from '@dealer-esim/embedded-postgres/processes.ts'
import pg from 'pg'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import { createEmptyDatabase } from '#test/harness/databases/database.ts'
import { adminJson } from '#test/harness/processes/admin-process.ts'
import {
  copyUsedDataDir,
  type GatewayProcess,
  spawnGateway,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '#test/harness/processes/gateway-process.ts'

afterAll(stopGateways)

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/* All tests share one gateway, because a start with a new database takes seconds. */
describe('a gateway without DATABASE_URL', () => {
  let gateway: GatewayProcess

  it('starts the embedded database, and protects its secrets from other users', async () => {
    gateway = await startGateway()
    const { url, gatewayPid } = readRunningPostgres(gateway.dataDir)!
    expect(gatewayPid).toBe(gateway.pid)
    expect(gateway.logs.filter(({ level }) => level === 'warn')).toEqual([])
    await query(url, 'create table kept as select 42 as answer')
    expect(statSync(join(gateway.dataDir, 'postgres.password')).mode & 0o777).toBe(0o600)
    expect(statSync(join(gateway.dataDir, 'postgres')).mode & 0o777).toBe(0o700)
  })

  it('locks its data directory, so that a second gateway is refused with a message', async () => {
    const second = spawnGateway({ dataDir: gateway.dataDir })
    expect(await second.exited).toEqual({ code: 1, signal: null })
    expect(second.stderr).toContain(`is in use by another gateway (process ${gateway.pid})`)
  })

  it('restarts its server when all its processes are killed', async () => {
    const { url } = readRunningPostgres(gateway.dataDir)!
    const pid = postmasterPid(gateway.dataDir)
    await killServer(url, pid)
    await gateway.waitForLog((line) => line.msg === 'the embedded PostgreSQL was restarted')
    await expect.poll(() => readRunningPostgres(gateway.dataDir)?.url).toBe(url)
    expect(await query(url, 'select answer from kept')).toEqual([{ answer: 42 }])
    expect(postmasterPid(gateway.dataDir)).not.toBe(pid)
  })

  it('keeps its data when it is killed', async () => {
    const { dataDir } = gateway
    await gateway.kill('SIGKILL')
    expect(readRunningPostgres(dataDir)).toBeUndefined()
    gateway = await startGateway({ dataDir })
    const running = readRunningPostgres(dataDir)!
    expect(running.gatewayPid).toBe(gateway.pid)
    expect(await query(running.url, 'select answer from kept')).toEqual([{ answer: 42 }])
  })

  it('stops its server, and treats a Ctrl-C repeated by npm as one', async () => {
    const pid = postmasterPid(gateway.dataDir)
    process.kill(gateway.pid, 'SIGINT')
    expect(await gateway.kill('SIGINT')).toEqual({ code: 0, signal: null })
    expect(processIdentity(pid)).toBeUndefined()
  })
})

describe('starting', () => {
  it.each(['SIGINT', 'SIGKILL'] as const)(
    'does not leave a database server running after %s in its first second',
    async (signal) => {
      await Promise.all(Array.from({ length: 3 }, () => interruptStart(signal)))
    },
  )

  it('migrates a database once if four gateways start simultaneously', async () => {
    const database = await createEmptyDatabase()
    const gateways = await Promise.all(Array.from({ length: 4 }, () => startGateway({ databaseUrl: database.url })))
    const migrated = gateways.filter((gateway) => gateway.logs.some((line) => line.msg === 'migrated'))
    expect(migrated).toHaveLength(1)
    await Promise.all(gateways.map((gateway) => gateway.kill()))
    await database.drop()
  })

  it('reports a port in use, and stops everything that was started', async () => {
    const squatter = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => squatter.once('listening', resolve))
    const { port } = squatter.address() as AddressInfo
    const dataDir = join(temporaryFolder('taken'), 'data')
    await copyUsedDataDir(dataDir)
    const gateway = spawnGateway({ dataDir, env: { PORT: String(port) } })
    expect(await gateway.exited).toEqual({ code: 1, signal: null })
    expect(gateway.stderr).toBe(
      `The gateway did not start. Port ${port} on 127.0.0.1 is in use by another program. Set PORT to another port.\n`,
    )
    expect(existsSync(join(gateway.dataDir, 'postgres', 'postmaster.pid'))).toBe(false)
    squatter.close()
  })

  it('with --trial runs a simulated wholesaler as a supplier, which stops with the gateway', async () => {
    const dataDir = join(temporaryFolder('trial'), 'data')
    await copyUsedDataDir(dataDir)
    const urls: unknown[] = []
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const gateway = await startGateway({ dataDir, isTrial: true })
      const { url, pid } = await gateway.waitForLog((line) => line.msg === 'trial supplier started')
      urls.push(url)
      expect(await adminJson(['supplier', 'test', 'trial'], { DATA_DIR: dataDir })).toMatchObject({ works: true })
      await gateway.kill(signal)
      await expect.poll(() => processIdentity(Number(pid))).toBeUndefined()
    }
    expect(urls[1]).toBe(urls[0])
  })

  it('with npm start drains and ends when npm receives SIGTERM', async () => {
    const dataDir = join(temporaryFolder('npm'), 'data')
    await copyUsedDataDir(dataDir)
    const npm = spawn('npm', ['start'], {
      cwd: join(packageRoot(), '../..'),
      env: { ...process.env, DATA_DIR: dataDir, PORT: '0', METRICS_PORT: '0' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const exited = new Promise((resolve) => npm.once('close', (code, signal) => resolve({ code, signal })))
    let pid: number | undefined
    for await (const line of createInterface({ input: npm.stdout })) {
      if (!line.includes('"msg":"ready"')) continue
      pid = (JSON.parse(line) as { pid: number }).pid
      npm.kill('SIGTERM')
    }
    expect(await exited).toEqual({ code: 0, signal: null })
    expect(processIdentity(pid!)).toBeUndefined()
  })

  it('with npm start works without sources if the gateway is built, and otherwise says what is missing', async () => {
    const root = temporaryFolder('installed')
    const checkout = join(packageRoot(), '../..')
    for (const part of ['package.json', 'package-lock.json', 'scripts', 'packages/gateway/package.json'])
      cpSync(join(checkout, part), join(root, part), { recursive: true })
    symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
    const startIt = (dataDir: string) => spawnGateway({ dataDir, main: join(root, 'scripts/start.mjs') })
    const unbuilt = startIt(join(root, 'data'))
    expect(await unbuilt.exited).toEqual({ code: 1, signal: null })
    expect(unbuilt.stderr).toBe(
      'The gateway is not built, and its sources are not here. Run npm ci (without --omit=dev) in a checkout, then npm prune --omit=dev there, or copy its packages/gateway/dist.\n',
    )
    for (const part of ['dist', 'migrations'])
      cpSync(join(packageRoot(), part), join(root, 'packages/gateway', part), { recursive: true })
    const dataDir = join(root, 'data')
    await copyUsedDataDir(dataDir)
    const built = startIt(dataDir)
    await built.waitReady()
    expect(await built.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  })

  it('lists all configuration faults and exits with status 78', async () => {
    const gateway = spawnGateway({ env: { PORT: 'x', LOG_LEVEL: 'loud', DATABASE_POOL_SIZE: '0' } })
    expect(await gateway.exited).toEqual({ code: 78, signal: null })
    for (const name of ['PORT', 'LOG_LEVEL', 'DATABASE_POOL_SIZE']) expect(gateway.stderr).toContain(`\n  ${name} `)
  })
})

/** Sends the signal to a gateway as soon as its server runs, and waits for both to end. */
async function interruptStart(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
  const dataDir = join(temporaryFolder('interrupted'), 'data')
  await copyUsedDataDir(dataDir)
  const gateway = spawnGateway({ dataDir })
  await vi.waitUntil(() => postmasterPid(dataDir) > 0, { interval: 1, timeout: 60_000 })
  const pid = postmasterPid(dataDir)
  const exit = await gateway.kill(signal)
  if (signal === 'SIGINT') expect([exit, gateway.stderr]).toEqual([{ code: 0, signal: null }, ''])
  // After SIGKILL, a helper process stops the server.
  await expect.poll(() => processIdentity(pid), { timeout: signal === 'SIGINT' ? 0 : 20_000 }).toBeUndefined()
}

/** NaN while no server is running. */
function postmasterPid(dataDir: string): number {
  const file = join(dataDir, 'postgres', 'postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : Number.NaN
}

/** Kills all of the server's processes with SIGKILL. */
async function killServer(url: string, postmaster: number): Promise<void> {
  const backends = await query(url, 'select pid from pg_stat_activity where pid <> pg_backend_pid()')
  for (const pid of [postmaster, ...backends.map((row) => Number(row.pid))]) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it ended with its postmaster
    }
  }
}
