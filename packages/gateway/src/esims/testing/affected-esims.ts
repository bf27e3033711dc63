import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { latestReference } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { ForeseenReports, SuppliedEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { type LockedOrder, lockOrders } from '#orders/lock-orders.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import type { NoticeSettings } from '#webhooks/endpoint/endpoint.ts'
import type { ProfileDeps } from '../apply-reports.ts'
import { readLives } from '../life/lives.ts'
import { type SuppliedEsimRow, toSuppliedEsim } from '../profile-secrets.ts'
import type { PassingEsim } from './pass-time.ts'

export type AdvanceDeps = ProfileDeps & { cipher: Pick<Cipher, 'decrypt'>; suppliers: Pick<Suppliers, 'get'> }

/** Orders that one statement locks and reads. */
const LOCKED_MAX = 500

interface AffectedRow extends SuppliedEsimRow {
  profileId: string
  supplier: string
  packageCode: string
}

/**
 * Locks the orders of the eSIMs that time or a sandbox package may change until a moment of test time, and reads what that takes.
 * Locks: the orders, ascending.
 */
export async function lockAffectedEsims(
  tx: Tx,
  deps: AdvanceDeps,
  tenantId: string,
  { to, settings }: { to: Date; settings: NoticeSettings },
): Promise<{ orders: Map<string, LockedOrder>; esims: PassingEsim[] }> {
  const rows = await tx.query<AffectedRow>({ name: 'profiles-until', text: AFFECTED, values: [tenantId, to] })
  const catalogue = await deps.catalogue.latest()
  const orders = new Map<string, LockedOrder>()
  const orderIds = [...new Set(rows.map(({ orderId }) => orderId))].sort()
  for (let first = 0; first < orderIds.length; first += LOCKED_MAX) {
    const locked = await lockOrders(tx, tenantId, orderIds.slice(first, first + LOCKED_MAX))
    for (const [orderId, order] of locked.orders) orders.set(orderId, order)
  }
  const lives = await readLives(
    tx,
    tenantId,
    rows.map(({ profileId }) => profileId),
  )
  const foreseen = await foreseeReports(tx, deps, tenantId, rows, settings)
  const esims = rows.flatMap((row): PassingEsim[] => {
    const { profileId, orderId, packageCode } = row
    const life = lives.get(profileId)
    if (life === undefined || !orders.has(orderId)) return []
    const policy = catalogue.find(packageCode)?.activationPolicy
    return [{ profileId, life, policy, foreseen: foreseen.get(profileId) }]
  })
  return { orders, esims }
}

/** What the sandbox will report on its eSIMs, by profileId. */
async function foreseeReports(
  tx: Tx,
  { suppliers, cipher }: AdvanceDeps,
  tenantId: string,
  rows: readonly AffectedRow[],
  settings: NoticeSettings,
) {
  const foreseen = new Map<string, ForeseenReports | undefined>()
  for (const name of new Set(rows.map(({ supplier }) => supplier))) {
    const testing = suppliers.get(name)?.supplier.testing
    if (testing === undefined) continue
    const own = rows.filter(({ supplier }) => supplier === name)
    const esims = own.map((row): SuppliedEsim => toSuppliedEsim(cipher, tenantId, row, true))
    const ofEsims = await testing.foreseeReports(tx, esims, settings.usageThresholds)
    for (const [index, one] of ofEsims.entries()) foreseen.set(own[index]!.profileId, one)
  }
  return foreseen
}

/** eSIMs whose validity ends or whose notice is due until then, and those on which a supplier is asked to report. */
const AFFECTED = `
  select p.profile_id, p.order_id, p.item_no, p.iccid, p.secrets, p.supplier, i.product_code, i.package_code,
    ${latestReference({ tenantId: '$1', orderId: 'p.order_id', itemNo: 'p.item_no', supplier: 'p.supplier' })} as reference
  from profiles p join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
  where p.tenant_id = $1 and (p.expiry_notice_at <= $2::timestamptz
    or p.esim_status = 'IN_USE' and p.expired_time <= $2
    or p.esim_status = 'GOT_RESOURCE' and p.install_before <= $2
    or p.esim_status in ('GOT_RESOURCE', 'IN_USE') and p.poll_at is not null)
  order by p.profile_id`
