import type { Clock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import { LOWEST_UUID } from '../lib/ids.ts'
import { type Loop, runLoop } from '../lib/lifecycle.ts'
import type { Log } from '../lib/log.ts'
import type { LoopWatch } from '../lib/loop-watch.ts'
import { itemKeyOf } from '../orders/item-key.ts'
import type { Suppliers } from '../suppliers/registry.ts'
import type { SuppliedEsim } from '../suppliers/supplier.ts'
import { openSecrets } from './read.ts'
import { applyReports, type ProfileDeps } from './report.ts'

export interface LifeDeps extends ProfileDeps {
  cipher: Pick<Cipher, 'decrypt'>
  clock: Clock
  log: Log
  loops?: LoopWatch
  suppliers: Suppliers
}

const POLL_MS = 60_000
/** Profiles of one transaction. */
const BATCH = 200
/** An eSIM that lives is asked about this often, where its supplier can tell. */
const ASK_EVERY_S = 900

/** Lets profiles expire, and asks suppliers that report status and usage. Tenant by tenant. */
export function profilesLoop(deps: LifeDeps): Loop {
  return runLoop({
    name: 'profiles',
    log: deps.log,
    loops: deps.loops,
    poll_ms: POLL_MS,
    async pass(signal) {
      let after = LOWEST_UUID
      while (!signal.aborted) {
        const [next] = await deps.db.query<{ tenant_id: string }>({
          name: 'profiles-next-tenant',
          text: 'select tenant_id from profiles where tenant_id > $1 order by tenant_id limit 1',
          values: [after],
        })
        if (next === undefined) break
        after = next.tenant_id
        while ((await expireProfiles(deps, after)) === BATCH && !signal.aborted);
        await askSuppliers(deps, after)
      }
      return false
    },
  })
}

/** @returns how many had expired. */
export async function expireProfiles(deps: ProfileDeps, tenantId: string): Promise<number> {
  const rows = await deps.db.query<{ order_id: string; profile_id: string }>({
    name: 'profiles-expired',
    text: `select order_id, profile_id from profiles
           where tenant_id = $1 and esim_status in ('GOT_RESOURCE', 'IN_USE')
             and case esim_status when 'GOT_RESOURCE' then install_before else expired_time end <= now()
           order by case esim_status when 'GOT_RESOURCE' then install_before else expired_time end limit $2`,
    values: [tenantId, BATCH],
  })
  const reported = rows.map((row) => ({ orderId: row.order_id, profileId: row.profile_id }))
  await applyReports(deps, tenantId, reported)
  return rows.length
}

interface LivingRow {
  profile_id: string
  order_id: string
  item_no: number
  product_code: string
  iccid: string
  secrets: Buffer
}

/** One batch a pass and supplier: those that were asked about longest ago. */
async function askSuppliers(deps: LifeDeps, tenantId: string): Promise<void> {
  for (const { supplier, paused } of deps.suppliers.all()) {
    if (supplier.report === undefined || paused) continue
    const rows = await deps.db.query<LivingRow>({
      name: 'profiles-living',
      text: `with living as (
          select profile_id from profiles
          where tenant_id = $1 and supplier = $2 and esim_status in ('GOT_RESOURCE', 'IN_USE')
            and asked_at < now() - $4 * interval '1 second'
          order by asked_at limit $3 for no key update skip locked
        ), asked as (
          update profiles p set asked_at = now() from living l where p.tenant_id = $1 and p.profile_id = l.profile_id
          returning p.profile_id, p.order_id, p.item_no, p.iccid, p.secrets
        )
        select a.*, i.product_code from asked a
        join order_items i on i.tenant_id = $1 and i.order_id = a.order_id and i.item_no = a.item_no`,
      values: [tenantId, supplier.name, BATCH, ASK_EVERY_S],
    })
    if (rows.length === 0) continue
    const esims = rows.map(
      (row): SuppliedEsim => ({
        tenantId,
        orderId: row.order_id,
        itemNo: row.item_no,
        key: itemKeyOf(row.order_id, row.item_no),
        productCode: row.product_code,
        iccid: row.iccid,
        matchingId: openSecrets(deps.cipher, tenantId, row.secrets).matchingId,
        shown: true,
      }),
    )
    const reports = await supplier.report(esims).catch((error) => {
      deps.log.warn({ err: error, supplier: supplier.name }, 'it did not report on its eSIMs')
      return []
    })
    const reported = rows.flatMap((row, index) => {
      const report = reports[index]
      return report ? [{ orderId: row.order_id, profileId: row.profile_id, report }] : []
    })
    await applyReports(deps, tenantId, reported)
  }
}
