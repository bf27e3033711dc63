import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { EXEMPT_TABLES, MOVED_TABLES, SUPPLIER_BOOKS, TABLES_OF_PEOPLE } from '#cells/move/moved-tables.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

let database: TestDatabase
let db: ReturnType<typeof createDb>

beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 1, applicationName: 'test' })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

const MOVED = MOVED_TABLES.map(({ table }) => table)
const BOOKS = SUPPLIER_BOOKS.map(({ table }) => table)

/** Tables with these columns. */
async function tablesWith(...columns: string[]): Promise<string[]> {
  const rows = await db.query<{ name: string }>({
    text: `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
           where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
             and a.attname = any ($1)
           group by c.relname having count(*) = cardinality($1) order by c.relname`,
    values: [columns],
  })
  return rows.map(({ name }) => name)
}

it.each([
  ['a tenant', ['tenant_id'], MOVED],
  ['a person', ['person_id'], [...TABLES_OF_PEOPLE, 'people']],
  ['the key of an item at a supplier', ['supplier', 'key'], BOOKS],
])('every table with %s is either moved or exempt with a reason', async (_, columns, moved) => {
  const missing = (await tablesWith(...columns)).filter((table) => !moved.includes(table) && !EXEMPT_TABLES[table])
  expect(missing, 'add them to cells/move/moved-tables.ts').toEqual([])
})

it('no table list for a move contains a duplicate or nonexistent table', async () => {
  const listed = [...MOVED, ...TABLES_OF_PEOPLE, ...BOOKS, ...Object.keys(EXEMPT_TABLES)]
  expect(listed.filter((table, index) => listed.indexOf(table) !== index)).toEqual([])
  const present = new Set([
    ...(await tablesWith('tenant_id')),
    ...(await tablesWith('person_id')),
    ...(await tablesWith('supplier')),
  ])
  expect(listed.filter((table) => !present.has(table))).toEqual([])
})

it('a table is copied after the tables that it references', async () => {
  const references = await db.query<{ table: string; referenced: string }>({
    text: `select c.relname as table, r.relname as referenced from pg_constraint f
           join pg_class c on c.oid = f.conrelid join pg_class r on r.oid = f.confrelid
           where f.contype = 'f' and c.relnamespace = current_schema()::regnamespace and not c.relispartition`,
  })
  const early = references.filter(
    ({ table, referenced }) => MOVED.includes(table) && MOVED.indexOf(referenced) > MOVED.indexOf(table),
  )
  expect(early).toEqual([])
  const updated = MOVED_TABLES.filter(({ again }) => again === 'update').map(({ table }) => table)
  const replaced = references.filter(({ table, referenced }) => MOVED.includes(table) && !updated.includes(referenced))
  expect(replaced, 'rows that others refer to cannot be deleted and inserted').toEqual([])
})
