import { createDatabaseClock, systemClock } from '@dealer-esim/lib/clock.ts'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enforceRetention, retentionLoop } from '#platform/retention/retention-loop.ts'
import { DELETED, KEPT, maintainPartitions, PARTITIONED } from '#platform/retention/retention-table.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'

const DAY_MS = 86_400_000
const TENANT = '00000000-0000-7000-8000-000000000001'
const PERSON = '00000000-0000-7000-8000-000000000002'

let database: TestDatabase
let db: Db & { close(): Promise<void> }
const config = { travellerDays: 90 }
beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 2, applicationName: 'test retention' })
  await db.query({
    text: `insert into tenants (tenant_id, app_key, tenant_name, currency_code) values ($1, 'retention', 'R', 'USD')`,
    values: [TENANT],
  })
  await db.query({
    text: `insert into people (person_id, email, name, role) values ($1, 'r@example.com', 'R', 'OPERATOR_ADMIN')`,
    values: [PERSON],
  })
  await db.query({ text: `insert into suppliers (supplier, type, config) values ('whole', 'stock', '')` })
  await db.query({ text: `insert into supplier_balances (supplier, due_at) values ('whole', now())` })
  await db.query({
    text: `insert into supplier_products (supplier, product_code, name, package_type, countries, is_day_pass,
             duration_days, cost, currency_code, is_listed, first_seen_at, changed_at)
           values ('whole', 'P', 'P', 'BASE', '{JP}', false, 7, 1, 'USD', true, now(), now())`,
  })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

