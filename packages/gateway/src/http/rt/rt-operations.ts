import { createHash } from 'node:crypto'
import {
  type EsimAction,
  type PackageListAnswer,
  type PackageOnSale,
  type RtOperationName,
  type RtPackage,
  rtTime,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { listLocations } from '#catalogue/locations.ts'
import { wideChangedAt } from '#catalogue/prices/quote.ts'
import type { Deps } from '#deps.ts'
import { ensureAction } from '#esims/actions/start-action.ts'
import { queryUsage } from '#esims/esim-usage.ts'
import { listPackagesFor } from '#esims/list-fitting-packages.ts'
import { sendSms } from '#esims/send-sms.ts'
import { getBalance } from '#wallet/ledger/balance.ts'
import { findEndpoint } from '#webhooks/endpoint/endpoint.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { ListStream } from './list-stream.ts'
import { packageCodeOf } from './package-code.ts'
import type { Handler, RtCall } from './rt-call.ts'
import { RtFailure } from './rt-failure.ts'
import { order, topUp } from './rt-orders.ts'
import { query } from './rt-query.ts'
import { checkRequest, numberOf, type RtRequest, textOf } from './rt-request.ts'
import { rtPackage } from './rt-shapes.ts'
import { findBase, topUpTypeOf } from './rt-top-ups.ts'

/**
 * The operations of the RT family that we serve. Each checks its request against the dealer API's rules and calls the same
 * module.
 */
export const handlers: { [Name in RtOperationName]: Handler } = {
  async 'balance/query'(deps, { tenant }) {
    const { balance, lastUpdateTime } = await getBalance(deps.db, tenant.tenantId)
    return { balance, lastUpdateTime: rtTime(lastUpdateTime) }
  },
  async 'location/list'(deps, { tenant, catalogueVersion }) {
    const all = listLocations(await deps.catalogue.current(catalogueVersion), tenant, {})
    const names = new Map(all.map(({ locationCode, name }) => [locationCode, name]))
    const locationList = all.map(({ locationCode, name, type, subLocationCodes }) => ({
      code: locationCode,
      name,
      type: type === 'COUNTRY' ? 1 : 2,
      subLocationList: subLocationCodes.map((code) => ({ code, name: names.get(code) ?? code })),
    }))
    return { locationList }
  },
  'package/list': listPackages,
  'esim/order': order,
  'esim/query': query,
  'esim/topup': topUp,
  'esim/cancel': actionHandler('esim/cancel'),
  'esim/suspend': actionHandler('esim/suspend'),
  'esim/unsuspend': actionHandler('esim/unsuspend'),
  'esim/revoke': actionHandler('esim/revoke'),
  async 'esim/usage/query'(deps, { tenant, request }) {
    const { esimTranNoList } = checkRequest('esim/usage/query', { esimTranNoList: request.esimTranNoList })
    const { esimUsageList } = await queryUsage(deps.db, tenant.tenantId, esimTranNoList)
    return {
      esimUsageList: esimUsageList.map(({ esimTranNo, orderUsage, totalVolume, usageUpdateTime }) => ({
        ...{ esimTranNo, dataUsage: orderUsage ?? 0, totalData: totalVolume ?? 0 },
        lastUpdateTime: rtTime(usageUpdateTime),
      })),
    }
  },
  'esim/sendSms': sendOneSms,
  'webhook/save': saveWebhook,
  'webhook/query': queryWebhook,
}

/**
 * Starts an action on an eSIM and waits for its end. The family does not send a transactionId: a repeat finds the open
 * action, or succeeds immediately if the eSIM is already in the requested state.
 */
function actionHandler(operation: 'esim/cancel' | 'esim/suspend' | 'esim/unsuspend' | 'esim/revoke'): Handler {
  const action = operation.slice('esim/'.length).toUpperCase() as EsimAction
  return async (deps, { tenant, request, waitForEnd, traceWith, unsignedFrom }) => {
    const { tenantId } = tenant
    const { esimTranNo, iccid } = request
    // A request of the dealer API states its action, because the signature does not cover the path.
    const checked = checkRequest(operation, {
      ...{ transactionId: 'none', esimTranNo, iccid },
      action: request.action ?? action,
    })
    const by = unsignedFrom === undefined ? undefined : { actor: 'unsigned' as const, address: unsignedFrom }
    const begun = await ensureAction(deps, tenantId, checked, { by, keyLabel: tenant.key?.label ?? null })
    if (begun === undefined) return {}
    const { actionId, orderId, isNew } = begun
    if (isNew) traceWith({ orderId, part: 'continues', actionId })
    const ended = await waitForEnd({ kind: 'ACTION', tenantId, id: actionId })
    if (ended !== 'DONE') throw new RtFailure('200002', 'The supplier of this eSIM refused the action.')
    return {}
  }
}

/** How many packages are built per turn of the event loop, in half a millisecond. */
const PAGE_SIZE = 100
/** Incremented when the form of a package changes, so that no client keeps answers in the earlier form. */
const FORM = 2

/**
 * Lists all packages of the dealer API's `package/list` in one answer, from one version of the catalogue. A BASE package that
 * is named in a list of TOPUP packages is the one to be topped up. An answer about one eSIM has no ETag, because it depends on
 * the eSIM too.
 * @throws ApiError 000108, 310403; RtFailure 200008
 */
async function listPackages(deps: Deps, { tenant, request, catalogueVersion }: RtCall): Promise<ListStream> {
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const { locationCode, iccid, esimTranNo } = request
  const isForEsim = iccid !== undefined || esimTranNo !== undefined
  const type = request.type ?? (isForEsim ? 'TOPUP' : 'BASE')
  const bases = [request.packageCode, request.slug].map((name) =>
    type === 'TOPUP' ? findBase(catalogue, tenant, name) : undefined,
  )
  const [name, slug] = [request.packageCode, request.slug].map((one, index) => (bases[index] ? undefined : one))
  const named = { member: 'packageCode', type: type === 'TOPUP' ? 'TOPUP' : 'BASE' } as const
  const packageCode = typeof name === 'string' ? packageCodeOf(catalogue, tenant, { ...named, name }) : name
  const filters = { locationCode, packageCode, slug, iccid, esimTranNo, type, pageSize: PAGE_SIZE }
  const wanted = checkRequest('package/list', filters)
  const [base] = bases.filter((one) => one !== undefined)
  const pageAt = (cursor?: string) =>
    listPackagesFor(deps, catalogue, tenant, { ...wanted, ...(cursor && { cursor }) }, base)
  const dataType = dataTypeIn(request)
  const shape = (item: PackageOnSale) => rtPackage(item, topUpTypeOf(catalogue, tenant, item))
  const isWanted = (item: RtPackage) => dataType === undefined || item.dataType === dataType
  const { tariff, now } = catalogue.listSource(tenant)
  // Rules of price plans begin and end without a new version of the catalogue.
  const version = [FORM, String(catalogue.version), wideChangedAt(tariff, now), tenant.tenantId]
  const parts = [...version, wanted, base?.packageCode, dataType]
  const etag = `"${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)}"`
  const pages = pagesFrom(await pageAt(), pageAt, (item) => [shape(item)].filter(isWanted))
  return new ListStream('packageList', pages, isForEsim ? undefined : etag)
}

/** @throws RtFailure 200008 */
function dataTypeIn(request: RtRequest): RtPackage['dataType'] | undefined {
  const dataType = numberOf(request.dataType)
  if (dataType === undefined || dataType === 1 || dataType === 2 || dataType === 3 || dataType === 4) return dataType
  throw new RtFailure('200008', 'dataType: send 1 (total), 2 or 3 (per day) or 4 (unlimited), or leave it out.')
}

async function* pagesFrom(
  first: PackageListAnswer,
  pageAt: (cursor: string) => Promise<PackageListAnswer>,
  shape: (item: PackageOnSale) => object[],
): AsyncGenerator<object[], void> {
  for (let page = first; ; page = await pageAt(page.nextCursor)) {
    yield page.packageList.flatMap((item) => shape(item as PackageOnSale)) // off sale: listed only as a change in the feed
    if (page.nextCursor == null) return
  }
}

const SMS_LENGTH_MAX = 500

/**
 * Sends an SMS. The request has no transactionId, so a repeat is a second SMS. Faults of the request are answered first.
 * @throws RtFailure 000001, 000105, 200002, 200008, 900001; ApiError 000107, 310403
 */
async function sendOneSms(deps: Deps, { tenant, request }: RtCall): Promise<object> {
  const [esimTranNo, iccid] = [textOf(request, 'esimTranNo'), textOf(request, 'iccid')]
  const { message } = request
  if (esimTranNo === undefined && iccid === undefined) throw new RtFailure('000105', 'Send esimTranNo or iccid.')
  if (message === undefined) throw new RtFailure('000105', 'Send message, the text of the SMS.')
  if (typeof message !== 'string') throw new RtFailure('200008', 'message: send a string.')
  if (message.length > SMS_LENGTH_MAX) {
    const details = [{ field: 'message', reason: `Use at most ${SMS_LENGTH_MAX} characters.` }]
    throw new ApiError('000107', { details })
  }
  const outcome = await sendSms(deps, tenant.tenantId, { esimTranNo, iccid }, message)
  if (outcome === 'done') return {}
  const { code, text } = SMS_FAILURES[outcome]
  throw new RtFailure(code, text)
}

/** Programs repeat a request on 900001 only. */
const SMS_FAILURES = {
  impossible: {
    code: '200002',
    text: 'Nothing was sent: the supplier of this eSIM cannot send SMS, or the eSIM has ended. Contact the traveller in another way.',
  },
  refused: { code: '200002', text: 'Nothing was sent: the supplier of this eSIM refused the SMS.' },
  busy: { code: '900001', text: 'Nothing was sent: the supplier is busy. Repeat the request with a new RT-RequestID.' },
  unknown: {
    code: '000001',
    text: 'The supplier did not say whether the SMS was sent. Do not repeat the request unless the traveller may get it twice.',
  },
} as const

/**
 * `webhook/set` of the dealer API with one difference: a program that saves a URL here expects events in the format of the
 * family, so this operation sets that format.
 * @throws RtFailure 000105; ApiError 000108, 400101, 400102, 101007
 */
async function saveWebhook(deps: Deps, { tenant, request, headers, address }: RtCall): Promise<object> {
  const { webhook } = request
  if (webhook === undefined) throw new RtFailure('000105', 'Send webhook, an https address.')
  const checked = checkRequest('webhook/set', { callbackUrl: webhook })
  const { tenantId } = tenant
  const accepted = { tenantId, requestId: headers.requestId, timestampMs: Number(headers.timestamp) }
  const change = { ...checked, enabled: true, eventFormat: 'RT' } as const
  await setWebhook(deps, tenantId, change, { actor: 'tenant', address }, { accepted })
  return {}
}

/** Returns the tenant's URL; "" if none is set. */
async function queryWebhook(deps: Deps, { tenant }: RtCall): Promise<object> {
  const endpoint = await findEndpoint(deps.db, deps.cipher, tenant.tenantId)
  return { webhook: endpoint?.callbackUrl ?? '' }
}
