import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { repairTimesAhead } from '#operations/doctor/times-ahead.ts'
import { claimJobs, type JobTable, jobsAhead } from '#platform/jobs.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { runOnNode } from '../harness/databases/tables.ts'

const [ACME, GLOBEX] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002']
const TASKS: JobTable = {
  name: 'tasks',
  table: 'tasks',
  key: ['task_no'],
  claimable: 'true',
  dueAt: 'due_at',
  longestWaitMs: '60000',
  claim: `due_at = now() + interval '1 minute', attempts = attempts + 1`,
  columns: 'job.tenant_id, job.task_no, job.attempts',
}

let database: TestDatabase
let db: Db & { close(): Promise<void> }
beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 5, applicationName: 'test' })
  await runOnNode(
    db,
    `create table tasks (tenant_id uuid, task_no integer, due_at timestamptz, attempts integer not null default 0,
                         primary key (tenant_id, task_no))`,
  )
})
afterAll(async () => {
  await db.close()
  await database.drop()
})
beforeEach(() => db.query({ text: 'delete from tasks' }))

const add = (tenantId: string, count: number, dueForS: number) =>
  db.query({
    text: `insert into tasks (tenant_id, task_no, due_at)
           select $1, n, now() - make_interval(secs => $3) from generate_series(1, $2::integer) n`,
    values: [tenantId, count, dueForS],
  })
const claim = (limit: number) => claimJobs<{ tenantId: string; taskNo: number; attempts: number }>(db, TASKS, limit)

test('concurrent claims share the due jobs without claiming any job twice', async () => {
  await add(ACME, 20, 10)
  const claimed = (await Promise.all([claim(20), claim(20), claim(20)])).flat()
  expect(claimed.map((job) => job.taskNo).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
})

test('a claimed job can be claimed again once its lease has ended, but not before', async () => {
  await add(ACME, 1, 10)
  expect(await claim(10)).toMatchObject([{ taskNo: 1, attempts: 1 }])
  expect(await claim(10)).toEqual([])
  await db.query({ text: `update tasks set due_at = due_at - interval '1 minute'` })
  expect(await claim(10)).toMatchObject([{ taskNo: 1, attempts: 2 }])
})

test('a job due later than its longest wait is made due, because a fast clock must have set the time', async () => {
  await add(ACME, 1, -71)
  await add(GLOBEX, 1, -69)
  expect(await repairTimesAhead(db, [jobsAhead(TASKS)])).toBe(1)
  expect(await claim(10)).toMatchObject([{ tenantId: ACME, taskNo: 1 }])
})

test('a job that is not yet due is not claimed', async () => {
  await add(ACME, 1, -60)
  expect(await claim(10)).toEqual([])
})

test('a claim takes the jobs that have been due longest, so one tenant’s backlog does not hide the others', async () => {
  await add(ACME, 50, 10)
  await add(GLOBEX, 1, 20)
  const claimed = await claim(5)
  expect(claimed).toHaveLength(5)
  expect(claimed.filter((job) => job.tenantId === GLOBEX)).toHaveLength(1)
})

test('a claim over many tenants does not take more jobs than its limit', async () => {
  for (let n = 0; n < 10; n++) await add(`00000000-0000-7000-8000-00000000010${n}`, 5, 10)
  expect(await claim(20)).toHaveLength(20)
})

test('a claim does not wait for locks, but skips jobs that another transaction holds', async () => {
  await add(ACME, 2, 10)
  await add(GLOBEX, 1, 10)
  await db.tx(async (tx) => {
    await tx.query({ text: 'select from tasks where tenant_id = $1 and task_no = 1 for update', values: [ACME] })
    const claimed = await claim(10)
    expect(claimed.map((job) => [job.tenantId, job.taskNo]).sort()).toEqual([
      [ACME, 2],
      [GLOBEX, 1],
    ])
  })
  expect(await claim(10)).toMatchObject([{ tenantId: ACME, taskNo: 1 }])
})
