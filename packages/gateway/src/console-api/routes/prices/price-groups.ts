import Type, { type Static } from 'typebox'
import { createGroup, type GroupDetails, listGroups, setGroupPlan } from '../../../catalogue/pricing/assignments.ts'
import { deleteGroup, renameGroup } from '../../../catalogue/pricing/rename-delete.ts'
import { OPERATORS, OPERATORS_WRITE, type Route, route } from '../../kernel/route.ts'
import { CLOSED, done, keyCursor, line, nextCursor, nullable, pageAfter } from '../../kernel/schemas.ts'
import { members, membersOf } from './price-members.ts'

const groupRow = Type.Object({
  groupName: Type.String(),
  planName: nullable(Type.String()),
  tenantCount: Type.Integer(),
})
export type GroupRow = Static<typeof groupRow>

const group = Type.Object({ ...groupRow.properties, ...members.properties })
export type GroupDetail = Static<typeof group>

const named = Type.Object({ groupName: line(64) }, CLOSED)

/** Who is in a group is a tenant's own assignment: tenant-prices.ts. */
export const priceGroupRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/price-groups',
    who: OPERATORS,
    summary: 'Groups of dealers that pay by one plan, by name',
    query: Type.Object({ cursor: keyCursor() }, CLOSED),
    answer: Type.Object({ groups: Type.Array(groupRow), nextCursor: nextCursor() }),
    async handle({ deps }, { query }) {
      const { page, nextCursor } = pageAfter(await listGroups(deps.db), (row) => row.groupName, query.cursor)
      return { groups: page.map(rowOf), nextCursor }
    },
  }),
  route({
    method: 'GET',
    path: '/price-groups/:groupName',
    who: OPERATORS,
    summary: 'A group with its plan and its dealers',
    params: named,
    answer: group,
    async handle({ deps }, { params }) {
      const [shown] = await listGroups(deps.db, params.groupName)
      return { ...rowOf(shown!), ...(await membersOf(deps.db, shown!.tenantIds)) }
    },
  }),
  route({
    method: 'POST',
    path: '/price-groups',
    who: OPERATORS_WRITE,
    summary: 'Create a group, with no plan and nobody in it yet',
    body: named,
    answer: done,
    async handle({ deps, by }, { body }) {
      await createGroup(deps, body.groupName, by)
      return {}
    },
  }),
  route({
    method: 'PATCH',
    path: '/price-groups/:groupName',
    who: OPERATORS_WRITE,
    summary: 'Rename a group; nobody pays another price',
    params: named,
    body: named,
    answer: done,
    async handle({ deps, by }, { params, body }) {
      await renameGroup(deps, params.groupName, body.groupName, by)
      return {}
    },
  }),
  route({
    method: 'DELETE',
    path: '/price-groups/:groupName',
    who: OPERATORS_WRITE,
    summary: 'Delete a group that nobody is in',
    params: named,
    answer: done,
    async handle({ deps, by }, { params }) {
      await deleteGroup(deps, params.groupName, by)
      return {}
    },
  }),
  route({
    method: 'PUT',
    path: '/price-groups/:groupName/plan',
    who: OPERATORS_WRITE,
    summary: 'The plan that the dealers of a group pay by where they have none of their own; null: none',
    params: named,
    body: Type.Object({ planName: nullable(line(64)) }, CLOSED),
    answer: done,
    async handle({ deps, by }, { params, body }) {
      await setGroupPlan(deps, params.groupName, body.planName, by)
      return {}
    },
  }),
]

function rowOf({ groupName, planName, tenantIds }: GroupDetails): GroupRow {
  return { groupName, planName, tenantCount: tenantIds.length }
}
