import { type EsimAction, orderNoOf } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { IS_OPEN, IS_OPERATORS } from '#orders/esim-action.ts'
import { isInRecovery } from '#platform/held-tenants.ts'
import { type HeldBatch, listHeldBatches } from '#stock/held-codes.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { listNotCompared } from './recovery-loop.ts'
import { findRecovery, type Recovery } from './recovery-state.ts'
import { listRestoredDebits, type RestoredDebit } from './restored-debits.ts'
import { listRestoredTransactions, type RestoredTransaction } from './restored-transactions.ts'
import { FOUND_IN_RECOVERY } from './settle-doubts.ts'

/** What is ours, what suppliers have beyond it, and what is in doubt. */
export interface RecoveryReport {
  /** null: the gateway is not in recovery. */
  recovery: Recovery | null
  suppliers: RecoverySupplier[]
  /** Ours: orders that were open when the backup was made, and are still under review, with all suppliers that may have sold them. */
  openOrders: { tenantId: string; orderNo: string; suppliers: string[] }[]
  /** Ours: actions on eSIMs that were open when the backup was made, and that nobody has ended. */
  openActions: HeldAction[]
  /** Theirs: eSIMs that suppliers list, and that belong to no order of the database. */
  theirs: { supplier: string; key: string; iccid: string; foundAt: Date; evidence: string | null }[]
  /** In doubt. */
  transactions: RestoredTransaction[]
  batches: HeldBatch[]
  /** Ours: what dealers owe for orders that were sold before the restore. */
  debits: RestoredDebit[]
  dealers: RecoveryDealer[]
  /** Doubts with which dealers were released, newest first. They stay here after the recovery. */
  accepted: AcceptedDoubts[]
}

export interface AcceptedDoubts {
  /** null: all dealers, which ended the recovery. */
  tenantIds: string[] | null
  acceptedAt: Date
  because: string
  doubts: string[]
}

export interface HeldAction {
  tenantId: string
  profileId: string
  actionNo: string
  action: EsimAction
  iccid: string
  supplier: string
}

export interface RecoverySupplier {
  supplier: string
  type: string
  /** COMPARED: `theirs` has all that it sold. NO_LIST, RANGE: what it sold since the backup is in doubt. */
  state: 'COMPARED' | 'NOT_COMPARED' | 'NO_LIST' | 'STOCK' | 'RANGE'
  /** Entries of its list that the latest comparison could not read: each may be a sale. */
  unreadable: number
  /** How an operator settled what it sold since the backup; null: not settled. */
  evidence: string | null
}

export interface RecoveryDealer {
  tenantId: string
  clientName: string
  released: boolean
  /** Its list of orders was read, after each restore whose recovery has not ended. */
  listed: boolean
}

export interface ReportDeps {
  db: Db
  suppliers: Suppliers
}

export async function getRecoveryReport({ db, suppliers }: ReportDeps): Promise<RecoveryReport> {
  const recovery = await findRecovery(db)
  const batches = await listHeldBatches(db)
  const transactions = await listRestoredTransactions(db)
  const debits = await listRestoredDebits(db)
  const openActions = await listHeldActions(db)
  const accepted = await listAcceptedDoubts(db)
  if (recovery === undefined) {
    return {
      recovery: null,
      suppliers: [],
      openOrders: [],
      openActions,
      theirs: [],
      // What was decided needs nothing any more.
      transactions: transactions.filter(({ state }) => state === 'IN_DOUBT'),
      batches,
      debits,
      dealers: [],
      accepted,
    }
  }
  return {
    recovery,
    openActions,
    suppliers: await listSuppliers({ db, suppliers }),
    openOrders: await listOpenOrders(db, recovery),
    theirs: await listTheirs(db),
    transactions,
    batches,
    debits,
    dealers: await listDealers(db),
    accepted,
  }
}

