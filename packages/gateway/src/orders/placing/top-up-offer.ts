import { type EsimStatus, type FailureCode, orderNoOf, type SmdpStatus, type TopupRequest } from '@dealer-esim/contract'
import type { ErrorParts } from '@dealer-esim/lib/api-error.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import type { Offer, Snapshot } from '#catalogue/catalogue.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { allowanceOf, type PackageLine } from '../order-item.ts'
import type { OrderInput, ToppedUpEsim } from './order-input.ts'

/** 2^53 - 1: a JSON number must represent the volume exactly. */
export const VOLUME_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * Decides which offer a top-up buys, or refuses: 200002 (state of the eSIM), then 310241 and 310244, then 310245, then
 * 200015. Pure.
 * @param added the volume that earlier top-ups of the same batch add
 */
export function offerTopUp(
  {
    tenant,
    request,
    esim,
    added,
  }: { tenant: OrderInput['tenant']; request: TopupRequest; esim: ToppedUpEsim; added: bigint },
  { catalogue, suppliers }: { catalogue: Snapshot; suppliers: Pick<Suppliers, 'get'> },
): Offer | { code: FailureCode; parts: ErrorParts } {
  const supplier = suppliers.get(esim.supplier)?.supplier
  if (esim.openActionId !== null || !allowsTopUp(esim, supplier?.traits))
    return { code: '200002', parts: stateOf(esim) }
  const { packageCode, periodNum } = request
  const refuse = (code: FailureCode, reason: string) => {
    return { code, parts: { details: [{ field: 'packageCode', reason }] } }
  }
  const offer = catalogue.topUpOffer(tenant, packageCode, esim)
  if (offer === '310245') return refuse(offer, `${packageCode} does not fit this eSIM.`)
  if (typeof offer === 'string') return refuse(offer, `${packageCode} cannot be bought at the moment.`)
  const open = (esim.openLines ?? []).reduce((sum, line) => sum + topUpVolume(catalogue, line), added)
  const volume = open + topUpVolume(catalogue, { packageCode, periodNum: periodNum ?? 1 })
  if (esim.totalVolume !== null && esim.totalVolume + volume > VOLUME_MAX) {
    return refuse('310245', 'This top-up would give the eSIM more volume than the API can represent.')
  }
  // A supplier not loaded on this node is known to another node, which fulfils the order.
  if (supplier !== undefined && supplier.topUp === undefined)
    return { code: '200015', parts: { data: { action: 'TOPUP' } } }
  return offer
}

/** Bytes that a top-up adds; 0 if the package is unlimited or no longer exists. */
export function topUpVolume(catalogue: Snapshot, line: Pick<PackageLine, 'packageCode' | 'periodNum'>): bigint {
  const item = catalogue.find(line.packageCode)
  return (item && allowanceOf(item, line.periodNum).volume) ?? 0n
}

/**
 * Checks whether an eSIM's state allows a top-up, regardless of other work in progress on it. An expired eSIM cannot be
 * topped up if its supplier is not loaded on this node.
 */
export function allowsTopUp(
  { esimStatus, smdpStatus }: { esimStatus: EsimStatus; smdpStatus: SmdpStatus | null },
  traits: Pick<Supplier['traits'], 'topsUpExpired'> | undefined,
): boolean {
  if (smdpStatus === 'DELETED') return false
  switch (esimStatus) {
    case 'GOT_RESOURCE':
    case 'IN_USE':
    case 'USED_UP':
      return true
    case 'USED_EXPIRED':
      return traits?.topsUpExpired === true
    case 'UNUSED_EXPIRED':
    case 'CANCEL':
    case 'REVOKED':
      return false
    default:
      return esimStatus satisfies never
  }
}

function stateOf({ esimStatus, smdpStatus, suspended, openActionId }: ToppedUpEsim): ErrorParts {
  const actionNo = openActionId === null ? null : orderNoOf(openActionId)
  return { data: { esimStatus, smdpStatus, suspended, actionNo, orderNo: null } }
}
