import { createDatabaseClock, systemClock } from '@dealer-esim/lib/clock.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { retentionLoop } from '#platform/retention/retention-loop.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { installSteppableClock, type SteppableClock } from '#test/harness/databases/steppable-clock.ts'
import { partitionsOf } from '#test/harness/databases/tables.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const TENANT = '00000000-0000-7000-8000-000000000001'

let database: TestDatabase
let databaseClock: SteppableClock
let db: Db & { close(): Promise<void> }
/** The gateways' monotonic time. The database's clock is this plus an error set by a test. */
let elapsedMs = 0
let errorMs = 0
const gateways: Gateway[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  databaseClock = await installSteppableClock(database.url)
  db = createDb({ url: database.url, poolSize: 2, applicationName: 'test request id slots' })
})
beforeEach(async () => {
  await db.query({ text: 'delete from retention_clock' })
  await db.query({ text: 'delete from request_id_slots' })
  for (const name of await slots()) await db.query({ text: `drop table ${name}` })
  await setTime(1, 0)
})
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop()
})
afterAll(async () => {
  await db.close()
  await databaseClock.close()
  await database.drop()
})

async function setTime(hours: number, clockErrorMs = errorMs): Promise<void> {
  elapsedMs += hours * HOUR_MS
  errorMs = clockErrorMs
  await databaseClock.setOffset(elapsedMs + errorMs)
}

interface Gateway {
  /** One pass of the gateway's retention loop. */
  pass(): Promise<void>
  stop(): Promise<void>
}

/** Starts a gateway's retention loop, which makes its first pass immediately. */
async function startGateway(): Promise<Gateway> {
  let passed = () => {}
  let failed = (_: Error) => {}
  const loops = {
    started() {},
    passed: () => passed(),
    failed: () => failed(new Error('a pass of the retention loop failed')),
  }
  const next = () =>
    new Promise<void>((resolve, reject) => {
      passed = resolve
      failed = reject
    })
  const first = next()
  const clock = { now: systemClock.now, monotonic: () => elapsedMs }
  const loop = retentionLoop({
    config: { travellerDays: 90 },
    ...{ db, clock, databaseClock: createDatabaseClock(systemClock), log: silentLog },
    ...{ metrics: createMetrics(), loops },
  })
  await first
  const gateway = {
    async pass() {
      await new Promise((resolve) => setTimeout(resolve, 5)) // the loop has begun to wait
      const done = next()
      loop.wake()
      await done
    },
    stop: () => loop.stop(5_000),
  }
  gateways.push(gateway)
  return gateway
}

/** Lets time pass, with a pass by each gateway every twenty minutes. */
async function run(hours: number, ...running: Gateway[]): Promise<void> {
  for (let minutes = 20; minutes <= hours * 60; minutes += 20) {
    await setTime(1 / 3)
    for (const gateway of running) await gateway.pass()
  }
}

const slotNow = () => Math.floor((Date.now() + elapsedMs + errorMs) / HOUR_MS)

/** Stores a RequestID in a slot. @returns whether it is still known */
async function enter(slot: number): Promise<() => Promise<boolean>> {
  await maintainPartitions(db)
  const [row] = await db.query<{ requestId: string }>({
    text: 'insert into request_ids values ($1, gen_random_uuid(), $2) returning request_id',
    values: [TENANT, slot],
  })
  return async () => {
    const text = 'select from request_ids where request_id = $1'
    return (await db.query({ text, values: [row!.requestId] })).length === 1
  }
}

const slots = () => partitionsOf(db, 'request_ids')

describe('a RequestID', () => {
  it.each([
    ['a second', 1_000],
    ['five minutes', 5 * MINUTE_MS],
    ['an hour', HOUR_MS],
    ['a day', DAY_MS],
    ['a day back', -DAY_MS],
    ['an hour back', -HOUR_MS],
    ['a month', 30 * DAY_MS],
  ])('is kept while the database clock is off by %s during one pass', async (_, offMs) => {
    const gateway = await startGateway()
    await run(1, gateway)
    const isKnown = [await enter(slotNow()), await enter(slotNow() - 1)]
    await setTime(0, offMs)
    await gateway.pass()
    await setTime(0, 0)
    await gateway.pass()
    expect(await Promise.all(isKnown.map((known) => known()))).toEqual([true, true])
    await run(1, gateway)
    expect(await isKnown[0]!()).toBe(true)
  })

  it('is kept while the database clock is a day ahead when a gateway starts', async () => {
    const gateway = await startGateway()
    const isKnown = await enter(slotNow())
    await gateway.pass()
    await gateway.stop()
    await setTime(0, DAY_MS)
    await (await startGateway()).pass()
    await setTime(0, 0)
    expect(await isKnown()).toBe(true)
  })

  it('accepted while the clock was four hours fast is kept until the correct time has passed that hour', async () => {
    const gateway = await startGateway()
    await run(2, gateway)
    await setTime(0, 4 * HOUR_MS)
    const isKnown = await enter(slotNow())
    await run(4, gateway)
    await setTime(0, 0)
    await run(1, gateway)
    expect(await isKnown()).toBe(true)
  })

  it('is forgotten two to four hours after its hour has ended, with one gateway or two', async () => {
    for (const count of [1, 2]) {
      const running = await Promise.all(Array.from({ length: count }, startGateway))
      await run(3, ...running)
      const isKnown = await enter(slotNow())
      await run(2, ...running)
      expect(await isKnown()).toBe(true) // its hour may have begun just now
      await run(2, ...running)
      expect(await isKnown()).toBe(false)
      expect((await slots()).length).toBeLessThanOrEqual(12)
      for (const gateway of running) await gateway.stop()
    }
  })
})

describe('RequestID slots', () => {
  it('are bounded when every process restarts each hour', async () => {
    const counts: number[] = []
    for (let hour = 0; hour < 24; hour++) {
      const gateway = await startGateway()
      await run(1, gateway)
      await gateway.stop()
      counts.push((await slots()).length)
    }
    expect(Math.max(...counts)).toBeLessThanOrEqual(13)
  })

  it('are bounded even if the clock jumps ahead six hours three times a day and is never right', async () => {
    const gateway = await startGateway()
    const counts: number[] = []
    for (let step = 1; step <= 8; step++) {
      await setTime(0, errorMs + 6 * HOUR_MS)
      await run(8, gateway)
      counts.push((await slots()).length)
    }
    // The present, the future, the retention, and the day that unconfirmed slots are kept, while the clock ran 1.75 days.
    expect(Math.max(...counts)).toBeLessThanOrEqual(8 + 1.75 * (2 + 24))
  })
})
