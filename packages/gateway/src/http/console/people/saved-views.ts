import Type, { type Static } from 'typebox'
import { deleteView, listViews, saveView } from '#people/account/saved-view.ts'
import { type Route, route } from '../kernel/route.ts'
import { CLOSED, line, uuid } from '../kernel/route-schemas.ts'

const view = {
  list: Type.String({ pattern: '^[a-z-]{1,30}$' }),
  name: line(60),
  search: Type.String({ maxLength: 1_000, description: 'The query of the page: filters, order, columns, page size' }),
}
const savedView = Type.Object({ viewId: Type.String(), ...view })
export type SavedView = Static<typeof savedView>

export const savedViewRoutes: Route[] = [
  route('GET /account/views', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Your saved views of lists',
    answer: Type.Object({ views: Type.Array(savedView) }),
    handle: async ({ deps, person }) => ({ views: await listViews(deps.db, person.personId) }),
  }),
  route('POST /account/views', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Save a view of a list, or replace the one of that name',
    body: Type.Object(view, CLOSED),
    handle: ({ deps, person }, { body }) => saveView(deps, person.personId, body),
  }),
  route('DELETE /account/views/:viewId', {
    access: 'session',
    testMode: 'SAME',
    summary: 'Delete one of your saved views',
    params: Type.Object({ viewId: uuid() }, CLOSED),
    handle: ({ deps, person }, { params }) => deleteView(deps.db, person.personId, params.viewId),
  }),
]
