import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { adminJsonWith, adminWith } from '../harness/processes/admin-in-process.ts'
import { admin } from '../harness/processes/admin-process.ts'

interface Credentials {
  tenantId: string
  appKey: string
  appSecret: string
}

const MASTER_KEY = '00'.repeat(32)
/** Replaced by the id of the existing tenant. */
const ACME = 'ACME'
const NOBODY = '01a1fd66-89b3-76be-9561-3150f6a29e7a'

describe('admin commands with an external database', () => {
  let database: TestDatabase
  let env: Record<string, string>
  let acme: Credentials
  const dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-admin-'))
  beforeAll(async () => {
    database = await createEmptyDatabase()
    env = { DATABASE_URL: database.url, DATABASE_SCHEMA: DEFAULT_SCHEMA, DATA_DIR: dataDir, MASTER_KEY }
  })
  afterAll(async () => {
    await database.drop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  test('a command does not migrate a database that other programs may use', async () => {
    const run = await adminWith(['tenant', 'list'], env)
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(run.stderr).toMatch(/lacks 0001_deployment\.sql.*admin -- migrate\n$/)
    const { ran } = await adminJsonWith<{ ran: string[] }>(['migrate'], env)
    expect(ran).toContain('0003_wallet.sql')
    expect(await adminJsonWith(['migrate'], env)).toEqual({ ran: [] })
  })

  test('a tenant can be created, listed, shown, changed and suspended', async () => {
    acme = await adminJsonWith<Credentials>(['tenant', 'create', '--name', 'Acme Travel', '--currency', 'EUR'], env)
    expect(Object.keys(acme)).toEqual(['tenantId', 'appKey', 'appSecret', 'currencyCode'])
    const settings = ['--ip-allowlist', '203.0.113.7,2001:db8::/32', '--qps-limit', '50', '--credit-limit', '100.5']
    const billing = ['--legal-name', 'Acme Ltd', '--tax-id', 'T-1', '--billing-email', 'a@acme.example']
    const set = await adminJsonWith(['tenant', 'set', acme.tenantId, ...settings, ...billing], env)
    expect(set).toMatchObject({
      ipAllowlist: ['203.0.113.7', '2001:db8::/32'],
      qpsLimit: 50,
      creditLimit: 1_005_000,
      legalName: 'Acme Ltd',
    })
    const cleared = ['--ip-allowlist', 'none', '--qps-limit', 'none', '--credit-limit', 'none', '--tax-id', 'none']
    await adminJsonWith(['tenant', 'set', acme.tenantId, ...cleared], env)
    const format = ['--event-format', 'rt']
    expect(await adminJsonWith(['tenant', 'set', acme.tenantId, ...format], env)).toMatchObject({ eventFormat: 'RT' })
    await adminJsonWith(['tenant', 'suspend', acme.tenantId], env)
    expect(await adminJsonWith(['tenant', 'show', acme.tenantId], env)).toMatchObject({
      ...{ clientName: 'Acme Travel', currencyCode: 'EUR', status: 'SUSPENDED', appKey: acme.appKey },
      ...{ ipAllowlist: [], qpsLimit: null, creditLimit: 0, taxId: null, legalName: 'Acme Ltd' },
    })
    await adminJsonWith(['tenant', 'resume', acme.tenantId], env)
    const list = await adminJsonWith<{ tenantId: string }[]>(['tenant', 'list'], env)
    expect(list).toMatchObject([{ tenantId: acme.tenantId, status: 'ACTIVE', balance: 0 }])
  })

  test('settings are changed either completely or not at all, including the event format', async () => {
    const refused = ['--event-format', 'dealer', '--unsigned-requests', 'on', '--legal-name', 'Acme GmbH']
    expect(await adminWith(['tenant', 'set', acme.tenantId, ...refused], env)).toMatchObject({ code: 1 })
    const before = { eventFormat: 'RT', unsignedRequests: false, legalName: 'Acme Ltd' }
    expect(await adminJsonWith(['tenant', 'show', acme.tenantId], env)).toMatchObject(before)
    const accepted = ['--event-format', 'dealer', '--legal-name', 'Acme GmbH']
    const after = { eventFormat: 'DEALER', legalName: 'Acme GmbH' }
    expect(await adminJsonWith(['tenant', 'set', acme.tenantId, ...accepted], env)).toMatchObject(after)
  })

  test('a restricted key is created, listed, changed and revoked', async () => {
    const limits = ['--per-order-max', '12.50', '--per-day-max', '100', '--total-max', '1000']
    const options = ['--label', 'webshop', '--operations', 'health,esim/order', ...limits, '--expires-at', '2099-01-31']
    const key = await adminJsonWith<{ appKey: string; appSecret: string }>(
      ['key', 'create', acme.tenantId, ...options],
      env,
    )
    expect(Object.keys(key)).toEqual(['appKey', 'appSecret'])
    expect(key.appKey).toMatch(/^rk_main_[A-Za-z0-9]{24}$/)
    const list = () => adminJsonWith<object[]>(['key', 'list', acme.tenantId], env)
    const made = { label: 'webshop', operations: ['health', 'esim/order'], perOrderMax: 125_000, totalMax: 10_000_000 }
    expect(await list()).toMatchObject([
      { ...made, expiresAt: '2099-01-31T00:00:00.000Z', daySpent: 0, revokedAt: null },
    ])
    const change = [
      '--total-max',
      'none',
      '--operations',
      'none',
      '--allowlist',
      '203.0.113.0/24',
      '--expires-at',
      'none',
    ]
    const set = await adminJsonWith(['key', 'set', acme.tenantId, key.appKey, ...change], env)
    expect(set).toMatchObject({
      totalMax: null,
      perOrderMax: 125_000,
      ipAllowlist: ['203.0.113.0/24'],
      expiresAt: null,
    })
    expect(set).toMatchObject({ operations: ['health', 'package/list', 'location/list', 'account/balance'] })
    const forbidden = await adminWith(['key', 'set', acme.tenantId, key.appKey, '--operations', 'webhook/set'], env)
    expect([forbidden.code, forbidden.stderr]).toEqual([1, expect.stringContaining('cannot have webhook/set')])
    await adminJsonWith(['key', 'revoke', acme.tenantId, key.appKey], env)
    expect(await list()).toMatchObject([{ revokedAt: expect.any(String) }])
    expect((await adminWith(['key', 'revoke', acme.tenantId, key.appKey], env)).code).toBe(1)
    expect((await adminWith(['key', 'list', acme.tenantId], env)).stdout).not.toContain(key.appSecret)
  })

  test('a secret is shown only by the command that resets it', async () => {
    const reset = await adminJsonWith<{ appSecret: string }>(
      ['tenant', 'reset-secret', acme.tenantId, '--grace', '1h'],
      env,
    )
    expect(reset.appSecret).toMatch(/^[\w-]{43}$/)
    for (const command of [
      ['tenant', 'list'],
      ['tenant', 'show', acme.tenantId],
    ]) {
      for (const form of [[], ['--json']]) {
        const { stdout } = await adminWith([...command, ...form], env)
        for (const secret of [acme.appSecret, reset.appSecret]) expect(stdout).not.toContain(secret)
      }
    }
  })

  test('a reset without a grace period warns that requests will fail, and so does its help', async () => {
    const { stdout: help } = await adminWith(['tenant', 'reset-secret', '--help'], env)
    const { stdout } = await adminWith(['tenant', 'reset-secret', acme.tenantId], env)
    for (const text of [help, stdout]) {
      expect(text.replace(/\s+/g, ' ')).toMatch(
        /(stops working|no longer works)[^.]*requests fail until its programs use/,
      )
      expect(text).toContain('--grace 24h')
    }
    const graceful = await adminWith(['tenant', 'reset-secret', acme.tenantId, '--grace', '24h'], env)
    expect(graceful.stdout).toMatch(/The old secret works until \d{4}-/)
    expect(graceful.stdout).not.toContain('requests fail')
  })

  test('amounts are decimal on the command line and integers of 1/10 000 in JSON', async () => {
    const topUp = ['wallet', 'top-up', acme.tenantId, '1250.05', '--reference', 'INV-1']
    expect(await adminJsonWith(topUp, env)).toMatchObject({
      amount: 12_500_500,
      balanceAfter: 12_500_500,
      replayed: false,
    })
    expect(await adminJsonWith(topUp, env)).toMatchObject({ balanceAfter: 12_500_500, replayed: true })
    const { stdout } = await adminWith(['wallet', 'balance', acme.tenantId], env)
    expect(stdout).toMatch(/^Balance +1250\.05 EUR\n/)
  })

  test('a person added to a dealer is an administrator by default, and an unknown role is refused', async () => {
    const create = ['people', 'create', '--name', 'Ada', '--email']
    const ofAcme = ['--tenant', acme.tenantId]
    await adminJsonWith([...create, 'a@acme.example', ...ofAcme], env)
    await adminJsonWith([...create, 'b@operator.example'], env)
    expect(await adminJsonWith(['people', 'list', ...ofAcme], env)).toMatchObject([{ role: 'DEALER_ADMIN' }])
    const inCapitals = ['people', 'list', '--tenant', acme.tenantId.toUpperCase()]
    expect(await adminJsonWith(inCapitals, env)).toMatchObject([{ tenantId: acme.tenantId }])
    expect(await adminJsonWith(['people', 'list'], env)).toMatchObject([{ role: 'OPERATOR_ADMIN' }])
    for (const [args, roles] of [
      [[...ofAcme, '--role', 'OPERATOR_STAFF'], 'DEALER_ADMIN or DEALER_STAFF'],
      [['--role', 'DEALER_STAFF'], 'OPERATOR_ADMIN, OPERATOR_STAFF or OPERATOR_READ_ONLY'],
    ] as const) {
      const refused = await adminWith([...create, 'c@acme.example', ...args], env)
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(roles)])
    }
  })

  test('control characters in a name are not printed, with or without --json', async () => {
    const hostile = 'Ada\u001b]0;gone\u0007\u009b2J\u202eadA'
    const { link } = await adminJsonWith<{ link: string }>(
      ['people', 'create', '--name', hostile, '--email', 'h@operator.example'],
      env,
    )
    expect(link).toContain('/welcome#')
    const { stdout } = await adminWith(['people', 'list'], env)
    expect(stdout).toMatch(/^h@operator\.example +Ada \]0;gone {2}2J adA +OPERATOR_ADMIN/m)
    const asJson = await adminWith(['people', 'list', '--json'], env)
    expect(asJson.stdout).not.toMatch(/[\u0007\u001b\u0080-\u009f\u202e]/)
    expect(JSON.parse(asJson.stdout)).toContainEqual(expect.objectContaining({ name: hostile }))
    const refused = await adminWith(['people', 'link', '\u001b[2J@nobody.example'], env)
    const unknown = await adminWith(['\u001b[2J'], env)
    expect(`${refused.stderr}${unknown.stderr}`).not.toContain('\u001b')
  })

  test('a link points to the local gateway’s address unless an address is configured', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-link-'))
    try {
      const made = async (over: Record<string, string>) =>
        (
          await adminJsonWith<{ link: string }>(['people', 'link', 'a@acme.example'], {
            ...env,
            DATA_DIR: folder,
            ...over,
          })
        ).link
      expect(await made({})).toMatch(/^http:\/\/127\.0\.0\.1:8080\/console\/welcome#/)
      const access = { baseUrl: 'http://127.0.0.1:4711', consoleUrl: 'http://127.0.0.1:4712/console' }
      writeFileSync(join(folder, 'local.json'), JSON.stringify(access))
      expect(await made({})).toMatch(/^http:\/\/127\.0\.0\.1:4712\/console\/welcome#/)
      expect(await made({ PUBLIC_URL: 'http://gateway.test' })).toMatch(/^http:\/\/gateway\.test\/console\/welcome#/)
      writeFileSync(join(folder, 'local.json'), 'not JSON')
      expect(await made({})).toMatch(/^http:\/\/127\.0\.0\.1:8080\//)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('an adjustment must be approved by a second OS user', async () => {
    const adjust = ['wallet', 'adjust', acme.tenantId, '-50.05', '--reference', 'C-1', '--reason', '=1+1']
    const { adjustmentId } = await adminJsonWith<{ adjustmentId: string }>(adjust, { ...env, SUDO_USER: 'alice' })
    const approve = ['wallet', 'approve', acme.tenantId, adjustmentId]
    const { stdout } = await adminWith(['wallet', 'adjustments'], env)
    expect(stdout).toMatch(/ Acme Travel +-50\.05 EUR /)
    const alone = await adminWith(approve, { ...env, SUDO_USER: 'alice' })
    expect(alone.code).toBe(1)
    // SUDO_USER counts only for root: any other user could set it to impersonate a second person.
    if (process.getuid!() !== 0) return
    expect(await adminJsonWith(['wallet', 'adjustments'], env)).toMatchObject([{ adjustmentId, status: 'PROPOSED' }])
    const bob = { ...env, SUDO_USER: 'bob' }
    expect(await adminJsonWith(approve, bob)).toMatchObject({ status: 'APPROVED', decidedBy: 'cli:bob' })
    const again = await adminWith(approve, bob)
    expect(again.stdout).toMatch(/Tenant +\S+ Acme Travel\nAmount +-50\.05 EUR\n/)
    expect(await adminJsonWith(['wallet', 'balance', acme.tenantId], env)).toMatchObject({ balance: 12_000_000 })
  })

  test.skipIf(process.getuid!() !== 0)(
    'the caller of ops/dealer-esim-admin is identified by its systemd credential',
    async () => {
      const unit = `/run/credentials/dealer-esim-test-${process.pid}`
      const elsewhere = join(dataDir, 'credentials')
      const adjustCommand = (reference: string) => [
        'wallet',
        'adjust',
        acme.tenantId,
        '1',
        '--reference',
        reference,
        '--reason',
        'x',
      ]
      const proposer = async (reference: string, CREDENTIALS_DIRECTORY: string) => {
        const by = { ...env, SUDO_USER: '', CREDENTIALS_DIRECTORY }
        return (await adminJsonWith<{ proposedBy: string }>(adjustCommand(reference), by)).proposedBy
      }
      try {
        for (const folder of [unit, elsewhere]) {
          mkdirSync(folder, { recursive: true })
          writeFileSync(join(folder, 'operator'), 'carol')
        }
        expect(await proposer('S-1', unit)).toBe('cli:carol')
        for (const [i, folder] of [elsewhere, `/run/credentials/../..${elsewhere}`, `${unit}/none`].entries()) {
          expect(await proposer(`S-${i + 2}`, folder)).toBe('cli:root')
        }
      } finally {
        rmSync(unit, { recursive: true, force: true })
      }
    },
  )

  test('a statement can be printed as a list, for one month, or as CSV', async () => {
    const month = new Date().toISOString().slice(0, 7)
    const latest = await adminJsonWith<{ entries: { amount: number }[] }>(['wallet', 'statement', acme.tenantId], env)
    const sum = latest.entries.reduce((total, entry) => total + entry.amount, 0)
    const monthly = ['wallet', 'statement', acme.tenantId, '--month', month]
    expect(await adminJsonWith(monthly, env)).toMatchObject({ month, opening: 0, closing: sum, complete: false })
    // The command waits for the reader of its output.
    const csv = await admin([...monthly, '--csv'], env)
    const rows = parse(csv.stdout, { columns: true }) as Record<string, string>[]
    expect(rows[0]).toMatchObject({ kind: 'TOP_UP', amount: '1250.05', reference: 'INV-1' })
    expect(rows).toHaveLength(latest.entries.length)
  })

  test('ledger verify reports the number of tenants and faults', async () => {
    const report = await adminJsonWith(['ledger', 'verify'], env)
    expect(report).toMatchObject({ ok: true, tenants: 1, faults: 0, faultList: [] })
    expect((await adminWith(['ledger', 'verify'], env)).stdout).toContain('The ledger is consistent.')
  })

  test.each<[string, string[], number, string]>([
    ['an unknown noun', ['tenants'], 2, 'Unknown command “tenants”. Available: tenant, key, people,'],
    ['an unknown command', ['tenant', 'drop'], 2, 'unknown command'],
    ['a noun without a command', ['tenant'], 2, '“tenant” needs a command: create, list, show,'],
    ['an incomplete command', ['price', 'plan'], 2, '“price plan” needs a command: create, set,'],
    ['a missing option', ['tenant', 'create'], 2, '--name'],
    ['an unknown option', ['tenant', 'list', '--al'], 2, '--al'],
    ['an amount with a comma', ['wallet', 'top-up', NOBODY, '1,250.00', '--reference', 'R'], 2, '1,250.00'],
    ['five decimal places', ['wallet', 'top-up', NOBODY, '1.00001', '--reference', 'R'], 2, 'decimal places'],
    ['a malformed duration', ['tenant', 'reset-secret', NOBODY, '--grace', '1 hour'], 2, '1 hour'],
    ['a limit that is not a number', ['tenant', 'set', NOBODY, '--qps-limit', 'many'], 2, 'many'],
    ['an unknown format of events', ['tenant', 'set', NOBODY, '--event-format', 'xml'], 2, 'dealer or rt'],
    ['no setting', ['tenant', 'set', NOBODY], 2, 'Give at least one setting'],
    ['CSV without a month', ['wallet', 'statement', NOBODY, '--csv'], 2, '--month'],
    ['a malformed month', ['wallet', 'statement', NOBODY, '--month', '2026-13'], 1, 'not a month'],
    ['a grace that is too long', ['tenant', 'reset-secret', NOBODY, '--grace', '25h'], 1, '24 hours'],
    ['a malformed allowlist', ['tenant', 'set', NOBODY, '--ip-allowlist', '127.1'], 1, '127.1'],
    ['an unknown tenant', ['tenant', 'show', NOBODY], 1, 'no such tenant'],
    ['a malformed event id', ['webhook', 'show', NOBODY, 'abc'], 1, 'no such'],
    ['a malformed tenant id', ['price', 'list', '--tenant', 'abc'], 1, 'no such tenant'],
    ['an unknown event to list before', ['webhook', 'list', ACME, '--before', 'abc'], 1, 'There is no such event.'],
    ['an unknown replay', ['webhook', 'replays', ACME, '--cancel', 'abc'], 1, 'There is no such replay.'],
    ['an unknown event to resend', ['webhook', 'resend', ACME, 'abc'], 1, 'There is no such event.'],
    ['an unknown event to show', ['webhook', 'show', ACME, 'abc'], 1, 'There is no such event.'],
    [
      'a person of an unknown tenant',
      ['people', 'create', '--name', 'X', '--email', 'x@y.example', '--tenant', NOBODY],
      1,
      'such tenant',
    ],
    [
      'a person of a malformed tenant id',
      ['people', 'create', '--name', 'X', '--email', 'x@y.example', '--tenant', 'abc'],
      1,
      'such tenant',
    ],
    ['the people of an unknown tenant', ['people', 'list', '--tenant', NOBODY], 1, 'There is no such tenant.'],
    ['the people of a malformed tenant id', ['people', 'list', '--tenant', 'abc'], 1, 'There is no such tenant.'],
    ['an unknown currency', ['tenant', 'create', '--name', 'X', '--currency', 'EURO'], 1, 'EURO'],
    ['a missing publication', ['cells', 'import', '/no/such.jsonl'], 1, 'There is no file /no/such.jsonl.'],
    [
      'a missing file of cells',
      ['tenant', 'move', ACME, '--to', 'eu1', '--file', '/no/such.json'],
      1,
      'There is no file /no/such.json.',
    ],
    ['a file that cannot be written', ['cells', 'publish', '/no/such/folder'], 1, 'no such file or directory'],
    ['a filter of events without a tenant', ['webhook', 'list', '--outcome', 'DEAD'], 2, 'specify a tenant'],
    ['a filter of endpoints with a tenant', ['webhook', 'list', ACME, '--unwell'], 2, 'leave out either the tenant'],
    [
      'a retail price for one tenant',
      ['price', 'set', 'P', '1', '--tenant', ACME, '--retail', '2'],
      2,
      '--retail belongs to a list price',
    ],
    ['a report that ends before it begins', ['supplier', 'report', '--to', '2020-02'], 2, 'is after --to'],
  ])('%s is reported as a message, or with --json as one JSON document', async (_, given, code, words) => {
    const args = given.map((arg) => (arg === ACME ? acme.tenantId : arg))
    const human = await adminWith(args, env)
    const json = await adminWith([...args, '--json'], env)
    expect(human).toMatchObject({ code, stdout: '' })
    expect(human.stderr).toContain(words)
    expect(human.stderr).not.toMatch(/\n +at /)
    expect(json).toMatchObject({ code, stdout: '' })
    const { error } = JSON.parse(json.stderr) as { error: { code: string; message: string } }
    expect(error.message).toContain(words)
  })

  // These run in separate processes, with exit codes and streams, as for an operator.
  test('after a usage error, the command exits with status 2', async () => {
    expect(await admin(['tenant', 'drop'], env)).toMatchObject({ code: 2, stdout: '' })
  })

  test('a new tenant is shown with its wallet currency', async () => {
    const { stdout } = await adminWith(['tenant', 'create', '--name', 'In dollars'], env)
    expect(stdout).toMatch(/^Currency +USD$/m)
  })

  test('an invalid configuration is reported before anything is done', async () => {
    const run = await admin(['tenant', 'list'], { ...env, DATABASE_POOL_SIZE: 'many', PORT: 'x' })
    expect(run.code).toBe(1)
    expect(run.stderr).toMatch(/DATABASE_POOL_SIZE[\s\S]*PORT|PORT[\s\S]*DATABASE_POOL_SIZE/)
  })

  test('a master key that does not match is refused', async () => {
    const run = await admin(['tenant', 'list'], { ...env, MASTER_KEY: '11'.repeat(32) })
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(run.stderr).toContain('a different master key')
  })

  test('an unreachable server is reported as unreachable', async () => {
    const run = await admin(['tenant', 'list'], { ...env, DATABASE_URL: 'postgres://x:y@127.0.0.1:1/z' })
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(run.stderr).toContain('Cannot connect to the database: connect ECONNREFUSED')
  })

  test('help works without a database and shows examples', async () => {
    for (const args of [[], ['--help'], ['tenant', '--help'], ['wallet', 'top-up', '--help']]) {
      const run = await admin(args, { DATABASE_URL: 'nonsense' })
      expect(run).toMatchObject({ code: 0, stderr: '' })
    }
    const { stdout } = await admin(['wallet', 'top-up', '--help'], {})
    expect(stdout).toContain('npm run -s admin -- wallet top-up ID 1250.00 --reference INV-2026-0042')
  })
})
