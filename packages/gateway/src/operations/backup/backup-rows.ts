import type pg from 'pg'
import { NOT_BACKED_UP } from '#platform/retention/retention-table.ts'
import { copyIn, copyOut } from './copy-stream.ts'

/*
 * All rows of a schema as records: kind (1 byte), length (4), content. For each table `T` with its name and columns as JSON, `D`
 * with rows in the text format of COPY, any number of times, and `E` with the number of rows; at the end `Z`.
 */

export interface BackupTable {
  table: string
  columns: string[]
}

/** What the rows need beyond the tables that migrations create. */
export interface SchemaContents {
  /** Ordered so that each refers only to earlier ones. */
  tables: BackupTable[]
  /** `create table … partition of …` */
  partitions: { name: string; parent: string; bound: string; options: string[] }[]
  sequences: { name: string; lastValue: string; isCalled: boolean }[]
}

/** The runner of migrations writes the first two. */
const LEFT_OUT = ['schema_migrations', 'schema_releases', ...NOT_BACKED_UP]

/** Reads the contents of the schema, which the transaction of `client` keeps unchanged. */
export async function describeContents(client: pg.Client): Promise<SchemaContents> {
  const tables = (await client.query<BackupTable>(TABLES, [LEFT_OUT])).rows
  const references = (await client.query<Reference>(REFERENCES)).rows
  const partitions = (await client.query<SchemaContents['partitions'][number]>(PARTITIONS, [LEFT_OUT])).rows
  const names = (await client.query<{ name: string }>(SEQUENCES)).rows
  const sequences: SchemaContents['sequences'] = []
  for (const { name } of names) {
    const text = `select last_value::text as "lastValue", is_called as "isCalled" from ${quoted(name)}`
    sequences.push({ name, ...(await client.query<{ lastValue: string; isCalled: boolean }>(text)).rows[0]! })
  }
  return { tables: sortByReferences(tables, references), partitions, sequences }
}

interface Reference {
  from: string
  to: string
}

const OWN = `c.relnamespace = current_schema()::regnamespace`
const TABLES = `
  select c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where ${OWN} and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> all ($1)
  group by c.relname order by c.relname`
const REFERENCES = `
  select c.relname as from, t.relname as to
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class t on t.oid = k.confrelid
  where k.contype = 'f' and ${OWN} and c.oid <> t.oid`
const PARTITIONS = `
  select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound,
         coalesce(c.reloptions, '{}') as options
  from pg_class c join pg_inherits i on i.inhrelid = c.oid join pg_class p on p.oid = i.inhparent
  where ${OWN} and c.relispartition and c.relkind = 'r' and p.relname <> all ($1) order by c.relname`
const SEQUENCES = `select c.relname as name from pg_class c where ${OWN} and c.relkind = 'S' order by c.relname`

/** @throws Error if tables refer to each other in a circle, which rows cannot be inserted into */
function sortByReferences(tables: BackupTable[], references: Reference[]): BackupTable[] {
  const sorted: BackupTable[] = []
  const done = new Set<string>()
  let left = tables
  while (left.length > 0) {
    const open = new Set(left.map(({ table }) => table))
    const next = left.filter(({ table }) => !references.some(({ from, to }) => from === table && open.has(to)))
    if (next.length === 0) throw new Error(`these tables refer to each other: ${[...open].join(', ')}`)
    for (const each of next) done.add(each.table)
    sorted.push(...next)
    left = left.filter(({ table }) => !done.has(table))
  }
  return sorted
}

/** Yields the records of all tables. @param onTable gets the number of rows of each table */
export async function* readRows(
  client: pg.Client,
  tables: readonly BackupTable[],
  onTable: (table: string, rows: number) => void,
): AsyncGenerator<Buffer> {
  for (const { table, columns } of tables) {
    yield record('T', Buffer.from(JSON.stringify({ table, columns })))
    const rows = copyOut(client, `copy (select ${columns.map(quoted).join(', ')} from ${quoted(table)}) to stdout`)
    let next = await rows.next()
    for (; !next.done; next = await rows.next()) yield record('D', next.value)
    onTable(table, next.value)
    yield record('E', Buffer.from(String(next.value)))
  }
  yield record('Z', Buffer.alloc(0))
}

/** Inserts the rows of all records, up to the last record. @throws Error if there are more or fewer than were written */
export async function writeRows(
  client: pg.Client,
  records: AsyncIterable<Buffer>,
  onTable: (table: string, rows: number) => void,
): Promise<void> {
  const read = readRecords(records)
  for (;;) {
    const { kind, content } = await nextOf(read)
    if (kind === 'Z') break
    if (kind !== 'T') throw new Error(`a record ${kind} instead of a table`)
    const { table, columns } = JSON.parse(content.toString()) as BackupTable
    let expected: number | undefined
    const rows = async function* () {
      for (;;) {
        const next = await nextOf(read)
        if (next.kind === 'D') yield next.content
        else {
          expected = Number(next.content)
          return
        }
      }
    }
    const text = `copy ${quoted(table)} (${columns.map(quoted).join(', ')}) from stdin`
    const inserted = await copyIn(client, text, rows())
    if (inserted !== expected) throw new Error(`${table} has ${inserted} rows instead of ${expected}`)
    onTable(table, inserted)
  }
  if (!(await read.next()).done) throw new Error('a record after the last one')
}

interface Row {
  kind: string
  content: Buffer
}

const HEAD_BYTES = 5

function record(kind: string, content: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.write(kind, 0, 'latin1')
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, content])
}

async function nextOf(records: AsyncGenerator<Row>): Promise<Row> {
  const { value, done } = await records.next()
  if (done) throw new Error('the records end before their last one')
  return value
}

async function* readRecords(pieces: AsyncIterable<Buffer>): AsyncGenerator<Row> {
  let waiting: Buffer[] = []
  let bytes = 0
  let needed = HEAD_BYTES
  for await (const piece of pieces) {
    waiting.push(piece)
    bytes += piece.length
    if (bytes < needed) continue
    let all = Buffer.concat(waiting)
    for (;;) {
      needed = all.length < HEAD_BYTES ? HEAD_BYTES : HEAD_BYTES + all.readUInt32BE(1)
      if (all.length < needed) break
      yield { kind: all.toString('latin1', 0, 1), content: all.subarray(HEAD_BYTES, needed) }
      all = all.subarray(needed)
    }
    waiting = [all]
    bytes = all.length
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
