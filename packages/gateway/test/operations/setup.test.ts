import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { readEnvironmentFile } from '#operations/setup/environment-file.ts'
import { VARIABLES } from '#platform/config/variables.ts'
import { packageRoot } from '#platform/package-root.ts'
import { freePort } from '#test/harness/processes/free-port.ts'
import { canRun } from '../harness/can-run.ts'
import { withServerClient } from '../harness/databases/database.ts'
import { admin, adminJson } from '../harness/processes/admin-process.ts'
import { startGateway, stopGateways, temporaryFolder } from '../harness/processes/gateway-process.ts'
import { createAuthority } from '../harness/servers/certificates.ts'
import { startSmtpReceiver } from '../harness/servers/smtp-receiver.ts'

/* A new operator's path: a fresh PostgreSQL with passwords, a certificate, and one command. */

const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-setup-'))
const at = (name: string) => join(folder, name)
const authority = createAuthority('Test authority')
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>
let port: number
/** Trusts the authority that issued the test's certificate. */
const env = { NODE_EXTRA_CA_CERTS: at('ca.pem'), METRICS_PORT: '0' }
beforeAll(async () => {
  const { cert, key } = authority.issue('localhost')
  writeFileSync(at('ca.pem'), authority.cert)
  writeFileSync(at('cert.pem'), cert)
  writeFileSync(at('key.pem'), key)
  port = await freePort()
  server = await startEmbeddedPostgres({ dataDir: temporaryFolder('setup'), log: silentLog, expectedErrors: /^$/ })
})
afterAll(async () => {
  await server.stop()
  await stopGateways()
  rmSync(folder, { recursive: true, force: true })
})

function flags(file: string, name: string): string[] {
  const tls = ['--tls-cert', at('cert.pem'), '--tls-key', at('key.pem'), '--port', String(port)]
  const operator = ['--operator-email', 'ada@example.com', '--operator-name', 'Ada']
  const database = ['--database-admin', server.url, '--database-name', name]
  return ['setup', '--file', file, '--public-url', `https://localhost:${port}`, ...tls, ...database, ...operator]
}

const databases = async () => {
  const { rows } = await withServerClient(server.url, (client) => client.query('select datname from pg_database'))
  return rows.map(({ datname }) => datname as string)
}

test('with flags alone, setup creates a working production gateway', async () => {
  const file = at('environment')
  const mailServer = await startSmtpReceiver()
  onTestFinished(() => mailServer.close())
  const mail = ['--smtp-url', mailServer.url, '--mail-from', 'eSIM <esim@example.com>']
  const made = await admin([...flags(file, 'esim_one'), ...mail], env)
  expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('Created role and database esim_one')])
  expect(made.stdout).toContain('0 faults')
  expect(made.stdout).toContain('Signed in to the mail server.')
  const left = [
    `Keep a copy of the master key apart .* without the key in ${file}, a backup is useless\\.`,
    `Start the gateway with the variables of ${file}: systemctl enable --now dealer-esim, or .*`,
    `Open this link to choose a password: https://localhost:${port}/console/welcome#\\S+`,
    'Then connect a supplier and create a dealer .*',
  ]
  const numbered = left.map((line, index) => `${index + 1}\\. ${line}`)
  expect(made.stdout).toMatch(new RegExp(`\nWhat is left to do:\n${numbered.join('\n')}\n$`))
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const settings = readEnvironmentFile(file)
  expect(settings).toMatchObject({ DEPLOYMENT: 'production', MASTER_KEY: expect.stringMatching(/^.{43}=$/) })
  expect(settings).toMatchObject({ SMTP_URL: mailServer.url, MAIL_FROM: 'eSIM <esim@example.com>' })
  expect(environmentOf(made.stdout)).toMatchObject(settings)

  const gateway = await startGateway({ env: { ...env, ...settings } })
  const { ok, faults, findings } = await adminJson<{ ok: boolean; faults: number; findings: object[] }>(['doctor'], {
    ...env,
    ...settings,
  })
  expect({ ok, faults }).toEqual({ ok: true, faults: 0 })
  const words = `PUBLIC_URL https://localhost:${port} reaches a gateway.`
  expect(findings).toContainEqual({ check: 'addresses', state: 'OK', words })
  const link = /https:\/\/localhost:\d+\/console\/welcome#\S+/.exec(made.stdout)?.[0]
  expect(link).toBeDefined()
  const people = await adminJson<{ email: string }[]>(['people', 'list'], { ...env, ...settings })
  expect(people.map(({ email }) => email)).toEqual(['ada@example.com'])
  await gateway.kill()
})

/** The variables of a gateway started with the command that setup printed; a stub of the program prints them. */
function environmentOf(printed: string): Record<string, string> {
  writeFileSync(at('dealer-esim-gateway'), '#!/usr/bin/env node\nconsole.log(JSON.stringify(process.env))', {
    mode: 0o755,
  })
  const [, start = ''] = /^\d\. Start .*, or (.*)$/m.exec(printed) ?? []
  const PATH = [folder, dirname(process.execPath), process.env.PATH].join(':')
  return JSON.parse(execFileSync('sh', ['-c', start], { env: { PATH }, encoding: 'utf8' }))
}

test('a second setup keeps the master key and the database, and changes only the given settings', async () => {
  const file = at('again')
  // The administrator's URL is a secret, too, so it can be a file.
  writeFileSync(at('administrator-url'), `${server.url}\n`)
  const words = flags(file, 'esim_two').filter((word) => word !== '--database-admin' && word !== server.url)
  const made = await admin(words, { ...env, DATABASE_ADMIN_URL_FILE: at('administrator-url') })
  expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('Created role and database esim_two')])
  const before = readEnvironmentFile(file)
  const again = await admin([...flags(file, 'esim_two'), '--host', '0.0.0.0'], env)
  expect([again.code, again.stderr]).toEqual([0, expect.any(String)])
  expect(readEnvironmentFile(file)).toEqual({ ...before, HOST: '0.0.0.0' })
})

