import { execFileSync } from 'node:child_process'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { findOverflows, findUntyped } from '../harness/databases/examine-statement.ts'
import { recordedTexts } from '../harness/databases/parameter-types.ts'

/* Tests the check of statement parameters itself, on wrong and right statements. */

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createTestDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

/** Statements that begin with a comment are not checked at the end of this file. */
const WRONG = '/* wrong on purpose */'

describe('the parameter check', () => {
  it('finds a parameter that is typed as an integer only because of the number beside it', async () => {
    const findings = await findUntyped(client, 'select from tenants where $1 > 0')
    expect(findings).toEqual([expect.stringContaining('$1 is an integer because of 0')])
    expect(await findUntyped(client, 'select from tenants where $1::bigint > 0')).toEqual([])
  })

  it.each([
    ['is cast to an integer', 'select ($1::bigint / 10)::int'],
    ['is compared with an integer', 'select $1::bigint where $1::bigint::int = 7'],
    ['is multiplied', 'select $1::bigint * 10000'],
    ['is rounded into too few digits', 'select $1::numeric(12, 4)'],
    ['is in a list', 'select one::int from unnest($1::bigint[]) one'],
  ])('finds an amount that %s', async (_, text) => {
    expect(await findOverflows(client, `${WRONG} ${text}`)).toHaveLength(1)
  })

  it.each([
    'select $1::bigint + 1',
    'insert into order_quarter_hours select * from order_quarter_hours where orders > $1::bigint',
    'select from tenants limit $1',
    'select from no_such_table where amount = $1::bigint',
    'delete from tenants where $1::bigint > 0',
  ])('accepts %s and rolls back the statement', async (text) => {
    expect(await findOverflows(client, text)).toEqual([])
  })

  it('covers statements run by child processes, whichever driver bundle they use', () => {
    const text = `select $1::bigint as of_child_${process.pid}`
    const program = `
      import pg from 'pg'
      const client = new pg.Client({ connectionString: process.argv[1] })
      await client.connect()
      await client.query({ text: process.argv[2], values: [1] })
      process.kill(process.pid, 'SIGKILL')`
    expect(() => execFileSync(process.execPath, ['--input-type=module', '-e', program, database.url, text])).toThrow()
    expect(recordedTexts()).toContain(text)
  })
})
