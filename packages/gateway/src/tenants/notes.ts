import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { audit, type By } from '#platform/audit/audit.ts'

/* Audit entries about notes and tags belong to no tenant, because a dealer's people can read their own tenant's entries. */

/** A note by the operator's people on a dealer or one of its orders, or a dealer's question. Dealers do not see notes. */
export interface Note {
  noteId: string
  text: string
  actor: string
  createdAt: Date
}

/** A dealer, or one of its orders. */
export interface NoteSubject {
  tenantId: string
  /** undefined: the dealer itself. */
  orderId?: string | undefined
}

export const NOTE_LENGTH_MAX = 2_000
/** The maximum number of the operator's notes on one subject, and of a dealer's questions. Longer records belong elsewhere. */
export const NOTES_MAX = 200
export const TAGS_MAX = 10
export const TAG_LENGTH_MAX = 30

export type NoteDeps = { db: Db; ids: Ids }

/** Newest first, among them all the operator's notes, however many questions there are. */
export function listNotes(db: Pick<Db, 'query'>, { tenantId, orderId }: NoteSubject): Promise<Note[]> {
  return db.query<Note>(sql`
    select note_id, text, actor, created_at from (
      select *, row_number() over (partition by is_question order by note_id desc) as place from notes
      where tenant_id = ${tenantId} and order_id is not distinct from ${orderId ?? null}::uuid) of_kind
    where place <= ${NOTES_MAX} order by note_id desc`)
}

/** @param subject the name of the order or dealer in the audit log */
export async function addNote(deps: NoteDeps, on: NoteSubject, text: string, subject: string, by: By): Promise<void> {
  const { tenantId, orderId = null } = on
  await deps.db.tx(async (tx) => {
    const full = new Refusal(409, 'TOO_MANY_NOTES', `There are already ${NOTES_MAX} notes. Delete one first.`)
    await insertNote(tx, deps, { tenantId, orderId, text, actor: by.actor, isQuestion: false, full })
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'note.add', subject, after: { text } })
  })
}

/**
 * Asks the operator about an order on the dealer's behalf: a note on the order, with an alert. Audited where the dealer can
 * see it.
 * @throws Refusal
 */
export async function askAboutOrder(
  deps: NoteDeps,
  order: { tenantId: string; orderId: string; orderNo: string; entryNo: bigint; clientName: string },
  text: string,
  by: By,
): Promise<void> {
  const { tenantId, orderId, orderNo, entryNo, clientName } = order
  await deps.db.tx(async (tx) => {
    const full = tooManyQuestions('order')
    await insertNote(tx, deps, { tenantId, orderId, text, actor: by.actor, isQuestion: true, full })
    audit(tx, deps.ids, { tenantId, ...by, action: 'order.ask_operator', subject: orderNo, after: { text } })
    createAlert(tx, deps.ids, {
      tenantId,
      kind: 'ORDER_QUESTION',
      message: `${clientName} asks about order #${entryNo}: ${text}`,
      data: { orderNo },
    })
  })
}

/**
 * Asks the operator something that is about no order, such as how to pay: a note on the dealer, with an alert. Audited where
 * the dealer can see it.
 * @throws Refusal
 */
export async function askAboutAccount(
  deps: NoteDeps,
  { tenantId, clientName }: { tenantId: string; clientName: string },
  text: string,
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const full = tooManyQuestions('account')
    await insertNote(tx, deps, { tenantId, orderId: null, text, actor: by.actor, isQuestion: true, full })
    audit(tx, deps.ids, { tenantId, ...by, action: 'operator.ask', subject: tenantId, after: { text } })
    createAlert(tx, deps.ids, {
      tenantId,
      kind: 'DEALER_QUESTION',
      message: `${clientName} asks: ${text}`,
    })
  })
}

function tooManyQuestions(about: 'order' | 'account'): Refusal {
  const message = `You have already asked ${NOTES_MAX} questions about this ${about}. Contact the operator directly.`
  return new Refusal(409, 'TOO_MANY_NOTES', message)
}

async function insertNote(
  tx: Tx,
  { ids }: Pick<NoteDeps, 'ids'>,
  note: { tenantId: string; orderId: string | null; text: string; actor: string; isQuestion: boolean; full: Refusal },
): Promise<void> {
  const { tenantId, orderId, text, actor, isQuestion, full } = note
  const [found] = await tx.query<{ count: number }>(sql`
    select count(*)::int as count from notes
    where tenant_id = ${tenantId} and order_id is not distinct from ${orderId}::uuid and is_question = ${isQuestion}`)
  if (found!.count >= NOTES_MAX) throw full
  tx.send(sql`
    insert into notes (tenant_id, note_id, order_id, text, actor, is_question, created_at)
    values (${tenantId}, ${ids.uuid()}, ${orderId}, ${text}, ${actor}, ${isQuestion}, now())`)
}

/** @throws Refusal where there is no such note */
export async function deleteNote(deps: NoteDeps, tenantId: string, noteId: string, by: By): Promise<void> {
  await deps.db.tx(async (tx) => {
    const [note] = await tx.query<{ text: string }>(sql`
      delete from notes where tenant_id = ${tenantId} and note_id = ${noteId} returning text`)
    if (!note) throw notFound('note')
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'note.delete', subject: tenantId, before: note })
  })
}

export async function getTags(db: Pick<Db, 'query'>, tenantId: string): Promise<string[]> {
  const [row] = await db.query<{ tags: string[] }>(sql`select tags from tenants where tenant_id = ${tenantId}`)
  if (!row) throw notFound('tenant')
  return row.tags
}

/** A tag, and the number of dealers with it. */
export interface TagCount {
  tag: string
  dealers: number
}

/** More tags than anyone would choose from. */
const TAGS_LISTED_MAX = 500

/** The tags of all dealers, in alphabetical order. */
export function listTags(db: Pick<Db, 'query'>): Promise<TagCount[]> {
  return db.query<TagCount>(sql`
    select tag, count(*)::int as dealers
    from tenants, unnest(tags) as tag group by tag order by tag limit ${TAGS_LISTED_MAX}`)
}

/** Replaces a dealer's tags, without duplicates, in alphabetical order. */
export async function setTags(deps: NoteDeps, tenantId: string, tags: readonly string[], by: By): Promise<void> {
  const after = [...new Set(tags.map((tag) => tag.trim()).filter((tag) => tag !== ''))].sort()
  await deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ tags: string[] }>(sql`
      select tags from tenants where tenant_id = ${tenantId} for update`)
    if (!row) throw notFound('tenant')
    tx.send({ text: 'update tenants set tags = $2 where tenant_id = $1', values: [tenantId, after] })
    const change = { subject: tenantId, before: row, after: { tags: after } }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'note.set_tags', ...change })
  })
}
