import { orderNoOf } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import Type, { type Static } from 'typebox'
import type { OrderInput } from '#orders/placing/order-input.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import type { AuditAction } from '#platform/audit/audited-actions.ts'
import { getTenantView } from '#tenants/tenant-views.ts'
import type { ConsoleDeps } from '../kernel/route.ts'
import { money } from '../kernel/route-schemas.ts'

export const placedOrder = Type.Object({
  orderNo: Type.String(),
  orderStatus: Type.String(),
  amount: money(),
  currencyCode: Type.String(),
})

/** The same characters as in the dealer API. */
export const transactionId = () => Type.String({ pattern: '^(?!rt-sha256:)[A-Za-z0-9_.:-]{1,64}$' })

/** @throws Refusal for an unknown tenant, ApiError 101005 for a suspended one: its people cannot buy either */
export async function getActiveBuyer(deps: Pick<ConsoleDeps, 'db' | 'cipher'>, tenantId: string) {
  const { status, currencyCode } = await getTenantView(deps, tenantId)
  if (status !== 'ACTIVE') throw new ApiError('101005')
  return { tenantId, currencyCode }
}

/**
 * Places an order for a person, as the dealer API does. The audit entry is written before the order, so that no debit by a
 * person lacks one; a refused order has one too.
 * @throws ApiError if it is refused
 */
export async function placeForPerson(
  deps: Pick<ConsoleDeps, 'db' | 'ids' | 'orderPlacer'>,
  input: OrderInput,
  entry: { action: AuditAction; after: object },
  by: By,
): Promise<Static<typeof placedOrder>> {
  const { tenantId } = input.tenant
  await deps.db.tx(async (tx) => {
    audit(tx, deps.ids, { tenantId, ...by, ...entry, subject: orderNoOf(input.orderId) })
  })
  const verdict = await deps.orderPlacer.place(input)
  if (verdict.kind === 'refused') throw new ApiError(verdict.code, verdict.parts)
  const { orderNo, orderStatus, amount, currencyCode } = verdict.answer
  return { orderNo, orderStatus, amount, currencyCode }
}
