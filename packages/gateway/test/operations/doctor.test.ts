import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { examine } from '#operations/doctor/examine.ts'
import { inspectConfig } from '#platform/config/config.ts'
import { ensureDeployment } from '#platform/deployment/ensure-deployment.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { addSupplier, listSuppliers } from '#suppliers/manage-suppliers.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { partitionsOf, runOnNode } from '../harness/databases/tables.ts'
import { admin, adminJson } from '../harness/processes/admin-process.ts'
import { startUsedGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { createAuthority } from '../harness/servers/certificates.ts'
import { startSmtpReceiver } from '../harness/servers/smtp-receiver.ts'
import { addPackage } from '../harness/shop.ts'

const KEY = '07'.repeat(32)
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-doctor-'))
const authority = createAuthority('Test authority')

let database: TestDatabase
let db: Db & { close(): Promise<void> }
let front: Server
/** How the server at PUBLIC_URL answers. */
let frontAnswer = { status: 400, body: '{"code":"000101"}' }
let healthy: Record<string, string>
beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 2, applicationName: 'test' })
  const cipher = createCipher([Buffer.from(KEY, 'hex')])
  await ensureDeployment({ db, cipher, ids: systemIds }, 'local')
  await maintainPartitions(db)
  front = createServer((_, response) => response.writeHead(frontAnswer.status).end(frontAnswer.body))
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  healthy = {
    DEPLOYMENT: 'local', // so that PUBLIC_URL may use plain HTTP
    PUBLIC_URL: `http://127.0.0.1:${(front.address() as AddressInfo).port}/esim`,
    DATABASE_URL: database.url,
    MASTER_KEY: KEY,
    TRUSTED_PROXIES: '10.0.0.0/8',
    DATA_DIR: folder,
    METRICS_PORT: '0',
  }
  // The test server commits asynchronously; this database's setting says that it does not.
  await runOnNode(db, `alter database ${nameOf(database)} set synchronous_commit = on`)
})
afterAll(async () => {
  await stopGateways()
  front.close()
  await db.close()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** @returns the warnings and faults, as `FAULT database: …` */
async function complaints(env: Record<string, string> = {}): Promise<string[]> {
  const { config, faults } = inspectConfig({ ...healthy, ...env }, [])
  const { databaseUrl, masterKeys } = config
  const found = await examine({ config, configFaults: faults, databaseUrl, masterKeys })
  // The test server runs without either of these.
  const ofTestServer = /^(fsync|full_page_writes) is off/
  return found
    .filter(({ state, message }) => state !== 'OK' && !ofTestServer.test(message))
    .map(({ check, state, message, command = '' }) => `${state} ${check}: ${message} ${command}`.trim())
}

describe('doctor', () => {
  test('reports nothing for a healthy deployment', async () => {
    expect(await complaints()).toEqual([])
  })

  test('warns if catalogues from other cells are not verified with a key', async () => {
    await db.query({ text: `insert into cell_imports values ('eu2', now(), 1, now())` })
    expect(await complaints()).toEqual([expect.stringMatching(/^WARNING publications: .*eu2.*PUBLICATION_KEY_FILE/)])
    const file = join(folder, 'publication.key')
    writeFileSync(file, 'too short')
    expect(await complaints({ PUBLICATION_KEY_FILE: file })).toContainEqual(expect.stringContaining('has 9 bytes'))
    writeFileSync(file, `${'k'.repeat(44)}\n`)
    expect(await complaints({ PUBLICATION_KEY_FILE: file })).toEqual([])
    await db.query({ text: 'delete from cell_imports' })
  })

  test('reports configuration faults together with faults in the environment', async () => {
    expect(await complaints({ PORT: 'x', MAIL_FROM: 'a@b.example', DATABASE_URL: unused('nowhere') })).toEqual([
      expect.stringMatching(/^FAULT configuration: PORT must be a whole number/),
      expect.stringMatching(/^FAULT configuration: SMTP_URL and MAIL_FROM go together/),
      expect.stringMatching(/^FAULT database: .*database "nowhere" does not exist\. Create the database/),
    ])
  })

  test.each([
    ['a server that is not running', () => 'postgres://u:p@127.0.0.1:1/d', /ECONNREFUSED.* Check the host and port/],
    ['a wrong password', () => withUser('nobody', 'wrong'), /Correct the user and password/],
  ])('reports %s, without the password', async (_, url, expected) => {
    const [complaint, ...more] = await complaints({ DATABASE_URL: url() })
    expect(more).toEqual([])
    expect(complaint).toMatch(expected)
    expect(complaint).not.toContain(':p@')
  })

  test('reports that a backup is restored into an empty database before anything migrates it, and checks nothing else in it', async () => {
    const empty = await createEmptyDatabase()
    try {
      const found = await complaints({ DATABASE_URL: empty.url })
      expect(found.filter((line) => !line.includes('synchronous_commit'))).toEqual([
        expect.stringMatching(
          /^WARNING schema: This database is empty\. To restore a backup, run restore now.*admin -- restore FILE$/,
        ),
      ])
    } finally {
      await empty.drop()
    }
  })

  const cases: [name: string, breaks: string, repairs: string, expected: RegExp][] = [
    [
      'another deployment',
      `update deployment set kind = 'production'`,
      `update deployment set kind = 'local'`,
      /^FAULT deployment: .*belongs to a production deployment, but this is a local one/,
    ],
    [
      'a rotation in progress',
      `update deployment set rotating_to = master_key_fingerprint`,
      `update deployment set rotating_to = null`,
      /^WARNING deployment: The master key is being rotated/,
    ],
    [
      'a newer release',
      `insert into schema_migrations (version, name, checksum) values (9999, '9999_later.sql', '')`,
      `delete from schema_migrations where version = 9999`,
      /^FAULT schema: This database is newer than this release/,
    ],
    [
      'faults in the ledger',
      `insert into ledger_checks (checked_on, started_at, finished_at, faults, first_faults, tenants, transfers, orders)
       values (current_date, now(), now(), 2, '["Tenant T: 5 missing."]', 1, 1, 1)`,
      `delete from ledger_checks`,
      /^FAULT ledger: .*found faults in the ledger: 2\. .*Tenant T: 5 missing\..*ledger verify$/,
    ],
    [
      'a ledger that has not been checked lately',
      `insert into ledger_checks (checked_on, started_at, finished_at, faults, first_faults, tenants, transfers, orders)
       values (current_date - 3, now() - interval '3 days', now() - interval '3 days', 0, '[]', 1, 1, 1)`,
      `delete from ledger_checks`,
      /^WARNING ledger: The ledger was last checked on /,
    ],
    [
      'a supplier whose configuration cannot be decrypted',
      `insert into suppliers (supplier, type, config) values ('shelf', 'stock', '\\x00')`,
      `delete from suppliers`,
      /^FAULT suppliers: The configuration of shelf cannot be used/,
    ],
  ]
  test.each(cases)('reports %s', async (_, breaks, repairs, expected) => {
    await db.query({ text: breaks })
    try {
      expect(await complaints()).toEqual([expect.stringMatching(expected)])
    } finally {
      await db.query({ text: repairs })
    }
  })

  test('reports missing partitions', async () => {
    const next = `events_${Math.floor(Date.now() / 3_600_000 / 168) * 168 + 168}`
    const present = await partitionsOf(db, 'events')
    await db.query({ text: `drop table ${present.filter((name) => name <= next).at(-1)}` })
    try {
      expect(await complaints()).toEqual([
        expect.stringContaining('WARNING partitions: Partitions are missing (events:'),
      ])
    } finally {
      await maintainPartitions(db)
    }
  })

  test('reports asynchronous commits, and a database user without sufficient rights to migrate', async () => {
    const name = nameOf(database)
    const user = `${name}_reader`
    await runOnNode(db, `alter database ${name} set synchronous_commit = off`)
    await runOnNode(db, `create role ${user} login password 'reader'`)
    await runOnNode(db, `grant pg_read_all_data to ${user}`)
    const isOnCitus = inject('testServer').workers.length > 0
    try {
      expect(await complaints({ DATABASE_URL: withUser(user, 'reader') })).toEqual(
        isOnCitus
          ? [expect.stringMatching(/^FAULT database: .*must be owner of table .* reassign owned by/)]
          : [
              expect.stringMatching(
                /^FAULT database: \w+_reader may not create tables\..* grant create on schema public/,
              ),
              expect.stringMatching(/^FAULT database: \d+ tables belong to another user/),
              expect.stringMatching(/^WARNING durability: synchronous_commit is off/),
            ],
      )
      if (isOnCitus) {
        expect(await complaints()).toEqual([expect.stringMatching(/^WARNING durability: synchronous_commit is off/)])
      }
    } finally {
      await runOnNode(db, `drop role ${user}`)
      await runOnNode(db, `alter database ${name} set synchronous_commit = on`)
    }
  })

  test('warns about a supplier whose events could be sent by anybody', async () => {
    const config = { apiKey: 'k', url: 'http://127.0.0.1:1', dailySpendLimit: { amount: '1', currencyCode: 'USD' } }
    const local = { config: { deployment: 'local' } }
    const cipher = createCipher([Buffer.from(KEY, 'hex')])
    const deps = { db, ids: systemIds, cipher, wake: { wake() {} }, ...local }
    const by = { actor: 'cli:test' } as const
    onTestFinished(async () => void (await db.query({ text: 'delete from suppliers' })))
    await addSupplier(deps, { name: 'open', type: 'zendit', config }, by)
    const listed = { ...config, eventAddresses: ['203.0.113.0/24'] }
    await addSupplier(deps, { name: 'listed', type: 'zendit', config: listed }, by)
    const found = await complaints()
    expect(found).toContainEqual(expect.stringMatching(/^WARNING suppliers: open takes events from anybody/))
    expect(found.join()).not.toContain('listed takes events')
  })

  test('tests each supplier and stores the result, as the supplier page does', async () => {
    const cipher = createCipher([Buffer.from(KEY, 'hex')])
    const deps = { db, ids: systemIds, cipher, wake: { wake() {} }, config: { deployment: 'local' } }
    const config = { apiKey: 'k', url: 'http://127.0.0.1:1', dailySpendLimit: { amount: '1', currencyCode: 'USD' } }
    onTestFinished(async () => void (await db.query({ text: 'delete from suppliers' })))
    await addSupplier(deps, { name: 'down', type: 'zendit', config }, { actor: 'cli:test' })
    expect((await listSuppliers(db))[0]!.seen).toEqual({ state: 'NOT_TESTED' })
    const found = await complaints()
    expect(found).toContainEqual(expect.stringMatching(/^FAULT suppliers: down does not work: /))
    const { seen } = (await listSuppliers(db))[0]!
    expect(seen).toMatchObject({ state: 'FAILING', seenBy: 'TEST' })
    expect(found.join()).toContain(`down does not work: ${seen.state === 'FAILING' && seen.failure}`)
  })

  test('reports packages with a nonexistent supplier, whatever the master key', async () => {
    for (const code of ['A_1', 'A_2']) await addPackage(db, code, [{ supplier: 'missing', productCode: 'P' }])
    try {
      const expected = /^WARNING suppliers: 2 packages list a nonexistent supplier, such as A_1 \(missing\)\. /
      expect(await complaints()).toEqual([expect.stringMatching(expected)])
      expect((await complaints({ MASTER_KEY: 'ff'.repeat(32) })).at(-1)).toMatch(expected)
    } finally {
      await db.query({ text: 'delete from package_suppliers' })
      await db.query({ text: 'delete from packages' })
    }
  })

  test('reports a master key that does not match the database, without blaming any supplier', async () => {
    const deps = { db, ids: systemIds, cipher: createCipher([Buffer.from(KEY, 'hex')]), wake: { wake() {} } }
    const supplier = { name: 'smdp', type: 'sandbox', config: {} }
    await addSupplier({ ...deps, config: { deployment: 'local' } }, supplier, { actor: 'cli:test' })
    onTestFinished(async () => void (await db.query({ text: 'delete from suppliers' })))
    expect(await complaints({ MASTER_KEY: 'ff'.repeat(32) })).toEqual([
      expect.stringMatching(/^FAULT deployment: The database is encrypted with a different master key/),
    ])
    expect(await complaints({ MASTER_KEY: `${'ff'.repeat(32)},${KEY}` })).toEqual([
      expect.stringMatching(/^WARNING deployment: The first key of MASTER_KEY .* is new/),
    ])
  })

  test.each([
    [
      'not a gateway',
      { status: 404, body: '<html>' },
      /^WARNING addresses: PUBLIC_URL \S+ answers 404, unlike a gateway/,
    ],
    ['a proxy that is not trusted', { status: 403, body: '{"code":"101008"}' }, /^FAULT addresses: .*TRUSTED_PROXIES/],
  ])('calls PUBLIC_URL and reports %s', async (_, answer, expected) => {
    const before = frontAnswer
    frontAnswer = answer
    try {
      expect(await complaints()).toEqual([expect.stringMatching(expected)])
    } finally {
      frontAnswer = before
    }
  })

  test('reports an unresponsive address, and trusted proxies that include everybody', async () => {
    expect(await complaints({ PUBLIC_URL: 'http://127.0.0.1:1', TRUSTED_PROXIES: '10.0.0.0/8,0.0.0.0/0' })).toEqual([
      expect.stringMatching(
        /^WARNING addresses: PUBLIC_URL http:\/\/127\.0\.0\.1:1 cannot be reached from this machine/,
      ),
      expect.stringMatching(/^FAULT proxies: TRUSTED_PROXIES contains 0\.0\.0\.0\/0: any caller/),
    ])
  })

  test.each([
    ['has expired', -1, 'http://localhost:1', /^FAULT certificate: The certificate expired on/],
    ['expires soon', 3, 'http://localhost:1', /^WARNING certificate: The certificate expires on/],
    [
      'is for another host',
      60,
      'http://esim.invalid',
      /^FAULT certificate: .* not for esim\.invalid, the host in PUBLIC_URL/,
    ],
  ])('reports a certificate that %s', async (_, days, PUBLIC_URL, expected) => {
    const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const { cert, key } = authority.issue('localhost', Date.now() + days * 86_400_000)
    writeFileSync(TLS_CERT_FILE, cert)
    writeFileSync(TLS_KEY_FILE, key)
    const found = await complaints({ TLS_CERT_FILE, TLS_KEY_FILE, PUBLIC_URL })
    expect(found.filter((line) => !line.includes('cannot be reached'))).toEqual([expect.stringMatching(expected)])
  })

  test('signs in to the mail server', async () => {
    const receiver = await startSmtpReceiver()
    const mail = { SMTP_URL: receiver.url, MAIL_FROM: 'esim@example.com' }
    expect(await complaints(mail)).toEqual([])
    await receiver.close()
    expect(await complaints(mail)).toEqual([
      expect.stringMatching(/^FAULT mail: The mail server of SMTP_URL cannot be/),
    ])
  })
})

test('doctor reports an invalid master.key together with its other findings', async () => {
  const dataDir = mkdtempSync(join(folder, 'odd-key-'))
  writeFileSync(join(dataDir, 'master.key'), 'not a key')
  const { MASTER_KEY: _, ...env } = healthy
  const run = await admin(['doctor'], { ...env, DATA_DIR: dataDir })
  expect(run).toMatchObject({ code: 1, stderr: '' })
  expect(run.stdout).toMatch(/^FAULT {4}master key +\S+master\.key does not contain a 32-byte key in base64/m)
  expect(run.stdout).toMatch(/^ok +schema /m)
})

test('doctor on a machine without a gateway creates nothing and reports no faults', async () => {
  const dataDir = join(folder, 'none')
  const run = await admin(['doctor'], { DATA_DIR: dataDir, METRICS_PORT: '1' })
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(run.stdout).toMatch(/There is no database in .* yet[\s\S]*\nNo faults were found\.\n$/)
  expect(existsSync(dataDir)).toBe(false)
})

test('doctor finds a running gateway, and exits with status 1 if something is wrong', async () => {
  const gateway = await startUsedGateway()
  const metricsPort = String(gateway.logs.find((line) => line.msg === 'ready')!.metricsPort)
  const env = { DATA_DIR: gateway.dataDir, METRICS_PORT: metricsPort }
  const { ok, findings } = await adminJson<{ ok: boolean; findings: { words: string }[] }>(['doctor'], env)
  expect(ok).toBe(true)
  const words = findings.map((finding) => finding.words).join('\n')
  expect(words).toMatch(/A gateway is running on this machine and is ready/)
  expect(words).toMatch(/sandbox \(sandbox\) works\./)
  const wrong = await admin(['doctor'], { ...env, DEPLOYMENT: 'production' })
  expect([wrong.code, wrong.stdout]).toEqual([
    1,
    expect.stringMatching(/^FAULT {4}configuration {2}PUBLIC_URL must be set[\s\S]*\n4 faults, 1 warning\.\n$/),
  ])
})

function withUser(user: string, password: string): string {
  const url = new URL(database.url)
  Object.assign(url, { username: user, password })
  return url.href
}

function nameOf({ url }: TestDatabase): string {
  return new URL(url).pathname.slice(1)
}

function unused(name: string): string {
  const url = new URL(database.url)
  url.pathname = `/${name}`
  return url.href
}