test('--dry-run checks and shows everything, masks secrets and changes nothing', async () => {
  const file = at('dry')
  const { code, stdout } = await admin([...flags(file, 'esim_dry'), '--dry-run'], env)
  expect(code).toBe(0)
  expect(stdout).toContain(`PUBLIC_URL https://localhost:${port} leads here.`)
  expect(stdout).toMatch(/MASTER_KEY +\*{8}\n/)
  expect(stdout).not.toMatch(/postgres:\/\//)
  expect(existsSync(file)).toBe(false)
  expect(await databases()).not.toContain('esim_dry')
})

test('a URL that points elsewhere is reported with a remedy', async () => {
  const args = flags(at('elsewhere'), 'esim_elsewhere').map((arg) =>
    arg.replace('https://localhost', 'https://127.0.0.2'),
  )
  const { code, stdout } = await admin([...args, '--dry-run'], env)
  expect(code).toBe(0)
  expect(stdout).toMatch(/PUBLIC_URL \S+ does not lead here yet .*Make DNS, the firewall and the proxy lead to/)
})

test.each<[string, string[], RegExp]>([
  ['a role that exists', ['--database-name', 'esim_one'], /already has a role and a database named esim_one/],
  ['an invalid name', ['--database-name', 'Esim'], /--database-name must be/],
  ['a server that is not there', ['--database-admin', 'postgres://a:hunter2@127.0.0.1:1/b'], /cannot be used/],
  ['no HTTPS', ['--public-url', 'http://esim.example.com'], /must begin with https/],
])('%s is refused, and nothing is written', async (_, args, message) => {
  const file = at('refused')
  const { code, stderr } = await admin([...flags(file, 'esim_three'), ...args], env)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(message)
  expect(stderr).not.toContain('hunter2')
  expect(existsSync(file)).toBe(false)
})

test('a database that cannot be reached is refused, and nothing is written', async () => {
  const file = at('unreachable')
  const args = ['setup', '--file', file, '--public-url', 'https://esim.example.com', '--proxies', '127.0.0.1']
  const { code, stderr } = await admin([...args, '--database-url', 'postgres://a:hunter2@127.0.0.1:1/b'], env)
  expect(code).toBe(1)
  expect(stderr).toMatch(/ECONNREFUSED|refused|reach/)
  expect(stderr).not.toContain('hunter2')
  expect(existsSync(file)).toBe(false)
})

test.skipIf(!canRun('the questions of setup', 'script'))(
  'on a terminal, setup asks for everything that the options leave out',
  async () => {
    const file = at('asked')
    const program = join(packageRoot(), 'dist/admin.js')
    const command = `"${process.execPath}" "${program}" setup --dry-run --file "${file}" --port ${port} --host 127.0.0.1`
    const child = spawn('script', ['-qec', command, '/dev/null'], { env: { ...process.env, ...env } })
    const answers = ['', `https://localhost:${port}`, server.url, '127.0.0.1', '', 'ada@example.com', 'Ada']
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      // Each question ends with a colon.
      if (/(: |\]: )/.test(text) && answers.length > 0 && !printed.includes('would contain'))
        child.stdin.write(`${answers.shift()}\n`)
    })
    await once(child, 'close')
    expect(printed).toMatch(/DEPLOYMENT +production/)
    expect(printed).toMatch(/TRUSTED_PROXIES +127\.0\.0\.1/)
    expect(printed).toContain('Role and database dealer_esim would be created.')
    expect(answers).toEqual([])
  },
)

test('an administrator without superuser rights can set up a gateway', async () => {
  await withServerClient(server.url, (client) =>
    client.query(`create role provider login createrole createdb password 'p'`),
  )
  const url = new URL(server.url)
  url.username = 'provider'
  url.password = 'p'
  const args = [...flags(at('provider'), 'esim_four'), '--database-admin', url.href]
  const { code, stderr } = await admin(args, env)
  expect([code, stderr]).toEqual([0, expect.stringContaining('esim_four')])
})

test('config list shows each setting with its source, even if the configuration has faults', async () => {
  writeFileSync(at('key'), `${Buffer.alloc(32, 5).toString('base64')}\n`)
  const list = await admin(['config', 'list'], {
    MASTER_KEY_FILE: at('key'),
    PORT: 'x',
    SMTP_URL: 'smtps://u:hunter2@h',
  })
  expect(list.code).toBe(1)
  const rows = list.stdout.split('\n').filter((line) => /^[A-Z]/.test(line) && !line.startsWith('FAULT: '))
  expect(rows.map((line) => line.split(' ')[0])).toEqual(Object.values(VARIABLES).map(({ name }) => name))
  expect(list.stdout).toMatch(new RegExp(`^MASTER_KEY +\\*{8} +file ${at('key')}$`, 'm'))
  expect(list.stdout).toMatch(/^PORT +x +environment$/m)
  expect(list.stdout).toMatch(/^LOG_LEVEL +info +default$/m)
  expect(list.stdout).toMatch(/^SMTP_URL +\*{8} +environment$/m)
  expect(list.stdout).toMatch(/^PUBLIC_URL +not set$/m)
  expect(list.stdout).toMatch(/^FAULT: PORT must be/m)
  expect(list.stdout + list.stderr).not.toContain('hunter2')
  expect(list.stdout).not.toContain(readFileSync(at('key'), 'utf8').trim())
})
