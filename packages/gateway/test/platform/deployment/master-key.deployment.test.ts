import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDeps } from '#deps.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import { readConfig } from '#platform/config/config.ts'
import { ENCRYPTED_COLUMNS } from '#platform/deployment/encrypted-columns.ts'
import { nameWithKeys } from '#platform/deployment/peers.ts'
import { importStock } from '#stock/import-stock.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { call, type Dealer, NODE_ENV, OPERATOR } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { admin, adminJson } from '#test/harness/processes/admin-process.ts'
import { type GatewayProcess, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type OrderLoad, startOrderLoad } from '#test/orders/order-load.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'

const [OLD, NEW, OTHER] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const
const text = (...keys: Buffer[]) => keys.map((key) => key.toString('base64')).join(',')
const [oldCipher, newCipher] = [createCipher([OLD]), createCipher([NEW])]
const NEW_ID = newCipher.keyIds[0]!
/** More than two batches. */
const CODES = 1_100

let database: TestDatabase
let db: Db & { close(): Promise<void> }
let dealer: Dealer
let load: OrderLoad
/** A gateway that knows only the new key. */
let last: GatewayProcess
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-keys-'))

beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 2, applicationName: 'test' })
})
afterAll(async () => {
  await load?.stop()
  await stopGateways()
  await db.close()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

const gateway = (...keys: Buffer[]) =>
  startGateway({
    databaseUrl: database.url,
    env: { MASTER_KEY: text(...keys), DEFAULT_QPS_LIMIT: '100000', CONSOLE: 'off' },
  })

/** Starts and stops a node in this process. @returns the reason if its start was refused */
async function refusal(...keys: Buffer[]): Promise<string | undefined> {
  const config = readConfig({ ...NODE_ENV, DATABASE_URL: database.url, MASTER_KEY: text(...keys) }, [])
  try {
    const deps = await createDeps(config, silentLog, database.url)
    await deps.stop(1_000)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const env = (...keys: Buffer[]) => ({ DATABASE_URL: database.url, DATA_DIR: folder, MASTER_KEY: text(...keys) })

interface Sealed {
  column: string
  owner: string
  ciphertext: Buffer
}

/** Reads all ciphertexts of ENCRYPTED_COLUMNS, and the link key. */
async function readSealed(): Promise<Sealed[]> {
  const columns = await Promise.all(
    ENCRYPTED_COLUMNS.map(({ table, column, owner }) =>
      db.query<Sealed>({
        text: `select '${table}.${column}' as column, ${owner} as owner, ${column} as ciphertext from ${table}
               where ${column} is not null`,
      }),
    ),
  )
  const linkKey = await db.query<Sealed>({
    text: `select 'deployment.link_key' as column, $1 as owner, link_key as ciphertext from deployment`,
    values: [NIL_TENANT],
  })
  return [...columns.flat(), ...linkKey]
}

function opens(cipher: typeof oldCipher, { ciphertext, owner }: Sealed): boolean {
  try {
    cipher.decrypt(ciphertext, owner)
    return true
  } catch {
    return false
  }
}

/** Adds a row to each table that is not filled by sandbox orders. */
async function fillOtherTables(tenantId: string): Promise<void> {
  const lines = Array.from({ length: CODES }, (_, i) => `${makeIccid('8985777', i)},LPA:1$smdp.example.com$KEY-${i}`)
  const deps = { db, ids: systemIds, cipher: oldCipher, linkKey: randomBytes(32), config: { deployment: 'local' } }
  const wake = { wake() {} }
  await addSupplier({ ...deps, wake }, { name: 'shelf', type: 'stock', config: {} }, OPERATOR)
  const file = Readable.from([`iccid,ac\n${lines.join('\n')}\n`])
  await importStock(deps, { supplier: 'shelf', productCode: 'P', file }, OPERATOR)
  const personId = systemIds.uuid()
  await db.query({
    text: `insert into people (person_id, email, name, role, totp_secret) values ($1, 'a@example.com', 'A', 'OPERATOR_ADMIN', $2)`,
    values: [personId, oldCipher.encrypt('totp', personId)],
  })
  await db.query({
    text: `insert into es2plus_orders (supplier, key, iccid_chosen, secrets, step) values ('shelf', 'K', false, $1, 'NEW')`,
    values: [oldCipher.encrypt('matching id', 'supplier:shelf')],
  })
  await db.query({
    text: `insert into supplier_tokens (supplier, account, token, next_fetch_at) values ('shelf', 'A', $1, now())`,
    values: [oldCipher.encrypt('token', 'supplier:shelf')],
  })
  await db.query({
    text: `insert into supplier_exchanges (supplier, exchange_id, content, recorded_at) values ('shelf', $1, $2, now())`,
    values: [systemIds.uuid(), oldCipher.encrypt('exchange', 'supplier:shelf')],
  })
  await db.query({
    text: `insert into orphans (tenant_id, orphan_id, order_id, item_no, supplier, iccid, secrets, created_at, updated_at)
           values ($1, $2, $2, 1, 'shelf', '1', $3, now(), now())`,
    values: [tenantId, systemIds.uuid(), oldCipher.encrypt('code', tenantId)],
  })
  await db.query({
    text: `insert into tenant_keys (tenant_id, key_id, app_key, ciphertext, label, operations, created_at, updated_at)
           values ($1, $2, 'rk_main_1', $3, 'shop', '{health}', now(), now())`,
    values: [tenantId, systemIds.uuid(), oldCipher.encrypt('secret', tenantId)],
  })
  await db.query({
    text: `insert into esim_sends (tenant_id, send_id, order_id, item_no, traveller, created_at, updated_at)
           values ($1, $2, $2, 1, $3, now(), now())`,
    values: [tenantId, systemIds.uuid(), oldCipher.encrypt('traveller', tenantId)],
  })
  await db.query({
    text: 'insert into webhook_endpoints (tenant_id, callback_url, enabled) values ($1, $2, false)',
    values: [tenantId, oldCipher.encrypt('https://receiver.example/?token=t', tenantId)],
  })
  // The operator's own rows have the nil tenant, which is not in the table of tenants.
  for (const owner of [tenantId, NIL_TENANT]) {
    await db.query({
      text: `insert into mails (tenant_id, mail_id, recipient, kind, content) values ($1, $2, 'a@example.com', 'K', $3)`,
      values: [owner, systemIds.uuid(), oldCipher.encrypt('link', owner)],
    })
  }
}

/** Like a rolling restart: the new gateway accepts requests before the old one stops. */
async function replace(node: GatewayProcess, ...keys: Buffer[]): Promise<GatewayProcess> {
  const next = await gateway(...keys)
  load.sendTo(next)
  await load.waitForMore(20)
  expect(await node.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  return next
}

describe('master key rotation', () => {
  it('covers every bytea column in the schema except those with a stated reason', async () => {
    const plain: Record<string, string> = {
      'access_tokens.token_hash': 'a hash',
      'brand_pictures.content': 'public: logos',
      'esim_sends.recipient_hash': 'a keyed hash',
      'ledger_tiles.hashes': 'hashes of entries',
      'passkeys.credential_id': 'public: every authenticator request names it',
      'passkeys.public_key': 'public',
      'person_links.token_hash': 'a hash',
      'recovery_codes.code_hash': 'a hash',
      'sessions.token_hash': 'a hash',
      'sign_in_failures.email_hash': 'a hash',
      'spent_challenges.challenge_hash': 'a hash',
      'stock_codes.fingerprint': 'a hash',
      'top_up_receipts.content': 'a receipt that a dealer attached, no secret of ours',
      'resolved_codes.fingerprint': 'a hash',
      'delivery_attempts.answer': 'what a receiver answered',
      'deployment.link_key': 'sealed; rewritten at the end of a rotation',
    }
    const rows = await db.query<{ name: string }>({
      text: `select table_name || '.' || column_name as name from information_schema.columns
             where table_schema = current_schema() and data_type = 'bytea'
               and table_name not in (select inhrelid::regclass::text from pg_inherits) order by 1`,
    })
    const known = [...ENCRYPTED_COLUMNS.map(({ table, column }) => `${table}.${column}`), ...Object.keys(plain)].sort()
    expect(rows.map(({ name }) => name).sort()).toEqual(known)
  })

  it('leaves nothing encrypted with the old key, even if it is killed and resumed under load', async () => {
    let node = await gateway(OLD)
    const made = await createTenant(
      { db, ids: systemIds, cipher: oldCipher, config: { cellName: 'main' } },
      CLIENT,
      OPERATOR,
    )
    dealer = made
    const plenty = { tenantId: dealer.tenantId, amount: 10_000_000_000n, reference: 'plenty' }
    await topUp({ db, ids: systemIds }, plenty, OPERATOR)
    await fillOtherTables(dealer.tenantId)
    load = startOrderLoad(dealer, 4, () => [{ packageCode: 'SANDBOX_OK', count: 2 }])
    load.sendTo(node)
    await load.waitForMore(20)

    // A key that the other gateways do not know may not come first anywhere, and cannot be rotated to.
    expect(await refusal(NEW, OLD)).toMatch(
      /^Other gateways use this database with different master keys: 127\.0\.0\.1 /,
    )
    node = await replace(node, OLD, NEW)
    const early = await admin(['master-key', 'rotate'], env(NEW, OLD))
    expect(early).toMatchObject({ code: 1, stdout: '' })
    expect(early.stderr).toMatch(/^Gateways that encrypt with a different key are connected: .*restart them\.\n$/)
    expect(await db.query({ text: 'select rotating_to from deployment' })).toEqual([{ rotatingTo: null }])
    node = await replace(node, NEW, OLD)

    // Killed after its first batch.
    const killed = await admin(['master-key', 'rotate'], {
      ...env(NEW, OLD),
      PAUSE_AT: 'master-key.after-batch:kill:2',
    })
    expect(killed.code).toBeNull()
    const between = await readSealed()
    expect(between.some((sealed) => opens(oldCipher, sealed))).toBe(true)
    expect(between.some((sealed) => opens(newCipher, sealed))).toBe(true)
    expect(await refusal(OLD, NEW)).toMatch(
      /^The master key is being rotated to the key with the fingerprint [0-9a-f]{32}\./,
    )
    await load.waitForMore(20)

    const run = await admin(['master-key', 'rotate'], env(NEW, OLD))
    expect([run.code, run.stdout ? '' : run.stderr]).toEqual([0, ''])
    expect(run.stderr).toMatch(/^100 %: (\d+) of \1 rewritten$/m)
    expect(run.stdout).toMatch(
      new RegExp(`^Everything is encrypted under the key ${NEW_ID} .*Remove the old key from MASTER_KEY everywhere`),
    )
    last = await replace(node, NEW)
    await load.waitForMore(20)
    await load.stop()
    expect(
      load.requested.flatMap(({ answers }) => answers.map(({ code }) => code)).filter((code) => code !== '000000'),
    ).toEqual([])
    expect(load.requested.every(({ answers }) => answers.length === 1)).toBe(true)

    const sealed = await readSealed()
    const columns = new Set(sealed.map(({ column }) => column))
    expect([...columns].sort()).toEqual(
      [...ENCRYPTED_COLUMNS.map(({ table, column }) => `${table}.${column}`), 'deployment.link_key'].sort(),
    )
    expect(sealed.filter((one) => opens(oldCipher, one))).toEqual([])
    expect(sealed.filter((one) => !opens(newCipher, one))).toEqual([])
    expect(sealed.length).toBeGreaterThan(CODES + load.acknowledged)
  })

  it('leaves older activation codes readable for the dealer', async () => {
    const { transactionId } = load.requested[0]!
    const profiles = await waitUntil(async () => {
      const answer = await call(last, dealer, 'esim/profile/list', { body: JSON.stringify({ transactionId }) })
      return answer.data.profileList.length === 2 && answer.data.profileList
    })
    for (const profile of profiles) expect(profile.ac).toMatch(/^LPA:1\$/)
  })

  it('is recorded in the audit log with key fingerprints', async () => {
    const entries = await db.query<{ action: string; before: object; after: object }>({
      text: `select action, before, after from audit_log where action like 'master_key.%' order by audit_id`,
    })
    const [from, to] = [{ fingerprint: oldCipher.fingerprint }, { fingerprint: newCipher.fingerprint }]
    expect(entries).toEqual([
      { action: 'master_key.rotate', before: from, after: to },
      { action: 'master_key.rotated', before: from, after: { ...to, rewritten: expect.any(Number) } },
    ])
  })

  it('makes the old key unable to decrypt anything, and never lets it become the first key again', async () => {
    expect(await refusal(OLD)).toMatch(/^The database is encrypted with a different master key\./)
    expect(await refusal(OTHER)).toMatch(/^The database is encrypted with a different master key\./)
    expect(await refusal(OLD, NEW)).toMatch(/^The first key of MASTER_KEY has been replaced by a rotation\./)
    expect(await refusal(NEW, OLD)).toBeUndefined()
  })

  it('shows its state, and does not change anything when it is repeated', async () => {
    const { fingerprint } = newCipher
    expect(await adminJson(['master-key', 'rotate'], env(NEW))).toEqual({ fingerprint, rewritten: 0 })
    const state = await adminJson(['master-key', 'show'], env(NEW))
    expect(state).toMatchObject({ fingerprint, configured: fingerprint, rotatingTo: null, outdated: 0 })
    expect(state).toMatchObject({ keyIds: { fingerprint: NEW_ID, configured: NEW_ID, rotatingTo: null } })
    const human = await admin(['master-key', 'rotate'], env(NEW))
    expect(human.stdout).toMatch(
      new RegExp(`under the key ${NEW_ID} .*nothing had to be rewritten\\. To rotate, put a new`),
    )
    expect(human.stdout).not.toContain('old key')
  })

  it('lists each process once with all its connections, and each key under one id', async () => {
    const { stdout } = await admin(['master-key', 'show'], env(NEW))
    const [summary = '', connected = ''] = stdout.split('\n\n')
    expect(summary.match(new RegExp(`  ${NEW_ID} \\(fingerprint ${newCipher.fingerprint}\\)`, 'g'))).toHaveLength(2)
    const [title, ...rows] = connected.trimEnd().split('\n')
    expect(title).toMatch(/^connected from +process +is +connections +encrypts under +also knows$/)
    const others = rows.map((row) => row.split(/ {2,}/)).filter(([, , is]) => is === 'a gateway')
    expect(others).toEqual([['127.0.0.1', String(last.pid), 'a gateway', expect.stringMatching(/^\d+$/), NEW_ID]])
    expect(Number(others[0]![3])).toBeGreaterThan(1)
  })

  it('uses connection names that PostgreSQL does not truncate', () => {
    const keyIds = ['01234567', '89abcdef', '01234567', '89abcdef']
    for (let keys = 1; keys <= 4; keys++) {
      const name = nameWithKeys('gateway', { keyIds: keyIds.slice(0, keys) })
      expect(name.length).toBeLessThanOrEqual(63)
      expect(name.endsWith(` keys=${keyIds.slice(0, keys).join(',')}`)).toBe(true)
    }
  })
})

const CLIENT = { clientName: 'Key dealer', currencyCode: 'USD' }
