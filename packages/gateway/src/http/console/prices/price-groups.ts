import Type, { type Static } from 'typebox'
import { createGroup, type GroupDetails, listGroups, setGroupPlan } from '#catalogue/prices/price-assignments.ts'
import { deleteGroup, renameGroup } from '#catalogue/prices/rename-delete.ts'
import { csvRoute, inOnePart } from '../kernel/csv-route.ts'
import { OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, nullable } from '../kernel/route-schemas.ts'
import { members, membersOf } from './price-members.ts'

const groupRow = Type.Object({
  groupName: Type.String(),
  planName: nullable(Type.String()),
  tenantCount: Type.Integer(),
})
export type GroupRow = Static<typeof groupRow>

const group = Type.Object({ ...groupRow.properties, ...members.properties })
export type GroupDetail = Static<typeof group>

const groupName = Type.Object({ groupName: line(64) }, CLOSED)

/** Tenants are added to groups in tenant-prices.ts. */
export const priceGroupRoutes: Route[] = [
  route('GET /price-groups', {
    access: OPERATORS,
    summary: 'Groups of dealers that share a price plan, by name',
    answer: Type.Object({ groups: Type.Array(groupRow) }),
    handle: async ({ deps }) => ({ groups: (await listGroups(deps.db)).map(rowOf) }),
  }),
  csvRoute({
    path: '/price-groups.csv',
    access: OPERATORS,
    summary: 'Groups of dealers that share a price plan, as CSV',
    file: 'price-groups',
    parts: ({ deps }) => inOnePart(listGroups(deps.db).then((groups) => groups.map(rowOf))),
    columns: {
      name: (row) => row.groupName,
      plan: (row) => row.planName,
      dealers: (row) => row.tenantCount,
    },
  }),
  route('GET /price-groups/:groupName', {
    access: OPERATORS,
    summary: 'A group with its plan and dealers',
    params: groupName,
    answer: group,
    async handle({ deps }, { params }) {
      const [found] = await listGroups(deps.db, params.groupName)
      return { ...rowOf(found!), ...(await membersOf(deps.db, found!.tenantIds)) }
    },
  }),
  route('POST /price-groups', {
    access: OPERATORS_WRITE,
    summary: 'Create an empty group without a plan',
    body: groupName,
    handle: ({ deps, by }, { body }) => createGroup(deps, body.groupName, by),
  }),
  route('PATCH /price-groups/:groupName', {
    access: OPERATORS_WRITE,
    summary: 'Rename a group. Prices do not change',
    params: groupName,
    body: groupName,
    handle: ({ deps, by }, { params, body }) => renameGroup(deps, params.groupName, body.groupName, by),
  }),
  route('DELETE /price-groups/:groupName', {
    access: OPERATORS_WRITE,
    summary: 'Delete an empty group',
    params: groupName,
    handle: ({ deps, by }, { params }) => deleteGroup(deps, params.groupName, by),
  }),
  route('PUT /price-groups/:groupName/plan', {
    access: OPERATORS_WRITE,
    summary: 'Set the plan of a group, for dealers without a plan of their own; null: no plan',
    params: groupName,
    body: Type.Object({ planName: nullable(line(64)) }, CLOSED),
    handle: ({ deps, by }, { params, body }) => setGroupPlan(deps, params.groupName, body.planName, by),
  }),
]

function rowOf({ groupName, planName, tenantIds }: GroupDetails): GroupRow {
  return { groupName, planName, tenantCount: tenantIds.length }
}
