import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { createIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { createPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { alertOldBackup } from '#operations/backup/backup-alert.ts'
import { migrationsFolder } from '#platform/package-root.ts'
import { AGED_BY_CLOCK, REQUEST_IDS } from '#platform/retention/retention-table.ts'
import { createEmptyDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'
import { adminJsonWith, adminWith } from '../harness/processes/admin-in-process.ts'
import { SHARED_MASTER_KEY, startGateway, stopGateways, temporaryFolder } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'

/* A gateway with sales, its backups, and databases to restore them into. */

interface Made {
  file: string
  bytes: number
  rows: number
  deleted: string[]
}

let sold: TestDatabase
let db: Database
let dataDir: string
let folder: string
let dealer: { appKey: string; appSecret: string }
let made: Made
const others: TestDatabase[] = []

const envOf = (url: string) => ({
  ...{ DATABASE_URL: url, DATABASE_SCHEMA: DEFAULT_SCHEMA, MASTER_KEY: SHARED_MASTER_KEY },
  ...{ DATA_DIR: dataDir, METRICS_PORT: '0' },
})

beforeAll(async () => {
  sold = await createEmptyDatabase()
  db = createDb({ url: sold.url, poolSize: 2, applicationName: 'test' })
  dataDir = temporaryFolder('backups')
  folder = temporaryFolder('backup-files')
  const gateway = await startGateway({ databaseUrl: sold.url, dataDir })
  dealer = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  const esim = new DealerEsim({ ...dealer, baseUrl: gateway.baseUrl })
  for (const transactionId of ['ONE', 'TWO', 'THREE']) {
    await esim.order({ transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] })
    await waitUntil(async () => (await esim.query({ transactionId })).orderStatus === 'DELIVERED')
  }
  await gateway.kill()
  // What a text format could damage.
  await db.query({
    text: `update packages set description = E'tab\\t, newline\\n, backslash \\\\N \\\\. and “ü”'`,
  })
  made = await adminJsonWith<Made>(['backup', folder], envOf(sold.url))
})
afterAll(async () => {
  await stopGateways()
  await db.close()
  for (const database of [sold, ...others]) await database.drop()
})

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await createEmptyDatabase()
  others.push(database)
  return database
}

/** Every row of every table as text, without what a restore changes or leaves out. */
async function rowsOf(at: Pick<Database, 'query'>): Promise<Record<string, string[]>> {
  const tables = await at.query<{ name: string }>({
    text: `select relname as name from pg_class where relnamespace = current_schema()::regnamespace
           and relkind in ('r', 'p') and not relispartition
           and relname not in ('backups', 'restores', 'ledger_restores', 'request_ids', 'qps_buckets', 'schema_migrations', 'schema_releases') order by 1`,
  })
  const rows: Record<string, string[]> = {}
  for (const { name } of tables) {
    const found = await at.query<{ row: string }>({ text: `select t::text as row from "${name}" t order by 1` })
    rows[name] = found.map((each) => each.row)
  }
  // A backup is recorded once its file is complete.
  rows.audit_log = rows.audit_log!.filter((row) => !row.includes('backup.make'))
  return rows
}

const failure = async (args: string[], env: Record<string, string>) => {
  const { code, stderr } = await adminWith(args, env)
  expect(code).toBe(1)
  return stderr.trim()
}

test('a backup is recorded, and its file can be read only by the owner', async () => {
  expect(made.file).toMatch(/\/dealer-esim-\d{8}T\d{6}Z\.backup$/)
  expect(statSync(made.file)).toMatchObject({ size: made.bytes })
  expect(statSync(made.file).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder)).toHaveLength(1)
  expect(await db.query({ text: 'select file, bytes::int as bytes, encrypted from backups' })).toEqual([
    { file: made.file, bytes: made.bytes, encrypted: false },
  ])
})

test('during a backup, partitions are created and dropped only in tables that the backup leaves out', async () => {
  const pastEvents = () => createPartitions(db, AGED_BY_CLOCK, Date.now() - 60 * 86_400_000)
  const reading = await db.tx(async (tx) => {
    await tx.query({ text: 'lock table notes in access exclusive mode' }) // the backup waits for it
    const backup = adminWith(['backup', join(temporaryFolder('reading'), 'a')], envOf(sold.url))
    await waitForBlockedStatements(db)
    expect(await createPartitions(db, [REQUEST_IDS], Date.now() - 5 * 3_600_000)).not.toEqual([])
    expect(await pastEvents()).toEqual([])
    return { backup }
  })
  expect(await reading.backup).toMatchObject({ code: 0 })
  expect(await pastEvents()).not.toEqual([])
})

