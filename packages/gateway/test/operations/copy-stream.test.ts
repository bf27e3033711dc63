import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { copyIn, copyOut } from '#operations/backup/copy-stream.ts'
import { createEmptyDatabase, type TestDatabase } from '#test/harness/databases/database.ts'

let database: TestDatabase
let from: pg.Client
let to: pg.Client
beforeAll(async () => {
  database = await createEmptyDatabase()
  from = new pg.Client({ connectionString: database.url })
  to = new pg.Client({ connectionString: database.url })
  await Promise.all([from.connect(), to.connect()])
  await to.query('create table a (x int, y text)')
})
afterAll(async () => {
  await Promise.all([from.end(), to.end()])
  await database.drop()
})

// Many times more than the driver reads into one piece of memory.
const ROWS = 300_000
const SOURCE = `select g, repeat(chr(97 + g % 26), 100) from generate_series(1, ${ROWS}) g`

it('rows arrive as they were sent, however many there are', async () => {
  expect(await copyIn(to, 'copy a from stdin', copyOut(from, `copy (${SOURCE}) to stdout`))).toBe(ROWS)
  const { rows } = await to.query(`select count(*)::int from (select * from a except ${SOURCE}) other`)
  expect(rows).toEqual([{ count: 0 }])
})

it('an empty result ends immediately', async () => {
  expect(await copyOut(from, 'copy (select 1 where false) to stdout').next()).toEqual({ value: 0, done: true })
})

it('a failure is reported, and the connection stays usable', async () => {
  async function* pieces() {
    yield Buffer.from('nonsense\n')
    yield Buffer.from('1\tx\n')
  }
  await expect(copyIn(to, 'copy a from stdin', pieces())).rejects.toThrow(
    /invalid input syntax for type integer: "nonsense"/,
  )
  await expect(copyOut(from, 'copy (select 1 / 0) to stdout').next()).rejects.toThrow(/division by zero/)
  for (const client of [from, to]) expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})
