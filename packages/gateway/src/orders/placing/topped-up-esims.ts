import { ESIM_STATUSES, stripIccidPadding } from '@dealer-esim/contract'
import { isUuid } from '@dealer-esim/lib/ids.ts'
import { type Columns, plainArray, textArray, unnest, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { EsimToTopUp, Offer, Snapshot } from '#catalogue/catalogue.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { openActionOn, openTopUpsOf } from '../esim-action.ts'
import type { PlacedOrder } from './decide-order.ts'
import type { OrderInput, ToppedUpEsim, TopUpInput } from './order-input.ts'
import { allowsTopUp, topUpVolume, VOLUME_MAX } from './top-up-offer.ts'

/*
 * Top-ups on cached wallets are decided without reading their eSIMs: each eSIM is assumed to exist, to take the package,
 * and to have no action in progress. The statement that writes the batch checks these assumptions, and writes nothing if
 * one is wrong. Then the eSIMs are read under the wallets' locks, and the top-ups are decided on the result.
 * Reading the eSIMs first, while an earlier batch was written, cost 12 to 15 µs of the gateway's time per top-up.
 */

/** The assumptions of a top-up about its eSIM. */
export interface ExpectedEsim {
  tenantId: string
  profileId: string
  /** null: the request has no ICCID. */
  iccid: string | null
  /** The package being added. */
  packageCode: string
  /** The eSIM must have been bought as one of these products. */
  fitting: readonly EsimToTopUp[]
  /** Bytes that the batch adds to it, including this top-up. */
  addedVolume: bigint
}

export interface AssumedEsims {
  byInput: ReadonlyMap<OrderInput, ToppedUpEsim>
  /** The eSIMs that take a package, by packageCode. */
  fitting: ReadonlyMap<string, readonly EsimToTopUp[]>
}

interface OfferContext {
  catalogue: Snapshot
  suppliers: Pick<Suppliers, 'get'>
  available(offer: Pick<Offer, 'routes'>): number | undefined
}

/** The statement compares each eSIM with all products that take its package. No catalogue has a product family this large. */
const FITTING_MAX = 500

/**
 * Makes assumed eSIMs for deciding the top-ups of a batch: each fits its package, and the decision is the same for every
 * eSIM that fits.
 * @returns undefined if an eSIM has to be read, because its id is unknown or its top-up will be refused
 */
export function assumeEsims(topUps: readonly TopUpInput[], context: OfferContext): AssumedEsims | undefined {
  const byInput = new Map<OrderInput, ToppedUpEsim>()
  const fitting = new Map<string, readonly EsimToTopUp[]>()
  let fittingCount = 0
  for (const input of topUps) {
    const { packageCode } = input.request
    const esims = fitting.get(packageCode) ?? listFitting(packageCode, context)
    if (!fitting.has(packageCode)) fittingCount += esims.length
    fitting.set(packageCode, esims)
    const profileId = profileIdOf(input)
    if (profileId === undefined || esims.length === 0 || fittingCount > FITTING_MAX) return undefined
    byInput.set(input, assumedEsim(profileId, iccidOf(input), esims[0]!))
  }
  return { byInput, fitting }
}

/**
 * Lists the eSIMs that take a package, from suppliers that offer top-ups and, as far as this node knows, are not sold out.
 */
function listFitting(packageCode: string, { catalogue, suppliers, available }: OfferContext): readonly EsimToTopUp[] {
  const routes = (catalogue.find(packageCode)?.routes ?? []).filter((route) => {
    const known = suppliers.get(route.supplier)?.supplier
    return (known === undefined || known.topUp !== undefined) && available({ routes: [route] }) !== 0
  })
  const names = new Set(routes.map(({ supplier }) => supplier))
  return catalogue.toppedUpBy(packageCode).filter(({ supplier }) => names.has(supplier))
}

function profileIdOf({ request: { esimTranNo }, named }: TopUpInput): string | undefined {
  if (esimTranNo === undefined) return named?.profileId
  return isUuid(esimTranNo) ? esimTranNo.toLowerCase() : undefined
}

function iccidOf({ request: { iccid } }: TopUpInput): string | null {
  return iccid === undefined ? null : stripIccidPadding(iccid)
}

function assumedEsim(profileId: string, iccid: string | null, { packageCode, supplier }: EsimToTopUp): ToppedUpEsim {
  return {
    ...{ profileId, iccid, packageCode, supplier },
    ...{ esimStatus: 'GOT_RESOURCE', smdpStatus: null, suspended: false },
    ...{ totalVolume: 0n, openActionId: null, openLines: null },
  }
}

/** Lists what each top-up decided on an assumed eSIM expects of that eSIM. */
export function expectedEsims(
  placed: readonly PlacedOrder[],
  { fitting }: AssumedEsims,
  catalogue: Snapshot,
): ExpectedEsim[] {
  const added = new Map<string, bigint>()
  const expected: ExpectedEsim[] = []
  for (const { tenantId, toppedUpProfileId: profileId, toppedUpIccid: iccid, packageLines } of placed) {
    if (profileId === null) continue
    const line = packageLines[0]!
    const addedVolume = (added.get(profileId) ?? 0n) + topUpVolume(catalogue, line)
    added.set(profileId, addedVolume)
    const { packageCode } = line
    expected.push({ tenantId, profileId, iccid, packageCode, fitting: fitting.get(packageCode)!, addedVolume })
  }
  return expected
}

const EXPECTED: Columns = {
  tenant_id: 'uuid',
  profile_id: 'uuid',
  iccid: 'text',
  added_volume: 'bigint',
  package_no: 'integer',
}

const FITTING: Columns = { package_no: 'integer', supplier: 'text', package_code: 'text' }

/** The values for the parameters of `areAsExpected`. */
export function expectedValues(esims: readonly ExpectedEsim[]): unknown[] {
  const numbers = new Map<string, number>()
  const fitting: (EsimToTopUp & { packageNo: number })[] = []
  for (const esim of esims) {
    if (numbers.has(esim.packageCode)) continue
    const packageNo = numbers.size
    numbers.set(esim.packageCode, packageNo)
    for (const each of esim.fitting) fitting.push({ ...each, packageNo })
  }
  return [
    uuidArray(esims.map((esim) => esim.tenantId)),
    uuidArray(esims.map((esim) => esim.profileId)),
    textArray(esims.map((esim) => esim.iccid)),
    plainArray(esims.map((esim) => esim.addedVolume)),
    plainArray(esims.map((esim) => numbers.get(esim.packageCode)!)),
    plainArray(fitting.map(({ packageNo }) => packageNo)),
    textArray(fitting.map(({ supplier }) => supplier)),
    textArray(fitting.map(({ packageCode }) => packageCode)),
  ]
}

/** The statuses that allow a top-up with every supplier. */
const STATUSES = ESIM_STATUSES.filter((esimStatus) => allowsTopUp({ esimStatus, smdpStatus: null }, undefined))

/**
 * SQL condition: all eSIMs are as expected in the statement's snapshot. The snapshot may be older than the wallets' locks,
 * but an action, a top-up or a cancel that commits in between changes the wallet's row hash. A report or an expiry does
 * not: the supplier then decides, as it does for an eSIM that was read.
 * The limits make the planner look up each eSIM by index, whatever the statistics say.
 * @param first the number of the condition's first parameter
 */
export function areAsExpected(first: number): string {
  return `(
    select count(*) from ${unnest(first, EXPECTED, 'expected')}
    cross join lateral (
      select supplier, order_id, item_no from profiles p
      where p.tenant_id = expected.tenant_id and p.profile_id = expected.profile_id
        and p.iccid = coalesce(expected.iccid, p.iccid)
        and p.esim_status in (${STATUSES.map((status) => `'${status}'`).join(', ')})
        and p.smdp_status is distinct from 'DELETED'
        and coalesce(p.total_volume, 0) <= ${VOLUME_MAX} - expected.added_volume
      limit 1
    ) p
    cross join lateral (
      select package_code from order_items i
      where i.tenant_id = expected.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no limit 1
    ) i
    cross join lateral (
      select from ${unnest(first + Object.keys(EXPECTED).length, FITTING, 'fitting')}
      where fitting.package_no = expected.package_no and fitting.supplier = p.supplier
        and fitting.package_code = i.package_code
      limit 1
    ) fitting
    where (select true from ${openActionOn('expected.tenant_id', 'expected.profile_id')} limit 1) is null
      and (select true from ${openTopUpsOf('expected.tenant_id', 'expected.profile_id')} limit 1) is null
  ) = cardinality($${first}::uuid[])`
}

/**
 * Reads the eSIMs that top-ups identify, each within its tenant. If several have the ICCID, the newest is taken; if a
 * top-up gives both id and ICCID, both must match. One statement for those identified by id and one for the others, without
 * a lock.
 * An action or another top-up that begins afterwards locks the wallet and changes its row, and so does a supplier's cancel,
 * because it is refunded. So the result stays valid for a caller that has locked the wallets in an earlier statement. A
 * report or an expiry changes the eSIM under the lock of its order only: the caller does not rule that out, and the
 * supplier decides.
 */
export async function readToppedUpEsims(
  db: Pick<Db, 'query'>,
  inputs: readonly OrderInput[],
): Promise<Map<OrderInput, ToppedUpEsim>> {
  const byId: TopUpInput[] = []
  const byIccid: TopUpInput[] = []
  for (const input of inputs) {
    if (input.orderType !== 'TOPUP') continue
    const { esimTranNo } = input.request
    if (esimTranNo === undefined) byIccid.push(input)
    else if (isUuid(esimTranNo)) byId.push(input)
  }
  const esims = new Map<OrderInput, ToppedUpEsim>()
  const read = async (named: readonly TopUpInput[], text: string, name: string, values: Buffer[]) => {
    const rows = await db.query<ToppedUpEsim & { place: number }>({ name, text, values })
    for (const row of rows) esims.set(named[row.place - 1]!, row)
  }
  await Promise.all([
    byId.length > 0 && read(byId, BY_ID, 'orders-esims-by-id', valuesOf(byId, idsOf(byId))),
    byIccid.length > 0 && read(byIccid, BY_ICCID, 'orders-esims-by-iccid', valuesOf(byIccid)),
  ])
  return esims
}

function valuesOf(inputs: readonly TopUpInput[], ...more: Buffer[]): Buffer[] {
  const tenantIds = uuidArray(inputs.map(({ tenant }) => tenant.tenantId))
  const iccids = inputs.map(({ request: { iccid } }) => (iccid === undefined ? null : stripIccidPadding(iccid)))
  return [tenantIds, textArray(iccids), ...more]
}

function idsOf(inputs: readonly TopUpInput[]): Buffer {
  return uuidArray(inputs.map(({ request }) => request.esimTranNo!))
}

// The limits make the planner use an index look-up for each top-up, whatever the statistics say.
const readEsims = (named: string, profile: string) => `
select place::int, p.profile_id, p.iccid, i.package_code, p.supplier, p.esim_status, p.smdp_status, p.suspended,
  p.total_volume,
  (select a.action_id from ${openActionOn('named.tenant_id', 'p.profile_id')} limit 1) as open_action_id,
  (select jsonb_agg(o.package_lines -> 0) from ${openTopUpsOf('named.tenant_id', 'p.profile_id')}) as open_lines
from ${named}
cross join lateral (
  select * from profiles p where p.tenant_id = named.tenant_id and ${profile} limit 1
) p
cross join lateral (
  select package_code from order_items
  where tenant_id = named.tenant_id and order_id = p.order_id and item_no = p.item_no limit 1
) i`

const BY_ID = readEsims(
  'unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality as named(tenant_id, iccid, profile_id, place)',
  'p.profile_id = named.profile_id and p.iccid = coalesce(named.iccid, p.iccid)',
)
const BY_ICCID = readEsims(
  'unnest($1::uuid[], $2::text[]) with ordinality as named(tenant_id, iccid, place)',
  'p.iccid = named.iccid order by p.profile_id desc',
)