test('the backup command says what it leaves out, and prints the key only on request', async () => {
  const plain = await adminWith(['backup', join(temporaryFolder('plain'), 'a')], envOf(sold.url))
  expect(plain.stdout).toMatch(/Not in it:\n- the master key, [\s\S]*configuration[\s\S]*sold from this moment on/)
  expect(plain.stdout).not.toContain(SHARED_MASTER_KEY)
  const printed = await adminWith(['backup', join(temporaryFolder('key'), 'a'), '--print-key'], envOf(sold.url))
  expect(printed.stdout).toContain(`MASTER_KEY=${SHARED_MASTER_KEY}`)
  const { fingerprint } = createCipher([Buffer.from(SHARED_MASTER_KEY, 'base64')])
  expect(printed.stdout).toContain(`fingerprint ${fingerprint}, for a safe`) // as a restore with another key names it
  const audited = await db.query<{ actor: string; after: { encrypted: boolean; printedKeys: string[] } }>({
    text: `select actor, after from audit_log where action = 'backup.make' order by audit_id desc limit 2`,
  })
  expect(audited).toMatchObject([
    { actor: expect.stringMatching(/^cli:/), after: { encrypted: false, printedKeys: [expect.any(String)] } },
    { after: { printedKeys: [] } },
  ])
  expect(JSON.stringify(audited)).not.toContain(SHARED_MASTER_KEY)
})

test.each([[[]], [['--encrypt']]])('every row is restored from a backup with the options %j', async (options) => {
  const { file } = await adminJsonWith<Made>(['backup', temporaryFolder('one'), ...options], envOf(sold.url))
  expect(readFileSync(file).includes('“ü”')).toBe(false)
  const database = await emptyDatabase()
  const restored = createDb({ url: database.url, poolSize: 1, applicationName: 'test' })
  expect(await adminJsonWith(['restore', file], envOf(database.url))).toMatchObject({ recovering: true })
  expect(await restored.query({ text: 'select recovering from restores' })).toEqual([{ recovering: true }])
  const unrecorded = `select from wallets w where not exists (
    select from ledger_restores l join restores using (restore_id) where l.tenant_id = w.tenant_id and l.tree_size = w.version)`
  expect(await restored.query({ text: unrecorded })).toEqual([])
  const rows = await rowsOf(db)
  expect(rows.profiles).toHaveLength(6)
  expect(await rowsOf(restored)).toEqual(rows)
  const leftOut = { text: 'select (select count(*) from request_ids) + (select count(*) from qps_buckets) as rows' }
  expect(await restored.query(leftOut)).toEqual([{ rows: 0n }])
  const sequence = { text: 'select last_value from sandbox_iccids' }
  expect(await restored.query(sequence)).toEqual(await db.query(sequence))
  await restored.close()
})

