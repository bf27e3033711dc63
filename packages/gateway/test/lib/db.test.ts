import type { LookupAddress } from 'node:dns'
import { type LookupFunction, connect as netConnect } from 'node:net'
import {
  jsonArray,
  jsonbArray,
  plainArray,
  textArray,
  timeArray,
  unnest,
  uuidArray,
} from '@dealer-esim/lib/postgres/columns.ts'
import { createDb, type Db, TransactionEnded, type Tx } from '@dealer-esim/lib/postgres/db.ts'
import { CommitUnknown, isConnectionLoss } from '@dealer-esim/lib/postgres/errors.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createTestDatabase, type TestDatabase, withServerClient } from '../harness/databases/database.ts'
import { startTcpProxy } from '../harness/databases/database-proxies.ts'
import { ONLY_HERE, runOnNode } from '../harness/databases/tables.ts'

let database: TestDatabase
let db: Db & { close(): Promise<void> }

beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 2, applicationName: 'db test' })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

describe('a transaction whose connection is lost during several statements', () => {
  it('fails as a whole, and statements that were never awaited do not end the process', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    const working = db.tx(async (tx) => {
      const [own] = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
      const first = tx.query({ text: 'select pg_sleep(60)' })
      const second = tx.query({ text: 'select 1' })
      await db.query({ text: 'select pg_terminate_backend($1::integer)', values: [own!.pid] })
      await first
      await second
    })
    await expect(working).rejects.toThrow(/terminating|terminated/)
    await new Promise(setImmediate) // rejections are reported at the end of an event-loop turn
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})

describe('a transaction that has ended', () => {
  const note = { text: 'insert into noted values (1)' }
  beforeAll(() => runOnNode(db, 'create table noted (number integer)'))

  it.each(['query', 'send'] as const)('refuses a %s after its commit was sent', async (method) => {
    let kept: Tx | undefined
    let late: (() => void) | undefined
    const working = db.tx(async (tx) => {
      kept = tx
      late = () => void tx[method](note)
      setImmediate(() => {
        // COMMIT has been sent and is not answered yet.
        expect(late).toThrow(TransactionEnded)
      })
    })
    await working
    expect(() => void kept![method](note)).toThrow(/the transaction has ended, .*: insert into noted/)
    expect(await db.query({ text: 'select from noted' })).toEqual([])
  })

  it('refuses statements from parallel work that continues after a failure', async () => {
    let refused: unknown
    let goOn: () => void = () => {}
    const paused = new Promise<void>((resolve) => (goOn = resolve))
    const parallel = async (tx: Tx) => {
      await paused
      await tx.query(note)
    }
    const working = db.tx((tx) => {
      const other = parallel(tx).catch((error: unknown) => (refused = error))
      return Promise.all([other, tx.query({ text: 'select 1 / 0' })])
    })
    await expect(working).rejects.toThrow(/division by zero/)
    goOn()
    await new Promise(setImmediate)
    expect(refused).toBeInstanceOf(TransactionEnded)
    expect(await db.query({ text: 'select from noted' })).toEqual([])
  })
})

it('when one connection to a dead server times out, others from the same time are closed soon too', async () => {
  const proxy = await startTcpProxy(database.url)
  const patient = createDb({
    url: proxy.url,
    poolSize: 4,
    applicationName: 'db test silence',
    statementTimeoutMs: 1_500,
  })
  const one = () => patient.query({ text: 'select 1 as one', name: 'one' })
  await Promise.all([one(), one(), one(), one()])
  let asked: Promise<unknown> | undefined
  const frozenAt = performance.now()
  const committing = patient.tx(async (tx) => {
    await tx.query({ text: 'select 1' })
    proxy.freezeAll()
    asked = one()
    asked.catch(() => {})
  })
  await expect(committing).rejects.toBeInstanceOf(CommitUnknown)
  await expect(asked).rejects.toSatisfy(isConnectionLoss)
  const noticedMs = performance.now() - frozenAt
  const startedAt = performance.now()
  expect(await one()).toEqual([{ one: 1 }])
  // Two such connections were left. Waiting for each of them would take as long again.
  expect(performance.now() - startedAt).toBeLessThan(noticedMs)
  await patient.close()
  await proxy.close()
}, 60_000)

describe('a connection loss is distinguished from a failed statement', () => {
  it('if all addresses of a name are unreachable', async () => {
    const lookup = ((_host: string, _options: object, done: (error: null, found: LookupAddress[]) => void) =>
      done(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ])) as LookupFunction
    const socket = netConnect({ host: 'database', port: 1, lookup, autoSelectFamily: true })
    const failure = await new Promise((resolve) => socket.once('error', resolve))
    expect(failure).toBeInstanceOf(AggregateError)
    expect(isConnectionLoss(failure)).toBe(true)
  })

  it('if the name still resolves to a standby, whose connection is then discarded', async () => {
    const name = new URL(database.url).pathname.slice(1)
    const failing = createDb({ url: database.url, poolSize: 1, applicationName: 'db test standby' })
    const write = () => failing.tx(async (tx) => tx.send({ text: 'delete from alerts' }))
    await withServerClient(database.url, async (client) => {
      const readOnly = (value: string) =>
        client.query(`alter database "${name}" set default_transaction_read_only = ${value}`)
      await client.query(ONLY_HERE)
      await readOnly('on')
      await expect(write()).rejects.toSatisfy(isConnectionLoss)
      await readOnly('off')
    })
    await write()
    await failing.close()
  })

  it('if a transaction was idle for too long', async () => {
    const slow = createDb({ url: database.url, poolSize: 1, applicationName: 'db test idle' })
    const standing = slow.tx(async (tx) => {
      const [own] = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
      await tx.query({ text: `set idle_in_transaction_session_timeout = '20ms'` })
      const ofIt = { text: 'select from pg_stat_activity where pid = $1', values: [own!.pid] }
      await expect.poll(() => db.query(ofIt)).toEqual([])
      await tx.query({ text: 'select 1' })
    })
    await expect(standing).rejects.toSatisfy(isConnectionLoss)
    await slow.close()
  })
})

