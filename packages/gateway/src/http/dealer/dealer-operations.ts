import type { ActionRequest } from '@dealer-esim/contract'
import { listBrands } from '#brands/list-brands.ts'
import { listLocations } from '#catalogue/locations.ts'
import type { Deps } from '#deps.ts'
import { getAction } from '#esims/actions/find-action.ts'
import { startAction } from '#esims/actions/start-action.ts'
import { listDevices } from '#esims/devices.ts'
import { queryUsage } from '#esims/esim-usage.ts'
import { listProfiles } from '#esims/list-profiles.ts'
import { getOrderWithProfiles } from '#esims/query-order.ts'
import { sendEsim } from '#esims/sends/send-esim.ts'
import { advanceClock } from '#esims/testing/advance-clock.ts'
import { reportTestEsim } from '#esims/testing/report-test-esim.ts'
import { resolveTestOrder } from '#fulfilment/review/resolve-test-order.ts'
import { listOrders } from '#orders/reading/list-orders.ts'
import type { Admitted } from '#tenants/admission/admission.ts'
import { getKeyLimits } from '#tenants/keys/manage-keys.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { getTenantKeys } from '#wallet/books/ledger-keys.ts'
import { proveConsistency, proveEntry } from '#wallet/books/prove-entries.ts'
import { getBalance } from '#wallet/ledger/balance.ts'
import { setTestBalance } from '#wallet/ledger/set-test-balance.ts'
import { listStatement } from '#wallet/statement/list-statements.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { testWebhook } from '#webhooks/endpoint/test-webhook.ts'
import type { Operations, Result } from './dealer-call.ts'
import { order, topUp } from './dealer-orders.ts'
import { listPackages } from './dealer-packages.ts'

/**
 * What each operation of the dealer API does. Each calls one module. The tenant comes from the caller's credentials, never from
 * the request.
 */
export const operations: Operations = {
  async health(deps, { tenant }) {
    const { tenantId, clientName, key } = tenant
    const keyLimits = key && (await getKeyLimits(deps.db, tenantId, key))
    return {
      data: { status: 'UP', mode: deps.config.mode, tenantId, clientName, keyLabel: key?.label ?? null, keyLimits },
    }
  },
  async 'account/balance'(deps, { tenant }) {
    return { data: await getBalance(deps.db, tenant.tenantId) }
  },
  'package/list': listPackages,
  'esim/order': order,
  'esim/topup': topUp,
  async 'esim/query'(deps, { tenant, request }) {
    return { data: await getOrderWithProfiles(deps, tenant.tenantId, request, tenant) }
  },
  async 'esim/profile/list'(deps, { tenant, request }) {
    return { data: await listProfiles(deps, tenant.tenantId, request, tenant) }
  },
  async 'esim/profile/send'(deps, { tenant, request }) {
    const { answer, isReplay } = await sendEsim(deps, tenant.tenantId, request)
    return { data: answer, isReplay }
  },
  async 'brand/list'(deps, { tenant }) {
    const brands = await listBrands(deps, tenant.tenantId)
    const brandList = brands.map(({ brand, isDefault, settings }) => ({ brand, name: settings.name, isDefault }))
    return { data: { brandList } }
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
    return { data: await setWebhook(deps, tenantId, request, { actor: 'tenant', address }, { accepted }) }
  },
  async 'webhook/test'(deps, { tenant, request }) {
    return { data: await testWebhook(deps, tenant.tenantId, request.notifyType) }
  },
  async 'order/list'(deps, { tenant, request }) {
    return { data: await listOrders(deps, tenant.tenantId, request, tenant) }
  },
  async 'account/statement'(deps, { tenant, request }) {
    return { data: await listStatement(deps, tenant.tenantId, request) }
  },
  async 'ledger/checkpoint'(deps, { tenant, request }) {
    return { data: await getCheckpoint(deps, tenant.tenantId, request) }
  },
  async 'ledger/proof'(deps, { tenant, request }) {
    return { data: await proveEntry(deps.db, tenant.tenantId, request) }
  },
  async 'ledger/consistency'(deps, { tenant, request }) {
    return { data: await proveConsistency(deps.db, tenant.tenantId, request) }
  },
  async 'ledger/keys'(deps, { tenant }) {
    return { data: await getTenantKeys(deps.db, deps.config, tenant.tenantId) }
  },
  async 'location/list'(deps, { tenant, request, catalogueVersion }) {
    const catalogue = await deps.catalogue.current(catalogueVersion)
    return { data: { locationList: listLocations(catalogue, tenant, request) } }
  },
  'device/list': async (deps, { tenant, request }) => ({ data: listDevices(deps.linkKey, tenant.tenantId, request) }),
  async 'esim/usage/query'(deps, { tenant, request }) {
    return { data: await queryUsage(deps.db, tenant.tenantId, request.esimTranNoList) }
  },
  async 'test/balance/set'(deps, { tenant, request }) {
    await setTestBalance(deps, tenant.tenantId, BigInt(request.balance))
    return { data: await getBalance(deps.db, tenant.tenantId) }
  },
  async 'test/esim/update'(deps, { tenant, request }) {
    return { data: await reportTestEsim(deps, tenant.tenantId, request) }
  },
  async 'test/clock/advance'(deps, { tenant, request }) {
    return { data: await advanceClock(deps, tenant.tenantId, request) }
  },
  async 'test/order/resolve'(deps, { tenant, request }) {
    await resolveTestOrder(deps, tenant.tenantId, request)
    return { data: await getOrderWithProfiles(deps, tenant.tenantId, { orderNo: request.orderNo }) }
  },
}

/** Starts the action of the request. The schema of each operation allows only that operation's action. */
async function act(
  deps: Deps,
  { tenant, request }: { tenant: Admitted['tenant']; request: ActionRequest },
): Promise<Result<'esim/cancel'>> {
  const { answer, isReplay } = await startAction(deps, tenant.tenantId, request, {
    keyLabel: tenant.key?.label ?? null,
  })
  return { data: answer, isReplay }
}
