import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import sql from 'sql-template-tag'
import { itemKeyOf } from '#orders/order-item.ts'
import { inCell, inSnapshot, type Move, type MovingCell } from './cell-session.ts'
import { requireArriving } from './move-state.ts'
import { MOVED_TABLES, SUPPLIER_BOOKS, TABLES_ABOUT_ITEMS, TABLES_OF_PEOPLE } from './moved-tables.ts'
import { describeTables, keyJson, rowsOfKeys, rowsOfTable, type TableShape } from './table-shape.ts'
import { arrayOf, deleteRows, HASHED_ROW, type HashedRow, type ReadRows, readRows, writeRows } from './write-rows.ts'

/** Rows per statement: a few hundred kilobytes, and a few tens of milliseconds of work for the source. */
const PAGE_ROWS = 500

/** The tables of a move, described once when it begins. */
export interface Shapes {
  /** In copy order. */
  moved: TableShape[]
  people: TableShape[]
  books: TableShape[]
}

export async function describeMove({ db }: MovingCell): Promise<Shapes> {
  const [moved, people, books] = await Promise.all([
    describeTables(
      db,
      MOVED_TABLES.map(({ table }) => table),
    ),
    describeTables(db, TABLES_OF_PEOPLE),
    describeTables(
      db,
      SUPPLIER_BOOKS.map(({ table }) => table),
    ),
  ])
  return { moved, people, books }
}

/**
 * Copies those of a tenant's rows that the target does not have yet, while the source serves the tenant. Meanwhile, the
 * guards note every change. Rows that refer to others (as an eSIM refers to its item) are read together with the notes made
 * about those others since they were copied. Each page is one transaction of the target, which also records how far the
 * table is copied, so that a mover that is killed can continue there.
 */
export async function copyTables(move: Move, shapes: Shapes, onTable: (table: string, rows: number) => void) {
  for (const shape of shapes.moved) {
    let copied = 0
    for (;;) {
      const last = await lastCopied(move, shape.table)
      if (last === 'all') break
      copied += await copyPage(move, shapes, shape, last)
      await failpoint('move.page-copied')
    }
    onTable(shape.table, copied)
  }
}

type LastCopied = string[] | 'all' | undefined

async function lastCopied({ target, tenantId }: Move, table: string): Promise<LastCopied> {
  const [row] = await target.db.query<{ last: LastCopied | null }>(sql`
    select copied -> ${table}::text as last from tenant_moves where tenant_id = ${tenantId}`)
  return row?.last ?? undefined
}

/** Marks a table as not copied, and removes its rows from the target, except rows that others refer to. */
export async function restartTable(move: Move, table: string): Promise<void> {
  await inCell(move.target, move.tenantId, async (tx) => {
    // Rows that others refer to are rewritten in place.
    if (MOVED_TABLES.some((moved) => moved.table === table && moved.again === 'replace')) {
      tx.send({ text: `delete from ${table} where tenant_id = $1`, values: [move.tenantId] })
    }
    tx.send(sql`update tenant_moves set copied = copied - ${table}::text where tenant_id = ${move.tenantId}`)
  })
}

interface Page extends ReadRows {
  /** Keys of the items that the rows are about. */
  items: string[]
  last: string[] | undefined
}

async function copyPage(move: Move, shapes: Shapes, shape: TableShape, after: string[] | undefined): Promise<number> {
  const { source, target, tenantId } = move
  const page = await inSnapshot(source, tenantId, async (snapshot) => {
    for (const referenced of shapes.moved.filter(({ table }) => shape.references.includes(table)))
      await copyChangesOf(snapshot, move, shapes, referenced)
    return readPage(snapshot, shape, tenantId, after)
  })
  const isEnd = page.rows.length < PAGE_ROWS || page.last!.length === 0
  const books = await readBooks(move, shapes, page.items)
  await inCell(target, tenantId, async (tx) => {
    await requireArriving(tx, move)
    await writeRows(tx, shape, page)
    for (const { book, kept, read } of books) await writeRows(tx, book, read, kept)
    tx.send({
      text: `update tenant_moves set copied = copied || jsonb_build_object($2::text, $3::jsonb), updated_at = now()
             where tenant_id = $1`,
      values: [tenantId, shape.table, JSON.stringify(isEnd ? 'all' : page.last)],
    })
  })
  return page.rows.length
}

async function readPage(tx: Tx, shape: TableShape, tenantId: string, after: string[] | undefined): Promise<Page> {
  const order = shape.key.filter(({ name }) => name !== 'tenant_id')
  const columns = order.map(({ name }) => `t.${name}`).join(', ')
  const bounds = order.map(({ type }, index) => `$${index + 3}::${type}`).join(', ')
  const rows = await tx.query<HashedRow & { last: string[] } & ItemName>({
    text: `select ${HASHED_ROW}, array[${order.map(({ name }) => `t.${name}::text`).join(', ')}]::text[] as last
             ${itemColumns(shape)}
           from ${rowsOfTable(shape)} where tenant_id = $1 ${after === undefined ? '' : `and (${columns}) > (${bounds})`}
           ${columns && `order by ${columns}`} limit $2`,
    values: [tenantId, PAGE_ROWS, ...(after ?? [])],
  })
  return { ...readRows(rows), items: rows.flatMap(itemKeysOf), last: rows.at(-1)?.last }
}

interface ItemName {
  orderId?: string
  itemNo?: number
}

function itemColumns({ table }: TableShape): string {
  return TABLES_ABOUT_ITEMS.has(table) ? ', t.order_id, t.item_no' : ''
}