async function listSuppliers(deps: ReportDeps): Promise<RecoverySupplier[]> {
  const notCompared = new Set(await listNotCompared(deps))
  const ranges = await deps.db.query<{ supplier: string }>({ text: 'select distinct supplier from es2plus_ranges' })
  const checks = await deps.db.query<{ supplier: string; unreadable: number }>(sql`
    select supplier, unreadable from supplier_list_checks where unreadable > 0`)
  const settled = await deps.db.query<{ supplier: string; evidence: string }>(sql`
    select s.supplier, max(s.evidence) as evidence from settled_suppliers s join restores r using (restore_id)
    where r.recovering group by s.supplier having count(*) = (select count(*) from restores where recovering)`)
  const evidenceOf = ({ name }: Supplier) => settled.find(({ supplier }) => supplier === name)?.evidence ?? null
  const unreadableOf = ({ name }: Supplier) => checks.find(({ supplier }) => supplier === name)?.unreadable ?? 0
  const stateOf = ({ name, type, list }: Supplier): RecoverySupplier['state'] => {
    if (type === 'stock') return 'STOCK'
    if (ranges.some(({ supplier }) => supplier === name)) return 'RANGE'
    if (list === undefined) return 'NO_LIST'
    return notCompared.has(name) ? 'NOT_COMPARED' : 'COMPARED'
  }
  return deps.suppliers.all().map(({ supplier }) => {
    const { name, type } = supplier
    return {
      supplier: name,
      type,
      state: stateOf(supplier),
      unreadable: unreadableOf(supplier),
      evidence: evidenceOf(supplier),
    }
  })
}

async function listOpenOrders(db: Db, { restoredAt }: Recovery): Promise<RecoveryReport['openOrders']> {
  const rows = await db.query<{ tenantId: string; orderId: string; suppliers: string[] }>(sql`
    select o.tenant_id, o.order_id, array_remove(array_agg(distinct s.supplier), null) as suppliers
    from orders o join order_items i using (tenant_id, order_id)
    cross join lateral (
      select i.supplier
      union select p.supplier from package_suppliers p where p.package_code = i.package_code and o.order_type = 'NEW') s
    where o.order_status in ('PAID', 'ALLOCATING', 'UNDER_REVIEW') and o.created_at <= ${restoredAt}
      and i.item_status in ('WAITING', 'ASKED', 'UNKNOWN', 'REVIEW')
    group by o.tenant_id, o.order_id order by o.tenant_id, o.order_id`)
  return rows.map(({ tenantId, orderId, suppliers }) => ({ tenantId, orderNo: orderNoOf(orderId), suppliers }))
}

/** Actions that no loop runs: an operator ends them. */
async function listHeldActions(db: Db): Promise<HeldAction[]> {
  const rows = await db.query<Omit<HeldAction, 'actionNo'> & { actionId: string }>({
    text: `select a.tenant_id, a.profile_id, a.action_id, a.action, p.iccid, a.supplier
           from esim_actions a join profiles p using (tenant_id, profile_id)
           where ${IS_OPEN} and ${IS_OPERATORS} order by a.tenant_id, a.action_id`,
  })
  return rows.map(({ actionId, ...row }) => ({ ...row, actionNo: orderNoOf(actionId) }))
}

/** What was found after an earlier restore, whose recovery has not ended either, is not settled by the next restore. */
function listTheirs(db: Db): Promise<RecoveryReport['theirs']> {
  return db.query<RecoveryReport['theirs'][number]>({
    text: `select supplier, key, iccid, found_at, case when settled_at is not null then evidence end as evidence
           from unclaimed_esims where ${FOUND_IN_RECOVERY} order by supplier, key, iccid`,
  })
}

const ACCEPTED_MAX = 100

function listAcceptedDoubts(db: Db): Promise<AcceptedDoubts[]> {
  return db.query<AcceptedDoubts>(sql`
    select null::uuid[] as tenant_ids, ended_at as accepted_at, ended_because as because, accepted_doubts as doubts
    from restores where accepted_doubts is not null
    union all
    select array_agg(distinct tenant_id), released_at, released_because, accepted_doubts
    from recovered_tenants where accepted_doubts is not null group by 2, 3, 4
    order by accepted_at desc limit ${ACCEPTED_MAX}`)
}

function listDealers(db: Db): Promise<RecoveryDealer[]> {
  return db.query<RecoveryDealer>({
    text: `select t.tenant_id, t.tenant_name as client_name, not ${isInRecovery('t.tenant_id')} as released,
             not exists (select from restores r where r.recovering and not exists (
               select from restored_lists l where l.tenant_id = t.tenant_id and l.restore_id = r.restore_id)) as listed
           from tenants t order by t.tenant_name, t.tenant_id`,
  })
}
