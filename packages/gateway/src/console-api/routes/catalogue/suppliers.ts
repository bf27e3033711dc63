import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { notFound } from '../../../lib/refusal.ts'
import { pauseSupplier } from '../../../suppliers/manage.ts'
import { OPERATORS, OPERATORS_WRITE, type Route, route } from '../../kernel/route.ts'
import { CLOSED, done, line, nullable, time } from '../../kernel/schemas.ts'

const supplierRow = Type.Object({
  supplier: Type.String(),
  type: Type.String(),
  paused: Type.Boolean(),
  /** The breaker's state on this node; null if the supplier could not be started. */
  breaker: nullable(Type.Enum(['closed', 'open', 'half-open'])),
  waiting: Type.Integer({ description: 'eSIMs that wait for an answer of this supplier' }),
  available: nullable(Type.Integer({ description: 'null if not counted' })),
  updatedAt: time(),
})
export type SupplierRow = Static<typeof supplierRow>

const params = Type.Object({ supplier: line(64) }, CLOSED)

export const supplierRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/suppliers',
    access: OPERATORS,
    summary: 'Suppliers and their state',
    answer: Type.Object({ suppliers: Type.Array(supplierRow) }),
    async handle({ deps }) {
      const rows = await deps.db.query<Omit<SupplierRow, 'breaker' | 'updatedAt'> & { updatedAt: Date }>(sql`
        select s.supplier, s.type, s.paused, s.updated_at,
               (select sum(l.available) from stock_levels l where l.supplier = s.supplier)::bigint as available,
               (select count(*)::int from orders o
                join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
                where o.due_at is not null and i.supplier = s.supplier and i.item_status in ('ASKED', 'UNKNOWN'))
                 as waiting
        from suppliers s order by s.supplier`)
      const suppliers = rows.map((row) => ({ ...row, breaker: deps.suppliers.get(row.supplier)?.gate.state ?? null }))
      return { suppliers }
    },
  }),
  route({
    method: 'POST',
    path: '/suppliers/:supplier/test',
    access: OPERATORS_WRITE,
    summary: 'Test the connection to a supplier',
    params,
    answer: Type.Object({ works: Type.Boolean(), words: nullable(Type.String()) }),
    async handle({ deps }, { params }) {
      const known = deps.suppliers.get(params.supplier)
      if (!known) throw notFound('usable supplier', params.supplier)
      const message = (await known.supplier.test()) ?? null
      return { works: message === null, words: message }
    },
  }),
  ...([true, false] as const).map((paused) =>
    route({
      method: 'POST',
      path: `/suppliers/:supplier/${paused ? 'pause' : 'resume'}`,
      access: OPERATORS_WRITE,
      summary: paused
        ? 'Stop ordering from a supplier. Its orders go to the next supplier of their package, or wait'
        : 'Order from a supplier again',
      params,
      answer: done,
      async handle({ deps, by }, { params }) {
        await pauseSupplier(deps, { name: params.supplier, paused }, by)
        return {}
      },
    }),
  ),
]
