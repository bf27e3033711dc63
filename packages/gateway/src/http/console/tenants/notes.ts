import { orderIdOf } from '@dealer-esim/contract'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { searchOrders } from '#orders/reading/search-orders.ts'
import {
  addNote,
  askAboutAccount,
  askAboutOrder,
  deleteNote,
  getTags,
  listNotes,
  listTags,
  NOTE_LENGTH_MAX,
  type NoteSubject,
  setTags,
  TAG_LENGTH_MAX,
  TAGS_MAX,
} from '#tenants/notes.ts'
import { getTenantView } from '#tenants/tenant-views.ts'
import { createActorNaming } from '../kernel/actors.ts'
import {
  BUYERS,
  type ConsoleDeps,
  type Context,
  OPERATORS,
  OPERATORS_WRITE,
  type Route,
  route,
} from '../kernel/route.ts'
import { CLOSED, line, orderParams, tenantParams, time, uuid } from '../kernel/route-schemas.ts'

const notes = Type.Object({
  notes: Type.Array(
    Type.Object({ noteId: Type.String(), text: Type.String(), actor: Type.String(), createdAt: time() }),
  ),
})
export type NotesView = Static<typeof notes>

const newNote = Type.Object({ text: Type.String({ minLength: 1, maxLength: NOTE_LENGTH_MAX, pattern: '\\S' }) }, CLOSED)

const tags = Type.Object({ tags: Type.Array(line(TAG_LENGTH_MAX), { maxItems: TAGS_MAX }) }, CLOSED)
export type TagsView = Static<typeof tags>

const tagCount = Type.Object({ tag: Type.String(), dealers: Type.Integer() })
export type TagCount = Static<typeof tagCount>

/** Notes of the operator's people on dealers and orders, and tags of dealers. Dealers see neither, but can ask questions. */
export const noteRoutes: Route[] = [
  route('GET /tenants/:tenantId/notes', {
    access: OPERATORS,
    summary: 'The operator’s notes on a dealer, newest first',
    params: tenantParams,
    answer: notes,
    handle: (context, { params }) => viewNotes(context, params),
  }),
  route('POST /tenants/:tenantId/notes', {
    access: OPERATORS_WRITE,
    summary: 'Add a note on a dealer. Audited',
    params: tenantParams,
    body: newNote,
    async handle({ deps, by }, { params, body }) {
      await getTags(deps.db, params.tenantId)
      await addNote(deps, params, body.text, params.tenantId, by)
    },
  }),
  route('GET /tenants/:tenantId/orders/:orderNo/notes', {
    access: OPERATORS,
    summary: 'The operator’s notes on an order, newest first',
    params: orderParams,
    answer: notes,
    handle: async (context, { params }) => viewNotes(context, await getOrder(context.deps, params)),
  }),
  route('POST /tenants/:tenantId/orders/:orderNo/notes', {
    access: OPERATORS_WRITE,
    summary: 'Add a note on an order. Audited',
    params: orderParams,
    body: newNote,
    handle: async ({ deps, by }, { params, body }) =>
      addNote(deps, await getOrder(deps, params), body.text, params.orderNo, by),
  }),
  route('POST /tenants/:tenantId/orders/:orderNo/questions', {
    access: BUYERS,
    summary: 'Ask the operator about an order: a note on it, with an alert. Audited',
    params: orderParams,
    body: newNote,
    limit: 'question',
    handle: async ({ deps, by }, { params, body }) =>
      askAboutOrder(deps, { ...(await getOrder(deps, params)), orderNo: params.orderNo }, body.text, by),
  }),
  route('POST /tenants/:tenantId/questions', {
    access: BUYERS,
    summary: 'Ask the operator something that is about no order: a note on the dealer, with an alert. Audited',
    params: tenantParams,
    body: newNote,
    limit: 'question',
    handle: async ({ deps, by }, { params, body }) =>
      askAboutAccount(deps, await getTenantView(deps, params.tenantId), body.text, by),
  }),
  route('DELETE /tenants/:tenantId/notes/:noteId', {
    access: OPERATORS_WRITE,
    summary: 'Delete a note. Audited',
    params: Type.Object({ ...tenantParams.properties, noteId: uuid() }, CLOSED),
    handle: ({ deps, by }, { params }) => deleteNote(deps, params.tenantId, params.noteId, by),
  }),
  route('GET /tags', {
    access: OPERATORS,
    summary: 'The operator’s tags of all dealers, and how many dealers have each',
    answer: Type.Object({ tags: Type.Array(tagCount) }),
    handle: async ({ deps }) => ({ tags: await listTags(deps.db) }),
  }),
  route('GET /tenants/:tenantId/tags', {
    access: OPERATORS,
    summary: 'The operator’s tags of a dealer',
    params: tenantParams,
    answer: tags,
    handle: async ({ deps }, { params }) => ({ tags: await getTags(deps.db, params.tenantId) }),
  }),
  route('PUT /tenants/:tenantId/tags', {
    access: OPERATORS_WRITE,
    summary: 'Replace the tags of a dealer. Audited',
    params: tenantParams,
    body: tags,
    handle: ({ deps, by }, { params, body }) => setTags(deps, params.tenantId, body.tags, by),
  }),
]

async function viewNotes(context: Context, subject: NoteSubject) {
  const found = await listNotes(context.deps.db, subject)
  const nameOf = await createActorNaming(
    context,
    found.map(({ actor }) => actor),
  )
  return { notes: found.map((note) => ({ ...note, actor: nameOf(note.actor) ?? note.actor })) }
}

async function getOrder(
  { db }: Pick<ConsoleDeps, 'db'>,
  { tenantId, orderNo }: { tenantId: string; orderNo: string },
): Promise<{ tenantId: string; orderId: string; entryNo: bigint; clientName: string }> {
  const orderId = orderIdOf(orderNo)
  const [order] = orderId === undefined ? [] : (await searchOrders(db, { tenantId, orderId }, { limit: 1 })).orders
  if (!order) throw notFound('order')
  const { entryNo, clientName } = order
  return { tenantId, orderId: order.orderId, entryNo, clientName }
}