it('a statement outside a transaction fails if its implicit commit fails', async () => {
  // Deferred constraints are checked after the answer. A connection may also end in between.
  await runOnNode(db, 'create table late (number integer unique deferrable initially deferred)')
  const twice = {
    name: 'test-late',
    text: 'insert into late select $1::integer from generate_series(1, 2)',
    values: [1],
  }
  await expect(db.query(twice)).rejects.toThrow(/duplicate key/)
  expect(await db.query({ text: 'select from late' })).toEqual([])
})

describe('statements sent in one turn of the event loop', () => {
  const one = { name: 'test-one', text: 'select $1::bigint as number, null as nothing', values: [1n] }
  const refused = { name: 'test-refused', text: 'select 1 / $1::integer as part', values: [0] }
  const behind = { name: 'test-behind', text: 'select $1::text as text', values: ['b'] }

  it('return their own rows, both on first use and once they are prepared', async () => {
    const insert = { name: 'test-insert', text: 'insert into kept (number) values ($1)', values: [7] }
    await db.tx(async (tx) => {
      tx.send({ text: 'create temporary table kept (number integer) on commit drop' })
      for (let round = 0; round < 2; round++) {
        const answers = await Promise.all([one, insert, behind].map((statement) => tx.query(statement)))
        expect(answers).toEqual([[{ number: 1n, nothing: null }], [], [{ text: 'b' }]])
      }
      expect(await tx.query({ text: 'select number from kept' })).toEqual([{ number: 7 }, { number: 7 }])
    })
  })

  it('fail from the first refused statement on, and can be repeated on the same connection', async () => {
    const alone = createDb({ url: database.url, poolSize: 1, applicationName: 'db test' })
    const outcomes = await alone
      .tx(async (tx) => {
        const settled = await Promise.allSettled([one, refused, behind].map((statement) => tx.query(statement)))
        throw Object.assign(new Error('undone'), { settled })
      })
      .catch(({ settled }) => settled as PromiseSettledResult<unknown>[])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    for (const statement of [one, { ...refused, values: [1] }, behind]) {
      expect(await alone.query(statement)).toHaveLength(1)
    }
    expect(alone.pool.totalCount).toBe(1)
    await alone.close()
  })

  it('are refused if two different statements share a name', async () => {
    await db.query(one)
    await expect(db.tx((tx) => Promise.all([tx.query(one), tx.query({ ...behind, name: one.name })]))).rejects.toThrow(
      /two different statements are named test-one/,
    )
  })
})

describe('rows that are sent as one array per column', () => {
  // PostgreSQL cannot store U+0000.
  const text = fc.oneof(
    fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\u0000', '')),
    fc.constantFrom('', 'NULL', 'null', '{}', '"', '\\', '\\"', ',', ' a ', 'a\nb\t', "'"),
  )
  const row = fc.record({
    number: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    id: fc.uuid(),
    time: fc.date({ min: new Date('1970-01-01'), max: new Date('2255-01-01'), noInvalidDate: true }),
    text: fc.option(text),
    json: fc.jsonValue(),
    jsonb: fc.record({ text, number: fc.integer() }),
  })
  const columns = { number: 'bigint', id: 'uuid', time: 'timestamptz', text: 'text', json: 'json', jsonb: 'jsonb' }

  it('arrive unchanged, whatever text they contain', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row), async (rows) => {
        const values = [
          plainArray(rows.map((each) => each.number)),
          uuidArray(rows.map((each) => each.id)),
          timeArray(rows.map((each) => each.time.getTime())),
          textArray(rows.map((each) => each.text)),
          jsonArray(rows.map((each) => JSON.stringify(each.json))),
          jsonbArray(rows.map((each) => JSON.stringify(each.jsonb))),
        ]
        const found = await db.query({
          text: `select number, id, time, text, json::text, jsonb from ${unnest(1, columns, 'row')}`,
          values,
        })
        expect(found).toEqual(rows.map((each) => ({ ...each, json: JSON.stringify(each.json) })))
      }),
      { numRuns: 100, verbose: 1 },
    )
  })
})

it.skipIf(inject('testServer').workers.length === 0)(
  'a statement that Citus cancels in a deadlock fails with the same error as in PostgreSQL',
  async () => {
    const message = 'canceling the transaction since it was involved in a distributed deadlock'
    const defined = db.query({ text: `drop table if exists nothing; raise exception '${message}'` })
    await expect(defined).rejects.toMatchObject({ code: '40P01' })
  },
)