function itemKeysOf({ orderId, itemNo }: ItemName): string[] {
  return orderId === undefined ? [] : [itemKeyOf(orderId, itemNo!)]
}

interface ReadBook {
  book: TableShape
  kept: string | undefined
  read: ReadRows
}

/** Reads what the suppliers of the source have recorded about these items. */
async function readBooks({ source, tenantId }: Move, { books }: Shapes, items: readonly string[]): Promise<ReadBook[]> {
  if (items.length === 0) return []
  return inCell(source, tenantId, async (tx) => {
    const found = await Promise.all(
      SUPPLIER_BOOKS.map(async ({ table, key, own }, index): Promise<ReadBook> => {
        const rows = await tx.query<HashedRow>({
          name: `move-book-${table}`,
          text: `select ${HASHED_ROW}
                 from suppliers s cross join unnest($1::text[]) as i(key)
                 join ${rowsOfTable(books[index]!)} on t.supplier = s.supplier and t.${key} = i.key`,
          values: [[...new Set(items)]],
        })
        return { book: books[index]!, kept: own, read: readRows(rows) }
      }),
    )
    return found.filter(({ read }) => read.rows.length > 0)
  })
}

/**
 * Copies the rows noted by the guards, as seen by `snapshot`, a transaction in the source. Afterwards the target has the rows
 * of that snapshot. Notes are removed after the target has committed.
 * @returns how many notes there were
 */
export async function copyChanges(snapshot: Tx, move: Move, shapes: Shapes): Promise<number> {
  let copied = 0
  // Behind the fence most tables have no notes, and each table costs round trips.
  const noted = await snapshot.query<{ name: string }>({
    name: 'move-noted-tables',
    text: 'select distinct table_name as name from tenant_move_changes where tenant_id = $1',
    values: [move.tenantId],
  })
  for (const shape of shapes.moved) {
    if (noted.some(({ name }) => name === shape.table)) copied += await copyChangesOf(snapshot, move, shapes, shape)
  }
  return copied
}

/** Copies the noted rows of one table. */
async function copyChangesOf(snapshot: Tx, move: Move, shapes: Shapes, shape: TableShape): Promise<number> {
  let copied = 0
  for (let after = 0n; ; ) {
    const notes = await readNotes(snapshot, move, shape.table, after)
    if (notes.length === 0) return copied
    await copyNoted(snapshot, move, shapes, shape, [...new Set(notes.map(({ key }) => key))])
    await removeNotes(move, shape.table, notes)
    copied += notes.length
    after = notes.at(-1)!.changeNo
  }
}

interface Note {
  changeNo: bigint
  key: string
}

/**
 * Large enough to read all rows of one transaction together. Otherwise, a unique value could be in two rows of the target.
 */
const NOTES_MAX = 4_000

function readNotes(snapshot: Tx, { tenantId }: Move, table: string, after: bigint): Promise<Note[]> {
  return snapshot.query<Note>({
    name: 'move-notes',
    text: `select change_no, key::text from tenant_move_changes
           where tenant_id = $1 and table_name = $2 and change_no > $3 order by change_no limit ${NOTES_MAX}`,
    values: [tenantId, table, after],
  })
}

async function removeNotes({ source, tenantId }: Move, table: string, notes: readonly Note[]): Promise<void> {
  await source.db.query({
    name: 'move-notes-done',
    text: `delete from tenant_move_changes
           where tenant_id = $1 and table_name = $2 and change_no = any ($3::bigint[])`,
    values: [tenantId, table, notes.map(({ changeNo }) => String(changeNo))],
  })
}

async function copyNoted(snapshot: Tx, move: Move, shapes: Shapes, shape: TableShape, keys: string[]): Promise<void> {
  const found = await snapshot.query<HashedRow & { key: string } & ItemName>({
    name: `move-noted-${shape.table}`,
    text: `select ${HASHED_ROW}, ${keyJson(shape)} as key ${itemColumns(shape)}
           from ${rowsOfKeys(shape, '$1')} order by k.ordinality`,
    values: [arrayOf(keys)],
  })
  const books = await readBooks(move, shapes, found.flatMap(itemKeysOf))
  const again = MOVED_TABLES.find(({ table }) => table === shape.table)!.again
  const present = new Set(found.map(({ key }) => key))
  await inCell(move.target, move.tenantId, async (tx) => {
    await requireArriving(tx, move)
    deleteRows(tx, shape, again === 'replace' ? keys : keys.filter((key) => !present.has(key)))
    await writeRows(tx, shape, readRows(found))
    for (const { book, kept, read } of books) await writeRows(tx, book, read, kept)
  })
}

/** Writes the rows of the tenant's people (passkeys, tokens, views) as they are in the source now. */
export async function copyPeople(move: Move, { people }: Shapes): Promise<void> {
  const { source, target, tenantId } = move
  const ofTenant = 'person_id in (select person_id from people where tenant_id = $1)'
  for (const shape of people) {
    const rows = await inCell(source, tenantId, (tx) =>
      tx.query<HashedRow>({
        text: `select ${HASHED_ROW} from ${rowsOfTable(shape)} where ${ofTenant}`,
        values: [tenantId],
      }),
    )
    await inCell(target, tenantId, async (tx) => {
      await requireArriving(tx, move)
      tx.send({ text: `delete from ${shape.table} where ${ofTenant}`, values: [tenantId] })
      await writeRows(tx, shape, readRows(rows))
    })
  }
}
