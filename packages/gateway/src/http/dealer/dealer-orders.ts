import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Deps } from '#deps.ts'
import type { PlacementAnswer, Verdict } from '#orders/placing/decide-order.ts'
import type { DryRunAnswer, DryRunVerdict } from '#orders/placing/dry-run.ts'
import { keyOf } from '#orders/placing/order-input.ts'
import { handOverOf } from '#orders/traveller.ts'
import type { Call, Result } from './dealer-call.ts'

/** `esim/order`. */
export async function order(deps: Deps, { tenant, request, headers, receivedAt }: Call<'esim/order'>) {
  const handOver = await handOverOf(deps, tenant.tenantId, request.packageInfoList)
  const known = {
    tenant,
    headers,
    receivedAt,
    orderId: deps.ids.uuid(),
    key: keyOf(tenant),
    ...(handOver && { handOver }),
  }
  const verdict = await (request.validateOnly
    ? deps.orderPlacer.dryRun({ ...known, request: withTransactionId(request, known.orderId) })
    : deps.orderPlacer.place({ ...known, request }))
  return resultOf(verdict)
}

/** `esim/topup`. The answer names its eSIM and so has all members (PlacementAnswer, DryRunAnswer). */
export async function topUp(deps: Deps, { tenant, request, headers, receivedAt }: Call<'esim/topup'>) {
  const known = {
    orderType: 'TOPUP' as const,
    tenant,
    headers,
    receivedAt,
    orderId: deps.ids.uuid(),
    key: keyOf(tenant),
  }
  const verdict = await (request.validateOnly
    ? deps.orderPlacer.dryRun({ ...known, request: withTransactionId(request, known.orderId) })
    : deps.orderPlacer.place({ ...known, request }))
  return resultOf(verdict) as Result<'esim/topup'>
}

/** Without a transactionId, a dry run gets a new one that no order can have. */
function withTransactionId<DryRun extends { validateOnly: true; transactionId?: string }>(
  { validateOnly: _, ...members }: DryRun,
  orderId: string,
) {
  return { ...members, transactionId: members.transactionId ?? orderId }
}

function resultOf(verdict: Verdict | DryRunVerdict): { data: PlacementAnswer | DryRunAnswer; isReplay?: boolean } {
  switch (verdict.kind) {
    case 'placed':
    case 'accepted':
      return { data: verdict.answer }
    case 'replayed':
      return { data: verdict.answer, isReplay: true }
    case 'refused':
      throw new ApiError(verdict.code, verdict.parts)
    default:
      return verdict satisfies never
  }
}