test('a gateway goes on from a restored database if nothing was sold since', async () => {
  const database = await emptyDatabase()
  await adminJsonWith(['restore', made.file], envOf(database.url))
  await adminJsonWith(['recovery', 'release', '--nothing-sold', 'moved to another server'], envOf(database.url))
  const gateway = await startGateway({ databaseUrl: database.url, dataDir })
  const esim = new DealerEsim({ ...dealer, baseUrl: gateway.baseUrl })
  const again = await esim.order({ transactionId: 'TWO', packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] })
  expect(again.replayed).toBe(true)
  await esim.order({ transactionId: 'FOUR', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
  await waitUntil(async () => (await esim.query({ transactionId: 'FOUR' })).orderStatus === 'DELIVERED')
  expect(await adminJsonWith(['ledger', 'verify'], envOf(database.url))).toMatchObject({ ok: true, orders: 4 })
  await gateway.kill()
})

test('a restore that was interrupted after its rows were committed goes on', async () => {
  const database = await emptyDatabase()
  await adminJsonWith(['restore', made.file], envOf(database.url))
  const again = await adminJsonWith<{ rows: null }>(['restore', made.file], envOf(database.url))
  expect(again.rows).toBeNull()
  expect(again).not.toHaveProperty('recovering') // the recovery may have been released since
})

test('a backup that was truncated, altered or extended is refused, and the database stays empty', async () => {
  const whole = readFileSync(made.file)
  const headerEnd = whole.indexOf('\n', 30) + 1
  const database = await emptyDatabase()
  const bad = join(temporaryFolder('bad'), 'bad.backup')
  const at = (position: number, to: (byte: number) => number) => {
    const copy = Buffer.from(whole)
    copy[position] = to(copy[position]!)
    return copy
  }
  const flipped = (position: number) => at(position, (byte) => byte ^ 1)
  const salt = whole.indexOf('"salt":"') + 10
  const forms: Buffer[] = [
    ...[20, headerEnd - 5, headerEnd, headerEnd + 2, whole.length >> 1, whole.length - 36, whole.length - 1].map(
      (end) => whole.subarray(0, end),
    ),
    ...[salt, headerEnd, headerEnd + 3, headerEnd + 4, whole.length >> 1, whole.length - 33, whole.length - 1].map(
      flipped,
    ),
    Buffer.concat([whole.subarray(0, headerEnd), whole.subarray(-36)]), // without its rows
    Buffer.concat([whole, Buffer.from('\n')]), // extended
    ...['null', '{}', '{"migrations":1}'].map((header) =>
      Buffer.concat([whole.subarray(0, whole.indexOf('\n') + 1), Buffer.from(header), whole.subarray(headerEnd - 1)]),
    ),
  ]
  for (const form of forms) {
    writeFileSync(bad, form)
    expect(await failure(['restore', bad], envOf(database.url))).toMatch(/was truncated|was altered|is not a backup/)
  }
  const client = createDb({ url: database.url, poolSize: 1, applicationName: 'test' })
  expect(
    await client.query({ text: `select relname from pg_class where relnamespace = 'public'::regnamespace` }),
  ).toEqual([])
  await client.close()
})

test('an encrypted backup that was altered is refused', async () => {
  const { file } = await adminJsonWith<Made>(['backup', temporaryFolder('sealed'), '--encrypt'], envOf(sold.url))
  const bytes = readFileSync(file)
  bytes[bytes.length >> 1]! ^= 1
  writeFileSync(file, bytes)
  expect(await failure(['restore', file, '--check'], envOf(sold.url))).toMatch(/was altered/)
})

test('a wrong key is reported before anything is changed', async () => {
  const database = await emptyDatabase()
  const env = { ...envOf(database.url), MASTER_KEY: Buffer.alloc(32, 9).toString('base64') }
  expect(await failure(['restore', made.file], env)).toMatch(
    /needs the master key with the fingerprint [0-9a-f]{32}; MASTER_KEY has [0-9a-f]{32}\. .* Nothing was changed\.$/,
  )
  expect(await failure(['backup', folder], { ...envOf(sold.url), MASTER_KEY: env.MASTER_KEY })).toMatch(/master key/i)
})

test('a restore into a database that a gateway uses is refused', async () => {
  expect(await failure(['restore', made.file], envOf(sold.url))).toMatch(
    /belongs to a gateway, whose data a restore would replace\. .* Nothing was changed\.$/,
  )
})

test('a backup from a later release is refused, with a message that names both releases', async () => {
  const text = readFileSync(made.file)
  const end = text.indexOf('\n', 30)
  const header = JSON.parse(text.toString('utf8', text.indexOf('\n') + 1, end))
  header.migrations.push({ version: 9001, name: '9001_later.sql', checksum: 'x' })
  Object.assign(header, { release: 9, label: '0.9.0 (0123abcd)' })
  const later = join(temporaryFolder('later'), 'later.backup')
  const magic = text.subarray(0, text.indexOf('\n') + 1)
  writeFileSync(later, Buffer.concat([magic, Buffer.from(JSON.stringify(header)), text.subarray(end)]))
  expect(await failure(['restore', later], envOf(sold.url))).toMatch(
    /was made by release 9, 0\.9\.0 \(0123abcd\), whose migration 9001_later\.sql release \d+, .* does not have\./,
  )
})

test('an interrupted restore can be repeated', async () => {
  const database = await emptyDatabase()
  await migrate({ databaseUrl: database.url, log: silentLog, directory: migrationsFolder() })
  const client = createDb({ url: database.url, poolSize: 2, applicationName: 'test' })
  const interrupted = await client.tx(async (tx) => {
    await tx.query({ text: 'select from orders' }) // the restore waits for its lock
    const restoring = adminWith(['restore', made.file], envOf(database.url))
    await waitForBlockedStatements(client)
    await client.query({
      text: `select pg_terminate_backend(pid) from pg_stat_activity
             where application_name = 'dealer-esim backup' and datname = current_database()`,
    })
    return await restoring
  })
  expect(interrupted.code).toBe(1)
  await adminJsonWith(['restore', made.file], envOf(database.url))
  expect(await rowsOf(client)).toEqual(await rowsOf(db))
  await client.close()
})

/** Starts a restore, and calls `during` while the restore, which has checked the file, waits for a lock of `hold`. */
async function restoreDuring(file: string, hold: string, during: () => void) {
  const database = await emptyDatabase()
  await migrate({ databaseUrl: database.url, log: silentLog, directory: migrationsFolder() })
  const client = createDb({ url: database.url, poolSize: 2, applicationName: 'test' })
  const restoring = await client.tx(async (tx) => {
    await tx.query({ text: hold })
    const restored = adminWith(['restore', file], envOf(database.url))
    await waitForBlockedStatements(client)
    during()
    return { restored }
  })
  const { code, stderr } = await restoring.restored
  const deployments = await client.query({ text: 'select kind, master_key_fingerprint from deployment' })
  await client.close()
  return { code, stderr, deployments }
}

test('a backup that is altered after it was checked is not restored', async () => {
  const file = join(temporaryFolder('changing'), 'a.backup')
  copyFileSync(made.file, file)
  const { code, stderr, deployments } = await restoreDuring(file, 'select from orders', () => {
    const bytes = readFileSync(file)
    bytes[bytes.length - 1]! ^= 1
    writeFileSync(file, bytes)
  })
  expect(stderr).toMatch(/was altered/)
  expect({ code, deployments }).toEqual({ code: 1, deployments: [] })
})

test('a restore leaves a database alone if a gateway begins to use it meanwhile', async () => {
  const start = `insert into deployment (kind, master_key_fingerprint, link_key) values ('local', 'other', '\\x00')`
  const { code, stderr, deployments } = await restoreDuring(made.file, start, () => {})
  expect(stderr).toMatch(/belongs to a gateway/)
  expect({ code, deployments }).toEqual({ code: 1, deployments: [{ kind: 'local', masterKeyFingerprint: 'other' }] })
})

test('the oldest backups in a folder are deleted, and no other files', async () => {
  const kept = temporaryFolder('kept')
  for (const day of ['01', '02', '03']) copyFileSync(made.file, join(kept, `dealer-esim-202611${day}T030000Z.backup`))
  writeFileSync(join(kept, 'dealer-esim-notes.txt'), '')
  const { deleted } = await adminJsonWith<Made>(['backup', kept, '--keep', '2'], envOf(sold.url))
  expect(deleted).toEqual(['dealer-esim-20261101T030000Z.backup', 'dealer-esim-20261102T030000Z.backup'])
  expect(readdirSync(kept)).toHaveLength(3)
})

test('cells that share a folder name their backups, and each deletes only its own', async () => {
  const shared = temporaryFolder('shared')
  const others = ['dealer-esim-20261101T030000Z.backup', 'dealer-esim-us1-20261101T030000Z.backup']
  for (const name of [...others, 'dealer-esim-eu1-20261101T030000Z.backup']) copyFileSync(made.file, join(shared, name))
  const env = { ...envOf(sold.url), CELL_NAME: 'eu1' }
  const { file, deleted } = await adminJsonWith<Made>(['backup', shared, '--keep', '1'], env)
  expect(file).toMatch(/\/dealer-esim-eu1-\d{8}T\d{6}Z\.backup$/)
  expect(deleted).toEqual(['dealer-esim-eu1-20261101T030000Z.backup'])
  expect(readdirSync(shared)).toEqual(expect.arrayContaining(others))
})

test('operators are alerted once a day if the last backup is over a day old, unless they back up in another way', async () => {
  const ids = createIds(Date.now)
  const alert = (backupAlert: 'on' | 'off', deployment: 'local' | 'production' = 'production') =>
    alertOldBackup({ db, ids, log: silentLog, config: { backupAlert, deployment } })
  expect(await alert('on')).toBe(false)
  await db.query({ text: `update backups set started_at = started_at - interval '27 hours'` })
  expect(await alert('off')).toBe(false)
  expect(await alert('on', 'local')).toBe(false)
  expect(await Promise.all([alert('on'), alert('on')])).toEqual(expect.arrayContaining([true, false]))
  expect(await alert('on')).toBe(false)
  const alerts = await db.query<{ message: string }>({ text: `select message from alerts where kind = 'BACKUP_OLD'` })
  expect(alerts).toEqual([{ message: expect.stringMatching(/^The last backup is from 20.*\.backup\. Find out why/) }])
  await db.query({ text: `update alerts set created_at = created_at - interval '25 hours'; delete from backups` })
  await db.query({ text: `update deployment set created_at = now() - interval '2 days'` })
  expect(await alert('on')).toBe(true)
})

test('a backup that cannot be written leaves no file, and its error says why', async () => {
  const none = join(temporaryFolder('none'), 'missing', 'a.backup')
  expect(await failure(['backup', none], envOf(sold.url))).toMatch(/^There is no folder .*missing\. Create it/)
  expect(await failure(['backup', made.file], envOf(sold.url))).toMatch(/already exists/)
  const keepOfFile = ['backup', join(folder, 'a.backup'), '--keep', '2']
  expect(await failure(keepOfFile, envOf(sold.url))).toMatch(/--keep needs a folder/)
  expect(readdirSync(folder)).toHaveLength(1)
})

test('leftovers of an interrupted backup are replaced by a file that only its owner can read', async () => {
  const file = join(temporaryFolder('partial'), 'a.backup')
  writeFileSync(`${file}.partial`, 'left', { mode: 0o666 })
  await adminJsonWith(['backup', file], envOf(sold.url))
  expect(statSync(file).mode & 0o777).toBe(0o600)
})
