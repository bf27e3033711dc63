import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Deps } from '#deps.ts'
import type { PlacementAnswer } from '#orders/placing/decide-order.ts'
import type { OrderInput } from '#orders/placing/order-input.ts'
import type { Call, Result } from './dealer-call.ts'

/** `esim/order`. */
export function order(deps: Deps, { tenant, request, headers, receivedAt }: Call<'esim/order'>) {
  return place(deps, { tenant, request, headers, receivedAt, orderId: deps.ids.uuid() })
}

/** `esim/topup`. The answer names its eSIM and so has all members (PlacementAnswer). */
export function topUp(deps: Deps, { tenant, request, headers, receivedAt }: Call<'esim/topup'>) {
  const input: OrderInput = { orderType: 'TOPUP', tenant, request, headers, receivedAt, orderId: deps.ids.uuid() }
  return place(deps, input) as Promise<Result<'esim/topup'>>
}

async function place({ orderPlacer }: Deps, input: OrderInput): Promise<{ data: PlacementAnswer; isReplay?: boolean }> {
  const verdict = await orderPlacer.place(input)
  switch (verdict.kind) {
    case 'placed':
      return { data: verdict.answer }
    case 'replayed':
      return { data: verdict.answer, isReplay: true }
    case 'refused':
      throw new ApiError(verdict.code, verdict.parts)
    default:
      return verdict satisfies never
  }
}
