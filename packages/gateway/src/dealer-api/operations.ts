import type { ActionRequest, AnswerOf, OperationName, RequestHeaders, RequestOf } from '@dealer-esim/contract'
import { getAction } from '../actions/find.ts'
import { startAction } from '../actions/start.ts'
import type { Admitted } from '../admission/admission.ts'
import { listLocations } from '../catalogue/locations.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../lib/api-error.ts'
import type { Verdict } from '../orders/placing/decide.ts'
import { listOrders } from '../orders/reading/list.ts'
import { getOrderWithProfiles } from '../profiles/get-order.ts'
import { listProfiles } from '../profiles/list.ts'
import { listPackagesFor } from '../profiles/list-packages.ts'
import { queryUsage } from '../profiles/usage.ts'
import { getBalance } from '../wallet/ledger/balance.ts'
import { listStatement } from '../wallet/statement/list.ts'
import { setWebhook } from '../webhooks/endpoint/set-webhook.ts'

export interface Call<Name extends OperationName> extends Admitted {
  request: RequestOf<Name>
  headers: RequestHeaders
  address: string
  /** When the request arrived, by `Clock.monotonic`. */
  receivedAt: number
}

/** A call whose request is still being admitted. */
export interface EarlyCall<Name extends OperationName>
  extends Pick<Call<Name>, 'tenant' | 'request' | 'headers' | 'receivedAt'> {
  admission: Promise<Admitted>
}

export interface Result<Name extends OperationName> {
  data: AnswerOf<Name>
  headers?: Record<string, string>
}

export type Handler<Name extends OperationName> = (deps: Deps, call: Call<Name>) => Promise<Result<Name>>
export type EarlyHandler<Name extends OperationName> = (deps: Deps, call: EarlyCall<Name>) => Promise<Result<Name>>

/** The operations. Each calls one module. The tenant comes from the caller's credentials, never from the request. */
export const handlers: { [Name in OperationName]: Handler<Name> } = {
  async health(_, { tenant }) {
    return { data: { status: 'UP', tenantId: tenant.tenantId, clientName: tenant.clientName } }
  },
  async 'account/balance'(deps, { tenant }) {
    return { data: await getBalance(deps.db, tenant.tenantId) }
  },
  async 'package/list'(deps, { tenant, request, catalogueVersion }) {
    const catalogue = await deps.catalogue.current(catalogueVersion)
    return { data: await listPackagesFor(deps, catalogue, tenant, request) }
  },
  async 'esim/order'(deps, { tenant, request, headers, receivedAt }) {
    const input = { tenant, request, headers, receivedAt, orderId: deps.ids.uuid() }
    return orderResult(await deps.orderPlacer.place(input))
  },
  async 'esim/topup'(deps, { tenant, request, headers, receivedAt }) {
    const input = { orderType: 'TOPUP' as const, tenant, request, headers, receivedAt, orderId: deps.ids.uuid() }
    return topUpResult(await deps.orderPlacer.place(input))
  },
  async 'esim/query'(deps, { tenant, request }) {
    return { data: await getOrderWithProfiles(deps, tenant.tenantId, request) }
  },
  async 'esim/profile/list'(deps, { tenant, request }) {
    return { data: await listProfiles(deps, tenant.tenantId, request) }
  },
  'esim/cancel': act,
  'esim/suspend': act,
  'esim/unsuspend': act,
  'esim/revoke': act,
  async 'esim/action/query'(deps, { tenant, request }) {
    return { data: await getAction(deps.db, tenant.tenantId, request) }
  },
  async 'webhook/set'(deps, { tenant, request, headers, address }) {
    const { tenantId } = tenant
    const accepted = { tenantId, requestId: headers.requestId, timestampMs: Number(headers.timestamp) }
    return { data: await setWebhook(deps, tenantId, request, { actor: 'tenant', address }, accepted) }
  },
  async 'order/list'(deps, { tenant, request }) {
    return { data: await listOrders(deps, tenant.tenantId, request) }
  },
  async 'account/statement'(deps, { tenant, request }) {
    return { data: await listStatement(deps, tenant.tenantId, request) }
  },
  async 'location/list'(deps, { tenant, request, catalogueVersion }) {
    const catalogue = await deps.catalogue.current(catalogueVersion)
    return { data: { locationList: listLocations(catalogue, tenant, request) } }
  },
  async 'esim/usage/query'(deps, { tenant, request }) {
    return { data: await queryUsage(deps.db, tenant.tenantId, request.esimTranNoList) }
  },
}

/** Operations that may begin before their request is admitted. They commit their changes only afterwards. */
export const earlyHandlers: { [Name in OperationName]?: EarlyHandler<Name> } = {
  async 'esim/order'(deps, { tenant, request, headers, receivedAt, admission }) {
    const input = { tenant, request, headers, receivedAt, orderId: deps.ids.uuid() }
    return orderResult(await deps.orderPlacer.placeWhenAdmitted(input, admission))
  },
  async 'esim/topup'(deps, { tenant, request, headers, receivedAt, admission }) {
    const input = { orderType: 'TOPUP' as const, tenant, request, headers, receivedAt, orderId: deps.ids.uuid() }
    return topUpResult(await deps.orderPlacer.placeWhenAdmitted(input, admission))
  },
}

/** The operation is in the request: its schema has only that action. */
async function act(
  deps: Deps,
  { tenant, request }: { tenant: Admitted['tenant']; request: ActionRequest },
): Promise<Result<'esim/cancel'>> {
  const { answer, isReplay } = await startAction(deps, tenant.tenantId, request)
  return { data: answer, ...(isReplay && { headers: REPLAYED }) }
}

const REPLAYED = { 'Idempotent-Replayed': 'true' }

/** A top-up's answer has its eSIM, and so all members (PlacementAnswer). */
function topUpResult(verdict: Verdict): Result<'esim/topup'> {
  return orderResult(verdict) as Result<'esim/topup'>
}

function orderResult(verdict: Verdict): Result<'esim/order'> {
  switch (verdict.kind) {
    case 'placed':
      return { data: verdict.answer }
    case 'replayed':
      return { data: verdict.answer, headers: REPLAYED }
    case 'refused':
      throw new ApiError(verdict.code, verdict.parts)
    default:
      return verdict satisfies never
  }
}
