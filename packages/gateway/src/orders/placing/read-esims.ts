import { stripIccidPadding } from '@dealer-esim/contract'
import { isUuid } from '../../lib/ids.ts'
import { textArray, uuidArray } from '../../lib/postgres/columns.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { openActionOn, openTopUpsOf } from '../action.ts'
import type { OrderInput, ToppedUpEsim, TopUpInput } from './input.ts'

/**
 * Reads the eSIMs that top-ups name, each within its tenant. Of several with one ICCID it is the newest; if both members
 * are given, both must match. One statement for those named by id and one for the others, without a lock.
 *
 * An action or another top-up that begins afterwards locks the wallet and changes its row, and so does a supplier's cancel,
 * which is refunded. So the answer holds for a caller that has locked the wallets in an earlier statement. A report or an
 * expiry changes the eSIM under the lock of its order only: the caller does not exclude that, and the supplier decides.
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

// Index look-ups for each top-up: the limits keep the plan so, whatever the statistics say.
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
