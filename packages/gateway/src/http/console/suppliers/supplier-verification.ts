import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { sentence } from '#people/languages/translate-answer.ts'
import { cheapestProduct } from '#products/list-products.ts'
import { createSupplier, type SupplierType } from '#suppliers/create-supplier.ts'
import { findConfirmedProduct } from '#suppliers/verification/confirmed-product.ts'
import { verifySupplier } from '#suppliers/verification/verify-supplier.ts'
import { OPERATOR_ADMINS, OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable } from '../kernel/route-schemas.ts'
import { confirmedRoute } from '../people/confirmed-route.ts'

const verified = Type.Object({
  isVerified: Type.Boolean({ description: 'false: the balance contradicts a charge' }),
  iccid: Type.String(),
  cancelled: Type.Boolean(),
  message: nullable(sentence('Why it was not cancelled')),
  charge: Type.Object({
    finding: Type.Enum(['PROVEN', 'DIFFERS', 'UNCLEAR'], {
      description: 'Whether the balance fell by what was read as the charge',
    }),
    message: sentence(),
  }),
})
export type SupplierVerified = Static<typeof verified>

/**
 * The pause between two queries. An undelivered purchase is queried for half a minute, so that the browser gets an answer. The
 * next request continues it.
 */
const PAUSE_MS = 1_250

const cheapest = Type.Object({
  product: nullable(
    Type.Object({ productCode: Type.String(), name: Type.String(), cost: money(), currencyCode: Type.String() }),
  ),
})
export type CheapestProduct = Static<typeof cheapest>

export const supplierVerificationRoutes: Route[] = [
  route('GET /suppliers/:supplier/cheapest-product', {
    access: OPERATORS,
    summary: 'The cheapest product with an eSIM that the supplier lists, which a verification can buy',
    params: Type.Object({ supplier: line(64) }, CLOSED),
    answer: cheapest,
    async handle({ deps }, { params }) {
      const product = await cheapestProduct(deps.db, params.supplier)
      return { product: product ? { ...product, cost: Number(product.cost) } : null }
    },
  }),
  confirmedRoute('POST /suppliers/:supplier/verify', {
    access: OPERATOR_ADMINS,
    summary:
      'Buy one real eSIM from a supplier, look it up, and cancel it where the supplier can. Without confirm the price is stated and nothing bought. Requires the password',
    params: Type.Object({ supplier: line(64) }, CLOSED),
    body: Type.Object({
      buy: Type.String({
        ...line(128),
        description: 'The supplier’s product code, or a package of ours that it supplies',
      }),
      confirm: Type.Optional(Type.String({ ...line(24), description: 'The price, as it was stated, such as 3.20' })),
    }),
    answer: verified,
    async handle({ deps, by }, { params: { supplier: name }, body }) {
      const [row] = await deps.db.query<{ type: SupplierType; config: Buffer }>(sql`
        select type, config from suppliers where supplier = ${name}`)
      if (row === undefined) throw notFound('supplier', name)
      const supplier = createSupplier(deps, row.type, name, row.config)
      try {
        const purchase = await findConfirmedProduct(deps.db, supplier, body)
        const done = await verifySupplier(deps, { supplier, pauseMs: PAUSE_MS }, purchase, by)
        const { isVerified, iccid, cancelled, charge } = done
        const message = 'message' in cancelled ? cancelled.message : null
        return { isVerified, iccid, cancelled: cancelled.kind === 'cancelled', message, charge }
      } finally {
        await supplier.stop?.()
      }
    },
  }),
]
