import type { OperationName } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Deps } from '#deps.ts'
import type { Verdict } from '#orders/placing/decide-order.ts'
import type { NewOrderInput, TopUpInput } from '#orders/placing/order-input.ts'
import type { Call, EarlyCall, Result } from './dealer-call.ts'

/** `esim/order`. */
export async function order(deps: Deps, call: Call<'esim/order'>): Promise<Result<'esim/order'>> {
  return resultOf(await deps.orderPlacer.place(orderInput(deps, call)))
}

/** `esim/order` while the request is still being admitted. */
export async function orderEarly(deps: Deps, call: EarlyCall<'esim/order'>): Promise<Result<'esim/order'>> {
  return resultOf(await deps.orderPlacer.placeWhenAdmitted(orderInput(deps, call), call.admission))
}

/** `esim/topup`. */
export async function topUp(deps: Deps, call: Call<'esim/topup'>): Promise<Result<'esim/topup'>> {
  return topUpResult(await deps.orderPlacer.place(topUpInput(deps, call)))
}

/** `esim/topup` while the request is still being admitted. */
export async function topUpEarly(deps: Deps, call: EarlyCall<'esim/topup'>): Promise<Result<'esim/topup'>> {
  return topUpResult(await deps.orderPlacer.placeWhenAdmitted(topUpInput(deps, call), call.admission))
}

type Sent<Name extends OperationName> = Pick<Call<Name>, 'tenant' | 'request' | 'headers' | 'receivedAt'>

function orderInput(deps: Deps, { tenant, request, headers, receivedAt }: Sent<'esim/order'>): NewOrderInput {
  return { tenant, request, headers, receivedAt, orderId: deps.ids.uuid() }
}

function topUpInput(deps: Deps, { tenant, request, headers, receivedAt }: Sent<'esim/topup'>): TopUpInput {
  return { orderType: 'TOPUP', tenant, request, headers, receivedAt, orderId: deps.ids.uuid() }
}

/** Returns a top-up's answer, which names its eSIM and so has all members (PlacementAnswer). */
function topUpResult(verdict: Verdict): Result<'esim/topup'> {
  return resultOf(verdict) as Result<'esim/topup'>
}

function resultOf(verdict: Verdict): Result<'esim/order'> {
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