describe('the retention table', () => {
  it('lists every table in the database once', async () => {
    const rows = await db.query<{ name: string }>({
      text: `select relname as name from pg_class
             where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
    })
    const tables = [...PARTITIONED, ...DELETED].map(({ table }) => table).concat(Object.keys(KEPT))
    expect(tables.sort()).toEqual(rows.map((row) => row.name))
  })
})

/** Inserts a row of a given age, for each table: $1 is the tenant or the person, $2 a new UUID of that age, $3 the time. */
const ROWS: Record<string, string> = {
  backups: `insert into backups (backup_id, started_at, finished_at, file, bytes, encrypted, actor)
    select $2, $3, $3, 'file', 1, false, 'system' where $1::uuid is not null`,
  audit_log: `insert into audit_log (tenant_id, audit_id, actor, action) values ($1, $2, 'system', 'a.b')`,
  alerts: `insert into alerts (tenant_id, alert_id, kind, audience, message) values ($1, $2, 'K', 'TENANT', 'm')`,
  mails: `insert into mails (tenant_id, mail_id, recipient, kind) values ($1, $2, 'a@example.com', 'K')`,
  webhook_replays: `insert into webhook_replays (tenant_id, replay_id, notify_types, delivery_states, from_id, to_id, cursor_id,
      rate_per_s, matched, stepped_at, actor, created_at, finished_at)
    values ($1, $2, '{ORDER_PAID}', '{DEAD}', $2, $2, $2, 1, 0, now(), 'system', now(), $3)`,
  ledger_checkpoints: `insert into ledger_checkpoints values ($1, $2, 1, 'root', 'note', now(), $3)`,
  top_up_receipts: `with requested as (
      insert into top_up_requests (tenant_id, request_id, amount, reference, requested_by, created_at)
      values ($1, $2, 1, $2::uuid::text, 'system', now()))
    insert into top_up_receipts (tenant_id, request_id, file_name, media_type, content)
    values ($1, $2, 'r.pdf', 'application/pdf', '')`,
  tenant_secrets: `insert into tenant_secrets (tenant_id, secret_id, ciphertext, valid_until) values ($1, $2, '', $3)`,
  sessions: `insert into sessions (session_id, person_id, token_hash, signed_in_by, expires_at)
    values ($2, $1, decode(replace($2::uuid::text, '-', ''), 'hex'), 'PASSWORD', $3)`,
  spent_challenges: `insert into spent_challenges (challenge_hash, expires_at)
    select decode(replace($2::uuid::text, '-', ''), 'hex'), $3 where $1::uuid is not null`,
  person_links: `insert into person_links (person_id, token_hash, kind, expires_at, created_by)
    values ($1, decode(replace($2::uuid::text, '-', ''), 'hex'), 'INVITATION', $3, 'system')`,
  access_tokens: `insert into access_tokens (token_id, person_id, name, scope, token_hash, hint, expires_at)
    values ($2, $1, 'n', 'READ', decode(replace($2::uuid::text, '-', ''), 'hex'), 'hint', $3)`,
  sign_in_failures: `insert into sign_in_failures (email_hash, failures, first_failed_at)
    select decode(replace($2::uuid::text, '-', ''), 'hex'), 1, $3 where $1::uuid is not null`,
  supplier_product_costs: `with added as (
      insert into suppliers (supplier, type, config) values ('s', 'stock', '') on conflict do nothing),
    listed as (
      insert into supplier_products (supplier, product_code, name, package_type, countries, is_day_pass, duration_days,
        cost, currency_code, is_listed, first_seen_at, changed_at)
      values ('s', $2::uuid::text, 'n', 'BASE', '{JP}', false, 1, 1, 'USD', true, $3, $3))
    insert into supplier_product_costs (supplier, product_code, since)
    select 's', $2::uuid::text, $3 where $1::uuid is not null`,
  supplier_balance_readings: `insert into supplier_balance_readings (supplier, read_at, amount, currency_code)
    select 'whole', $3::timestamptz, 1, 'USD' where $1::uuid is not null and $2::uuid is not null`,
  supplier_rates: `insert into supplier_rates (supplier, next_at) select $2::uuid::text, $3 where $1::uuid is not null`,
  supplier_recordings: `with added as (
      insert into suppliers (supplier, type, config) values ($2::uuid::text, 'stock', ''))
    insert into supplier_recordings (supplier, recording_id, exchanges_max, ends_at, started_at)
    select $2::uuid::text, $2, 1, $3, $3 where $1::uuid is not null`,
  supplier_exchanges: `insert into supplier_exchanges (supplier, exchange_id, content, recorded_at)
    select 'whole', $2, '', $3 where $1::uuid is not null`,
  ledger_checks: `insert into ledger_checks (checked_on, started_at) select ($3::timestamptz at time zone 'utc')::date, $3
    where $1::uuid is not null and $2::uuid is not null`,
}

describe('the retention loop', () => {
  it.each(DELETED)('deletes rows of $table after $keepDays days, but not a day before', async (table) => {
    const insert = async (ageDays: number) => {
      const at = new Date(Date.now() - ageDays * DAY_MS)
      const person = /session|person|token/.test(table.table)
      const id = firstUuidAt(at.getTime())
      const text = ROWS[table.table]!
      const values = [person ? PERSON : TENANT, id, at].slice(0, text.includes('$3') ? 3 : 2)
      await db.query({ text, values })
    }
    await insert(table.keepDays + 3) // always on a different day
    await insert(table.keepDays + 1.1)
    await insert(table.keepDays - 1.1)
    const left = async () => (await db.query({ text: `select from ${table.table}` })).length
    expect(await left()).toBe(3)
    await enforceRetention({ db, config, databaseClock: createDatabaseClock(systemClock) })
    expect(await left()).toBe(1)
  })

  it('can delete more rows than fit in one step, tenant by tenant', async () => {
    await db.query({
      text: `insert into alerts (tenant_id, alert_id, kind, audience, message)
             select case when n % 3 = 0 then $1::uuid else gen_random_uuid() end,
               overlay($2::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, 'OLD', 'TENANT', 'm'
             from generate_series(1, 3600) n where n % 3 = 0 or n % 1200 = 1`,
      values: [TENANT, firstUuidAt(Date.now() - 500 * DAY_MS)],
    })
    const deps = { db, config, databaseClock: createDatabaseClock(systemClock) }
    let steps = 0
    while ((await enforceRetention(deps)).some(({ more }) => more)) steps += 1
    expect(await db.query({ text: `select from alerts where kind = 'OLD'` })).toEqual([])
    expect(steps).toBeGreaterThan(3)
    expect(steps).toBeLessThan(8)
  })
})

/* A clock that jumped forward by 60 days is simulated as one that was last read 60 days ago. */
describe('a jump of the database clock', () => {
  const clockWas = (seen: string, steady: string) =>
    db.query({
      text: `insert into retention_clock (seen_at, steady_since) values (now() + $1::interval, now() + $2::interval)
             on conflict (singleton) do update set seen_at = excluded.seen_at, steady_since = excluded.steady_since`,
      values: [seen, steady],
    })

  /** Adds an event in a partition and an e-mail, both 60 days old by this clock. */
  async function addOld() {
    const start = Math.floor((Date.now() - 60 * DAY_MS) / 3_600_000 / 168) * 168
    const bounds = [start, start + 168].map((hour) => `'${firstUuidAt(hour * 3_600_000)}'`)
    await db.query({
      text: `create table if not exists events_${start} partition of events for values from (${bounds[0]}) to (${bounds[1]})`,
    })
    const old = firstUuidAt(Date.now() - 60 * DAY_MS)
    await db.query({
      text: `insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at)
             values ($1, $2, 'ORDER_PAID', $2, '{}', now()) on conflict do nothing`,
      values: [TENANT, old],
    })
    await db.query({
      text: `insert into mails (tenant_id, mail_id, recipient, kind) values ($1, $2, 'a@example.com', 'OLD')
             on conflict do nothing`,
      values: [TENANT, old],
    })
  }
  const left = async () => {
    const [events] = await db.query<{ n: number }>({ text: 'select count(*)::int as n from events' })
    const [mails] = await db.query<{ n: number }>({ text: `select count(*)::int as n from mails where kind = 'OLD'` })
    return [events!.n, mails!.n]
  }

  /** Runs one pass of the loop. @returns its warnings */
  async function pass(): Promise<string[]> {
    const warnings: string[] = []
    const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) } as unknown as Log
    const deps = {
      db,
      config,
      clock: systemClock,
      databaseClock: createDatabaseClock(systemClock),
      log,
      metrics: createMetrics(),
    }
    await retentionLoop(deps).stop(20_000)
    return warnings
  }

  it.each([
    ['ahead', '-60 days'],
    ['back', '60 days'],
  ])('%s stops the deletion of rows for a day', async (_, seen) => {
    await addOld()
    await clockWas(seen, '-100 days')
    expect(await pass()).toEqual(['the clock of the database has jumped: nothing is deleted for a day'])
    expect(await left()).toEqual([1, 1])
    await clockWas('-10 minutes', '-23 hours')
    expect(await pass()).toEqual([])
    expect(await left()).toEqual([1, 1])
    await clockWas('-10 minutes', '-25 hours')
    expect(await pass()).toEqual([])
    expect(await left()).toEqual([0, 0])
  })

  it('is not assumed after a gateway was stopped over a weekend', async () => {
    await addOld()
    await clockWas('-62 hours', '-100 days')
    expect(await pass()).toEqual([])
    expect(await left()).toEqual([0, 0])
  })

  it('loses no data when a gateway starts and creates missing partitions', async () => {
    await addOld()
    await maintainPartitions(db)
    expect(await left()).toEqual([1, 1])
  })
})
