import type { AnswerOf, OperationName, RequestOf } from '@dealer-esim/contract'
import type { Admitted } from '../admission/admission.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../lib/api-error.ts'
import type { Verdict } from '../orders/decide.ts'
import { getOrderWithProfiles } from '../profiles/get-order.ts'
import { listProfiles } from '../profiles/list.ts'
import { readBalance } from '../wallet/balance.ts'
import { setWebhook } from '../webhooks/endpoint/set-webhook.ts'

export interface Call<Name extends OperationName> extends Admitted {
  request: RequestOf<Name>
  address: string
}

export interface Answered<Name extends OperationName> {
  data: AnswerOf<Name>
  headers?: Record<string, string>
}

/** A request that is still being admitted. */
export interface EarlyCall<Name extends OperationName> extends Pick<Call<Name>, 'tenant' | 'request'> {
  admission: Promise<Admitted>
}

type Handlers = { [Name in OperationName]: (deps: Deps, call: Call<Name>) => Promise<Answered<Name>> }

/** The seven operations: each calls one room. The caller's tenant comes from its credentials, never from the request. */
export const handlers: Handlers = {
  async health(_, { tenant }) {
    return { data: { status: 'UP', tenantId: tenant.tenantId, clientName: tenant.clientName } }
  },
  async 'account/balance'(deps, { tenant }) {
    return { data: await readBalance(deps.db, tenant.tenantId) }
  },
  async 'package/list'(deps, { tenant, request, catalogueVersion }) {
    const catalogue = await deps.catalogue.current(catalogueVersion)
    return { data: catalogue.list(tenant, request) }
  },
  async 'esim/order'(deps, { tenant, request }) {
    return answerOrder(await deps.orderPlacer.place({ tenant, request, orderId: deps.ids.uuid() }))
  },
  async 'esim/query'(deps, { tenant, request }) {
    return { data: await getOrderWithProfiles(deps, tenant.tenantId, request) }
  },
  async 'esim/profile/list'(deps, { tenant, request }) {
    return { data: await listProfiles(deps, tenant.tenantId, request) }
  },
  async 'webhook/set'(deps, { tenant, request, address }) {
    return { data: await setWebhook(deps, tenant.tenantId, request, { actor: 'tenant', address }) }
  },
}

type EarlyHandlers = { [Name in OperationName]?: (deps: Deps, call: EarlyCall<Name>) => Promise<Answered<Name>> }

/** Those that may begin before their request is admitted. What they change, they commit once it is. */
export const earlyHandlers: EarlyHandlers = {
  async 'esim/order'(deps, { tenant, request, admission }) {
    const wish = { tenant, request, orderId: deps.ids.uuid() }
    return answerOrder(await deps.orderPlacer.placeOnceAdmitted(wish, admission))
  },
}

function answerOrder(verdict: Verdict): Answered<'esim/order'> {
  switch (verdict.kind) {
    case 'placed':
      return { data: verdict.answer }
    case 'replayed':
      return { data: verdict.answer, headers: { 'Idempotent-Replayed': 'true' } }
    case 'refused':
      throw new ApiError(verdict.code, verdict.parts)
    default:
      return verdict satisfies never
  }
}
