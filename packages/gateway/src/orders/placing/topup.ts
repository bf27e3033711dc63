import {
  type EsimStatus,
  type FailureCode,
  orderNoOf,
  type SmdpStatus,
  stripIccidPadding,
  type TopupRequest,
} from '@dealer-esim/contract'
import type { Offer, Snapshot } from '../../catalogue/catalogue.ts'
import type { ErrorParts } from '../../lib/api-error.ts'
import { isUuid } from '../../lib/ids.ts'
import { textArray, uuidArray } from '../../lib/postgres/columns.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { allowsTopUp } from '../../profiles/top-up-state.ts'
import type { Suppliers } from '../../suppliers/registry.ts'
import { allowanceOf, type PackageLine } from '../item.ts'
import type { OrderInput } from './input.ts'

/** An eSIM that is to be topped up, as it is under the wallet's lock: no action and no other top-up begins meanwhile. */
export interface ToppedUpEsim {
  profileId: string
  iccid: string
  /** The package that it was bought as. */
  packageCode: string
  supplier: string
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  suspended: boolean
  /** Bytes; null: unlimited. */
  totalVolume: bigint | null
  /** The action that is in the way; null: none. */
  openActionId: string | null
  /** The lines of its open top-ups. */
  openLines: PackageLine[]
}

/** 2^53 - 1: a JSON number must hold the volume exactly. */
const VOLUME_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * Decides which offer a top-up buys: 200002 (state of the eSIM), then 310241 and 310244, then 310245, then 200015. Pure.
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
  if (typeof offer === 'string') return refuse(offer, `${packageCode} cannot be bought now.`)
  const open = esim.openLines.reduce((sum, line) => sum + topUpVolume(catalogue, line), added)
  const volume = open + topUpVolume(catalogue, { packageCode, periodNum: periodNum ?? 1 })
  if (esim.totalVolume !== null && esim.totalVolume + volume > VOLUME_MAX) {
    return refuse('310245', 'With it the eSIM would have a larger volume than the API can represent.')
  }
  // A supplier that this node does not know is known to another one, which carries the order out.
  if (supplier !== undefined && supplier.topUp === undefined)
    return { code: '200015', parts: { data: { action: 'TOPUP' } } }
  return offer
}

/** Bytes that a top-up adds; 0: unlimited, or a package that no longer exists. */
export function topUpVolume(catalogue: Snapshot, line: Pick<PackageLine, 'packageCode' | 'periodNum'>): bigint {
  const item = catalogue.find(line.packageCode)
  return (item && allowanceOf(item, line.periodNum).volume) ?? 0n
}

function stateOf({ esimStatus, smdpStatus, suspended, openActionId }: ToppedUpEsim): ErrorParts {
  const actionNo = openActionId === null ? null : orderNoOf(openActionId)
  return { data: { esimStatus, smdpStatus, suspended, actionNo, orderNo: null } }
}

/**
 * Reads the eSIMs that top-ups name, each within its tenant. Of several with one ICCID it is the newest; if both members
 * are given, both must match. One statement without a lock, and none for a batch without top-ups. Its snapshot must begin
 * after the wallets were locked.
 */
export async function readToppedUpEsims(
  tx: Pick<Tx, 'query'>,
  inputs: readonly OrderInput[],
): Promise<Map<OrderInput, ToppedUpEsim>> {
  const topUps = inputs.flatMap((input) => {
    if (input.orderType !== 'TOPUP') return []
    const { esimTranNo, iccid } = input.request
    if (esimTranNo !== undefined && !isUuid(esimTranNo)) return []
    return [{ input, esimTranNo: esimTranNo ?? null, iccid: iccid === undefined ? null : stripIccidPadding(iccid) }]
  })
  if (topUps.length === 0) return new Map()
  const rows = await tx.query<ToppedUpEsim & { place: bigint }>({
    name: 'orders-topped-up',
    text: READ_ESIMS,
    values: [
      uuidArray(topUps.map(({ input }) => input.tenant.tenantId)),
      textArray(topUps.map(({ esimTranNo }) => esimTranNo)),
      textArray(topUps.map(({ iccid }) => iccid)),
    ],
  })
  return new Map(rows.map(({ place, ...esim }) => [topUps[Number(place) - 1]!.input, esim]))
}

// Index look-ups for each top-up: the limits keep the plan so, whatever the statistics say.
const READ_ESIMS = `
select input.place, p.profile_id, p.iccid, i.package_code, p.supplier, p.esim_status, p.smdp_status, p.suspended,
  p.total_volume,
  (select action_id from esim_actions a
   where a.tenant_id = input.tenant_id and a.profile_id = p.profile_id and action_status in ('PENDING', 'UNDER_REVIEW')
   limit 1) as open_action_id,
  (select coalesce(jsonb_agg(package_lines -> 0), '[]') from orders o
   where o.tenant_id = input.tenant_id and o.topped_up_profile_id = p.profile_id
     and order_status in ('PAID', 'ALLOCATING', 'UNDER_REVIEW')) as open_lines
from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as input(tenant_id, esim_tran_no, iccid, place)
cross join lateral (
  (select * from profiles
   where tenant_id = input.tenant_id and profile_id = input.esim_tran_no::uuid
     and iccid = coalesce(input.iccid, iccid)
   limit 1)
  union all
  (select * from profiles
   where tenant_id = input.tenant_id and iccid = input.iccid and input.esim_tran_no is null
   order by profile_id desc limit 1)
) p
cross join lateral (
  select package_code from order_items
  where tenant_id = input.tenant_id and order_id = p.order_id and item_no = p.item_no limit 1
) i`
