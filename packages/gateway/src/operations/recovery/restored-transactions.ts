import { formatMoney, orderNoOf } from '@dealer-esim/contract'
import { type Ids, isUuid } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal, shortList } from '@dealer-esim/lib/refusal.ts'
import type { TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import type { Source } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { parseEvidence } from '#orders/justification.ts'
import { audit, auditAll, type By } from '#platform/audit/audit.ts'
import { lockTenantWallet, touchWallet } from '#wallet/ledger/lock-wallets.ts'
import { type DealerOrder, readOrders, storedIdOf } from './dealer-list-file.ts'
import { getRecovery } from './recovery-state.ts'

/** A transactionId that may have been used after the backup. */
export interface RestoredTransaction {
  tenantId: string
  transactionId: string
  state: 'IN_DOUBT' | 'SOLD' | 'NOT_SOLD'
  repeated: boolean
  listed: boolean
  /** By the dealer's list. */
  orderNo: string | null
  amount: bigint | null
  currencyCode: string
  proof: string | null
  seenAt: Date
}

/** What a dealer's list says, compared with the database and with what suppliers have listed. */
export interface ListMatch {
  row: number
  /** As in the list. */
  transactionId: string
  /** Empty: the list has none. */
  orderNo: string
  amount: bigint
  match: 'OURS' | 'SUPPLIER_HAS_IT' | 'DEALER_ALONE' | 'CONTRADICTION'
  detail: string | null
}

/**
 * Matches a dealer's list of its orders, a table `transactionId,orderNo,amount`. An order that the database lacks is in doubt
 * on the dealer's word alone, and sold if a supplier lists its eSIMs. Neither can be bought again, nor a transactionId that
 * the list has for an order of another one.
 * @throws Refusal for a file with a fault, or with an order of another dealer; nothing is then kept
 */
export async function matchDealerList(
  deps: { db: Db; ids: Ids },
  { tenantId, file, answers }: { tenantId: string; file: Source; answers: TableAnswers },
  by: By,
): Promise<ListMatch[]> {
  const orders = await readOrders(file, answers)
  return deps.db.tx(async (tx) => {
    await getRecovery(tx)
    await requireTenant(tx, tenantId)
    // The second of two lists with the same order waits for the first.
    await tx.query({ text: 'select from restores where recovering for no key update' })
    await refuseClaimed(tx, tenantId, orders)
    touchWallet(tx, await lockTenantWallet(tx, tenantId)) // an order decided on a cached wallet must not overlook the list
    const matches = await matchOrders(tx, tenantId, orders)
    const unknown = matches.filter(({ match }) => match !== 'OURS')
    tx.send({
      text: KEEP_LISTED,
      values: [
        tenantId,
        unknown.map(({ transactionId }) => storedIdOf(transactionId)),
        unknown.map(({ orderNo }) => orderNo),
        unknown.map(({ amount }) => amount),
        unknown.map(({ match, detail }) => (match === 'SUPPLIER_HAS_IT' ? detail : null)),
      ],
    })
    tx.send({
      text: `insert into restored_lists (tenant_id, restore_id, rows) select $1, restore_id, $2 from restores where recovering
             on conflict (tenant_id, restore_id) do update set rows = excluded.rows, read_at = now()`,
      values: [tenantId, orders.length],
    })
    const after = { rows: orders.length, unknown: unknown.length }
    audit(tx, deps.ids, { tenantId, ...by, action: 'recovery.list', after })
    return matches
  })
}

/**
 * @throws Refusal if an order of the list is another dealer's, by the database or by that dealer's own list. A claim ends when
 * its transactionId is decided as not sold, e.g. because the list was matched for the wrong dealer
 */
async function refuseClaimed(tx: Tx, tenantId: string, orders: readonly DealerOrder[]): Promise<void> {
  const orderIds = orders.flatMap(({ orderId }) => (orderId === undefined ? [] : [orderId]))
  const owned = await tx.query<{ orderId: string; clientName: string; transactionId: string }>({
    text: `select o.order_id, t.tenant_name as client_name, o.transaction_id
           from tenants t join orders o on o.tenant_id = t.tenant_id
           where t.tenant_id <> $1 and o.order_id = any ($2::uuid[])`,
    values: [tenantId, orderIds],
  })
  const claimed = await tx.query<{ orderNo: string; tenantId: string; clientName: string; transactionId: string }>({
    text: `select r.order_no, t.tenant_id, t.tenant_name as client_name, r.transaction_id
           from restored_transactions r join tenants t using (tenant_id)
           where r.tenant_id <> $1 and r.order_no = any ($2::text[]) and r.state <> 'NOT_SOLD'`,
    values: [tenantId, orders.flatMap(({ orderNo }) => (orderNo === '' ? [] : [orderNo]))],
  })
  const faults = orders.flatMap(({ row, orderNo, orderId }) => {
    const owner = owned.find((one) => one.orderId === orderId)
    if (owner) return [`row ${row}: ${orderNo} is an order of ${owner.clientName} (${owner.transactionId}).`]
    const claim = claimed.find((one) => one.orderNo === orderNo)
    if (claim === undefined) return []
    const undo = `recovery decide ${claim.tenantId} ${claim.transactionId} --not-sold`
    return [
      `row ${row}: ${orderNo} is already claimed by ${claim.clientName} (${claim.transactionId}). If that was a mistake: ${undo}`,
    ]
  })
  if (faults.length === 0) return
  const message = `${shortList(faults, NAMED_MAX, '\n')}\nNothing was kept. Check that this is the list of this dealer.`
  throw new Refusal(409, 'CLAIMED', message)
}

const NAMED_MAX = 5

async function requireTenant(tx: Tx, tenantId: string): Promise<void> {
  if (!isUuid(tenantId)) throw notFound('tenant', tenantId)
  const known = await tx.query({ text: 'select from tenants where tenant_id = $1', values: [tenantId] })
  if (known.length > 0) return
  const message = `There is no tenant ${tenantId}. If it was created after the backup, create it again (tenant create), and match its list under the new id.`
  throw new Refusal(404, 'NOT_FOUND', message)
}

/** A supplier's proof replaces each decision; a dealer's word replaces the one that nothing was sold. */
const REPLACES = `excluded.state = 'SOLD' or t.state <> 'SOLD'`

const KEEP_LISTED = `
  insert into restored_transactions as t (tenant_id, transaction_id, listed, order_no, amount, state, proof, decided_at)
  select $1, transaction_id, true, nullif(order_no, ''), amount, case when proof is null then 'IN_DOUBT' else 'SOLD' end, proof,
    case when proof is not null then now() end
  from unnest($2::text[], $3::text[], $4::bigint[], $5::text[]) as l (transaction_id, order_no, amount, proof)
  where not exists (select from orders o where o.tenant_id = $1 and o.transaction_id = l.transaction_id)
  on conflict (tenant_id, transaction_id) do update
  set listed = true, order_no = coalesce(excluded.order_no, t.order_no), amount = excluded.amount,
    state = case when ${REPLACES} then excluded.state else t.state end,
    proof = case when ${REPLACES} then excluded.proof else t.proof end,
    decided_at = case when ${REPLACES} then excluded.decided_at else t.decided_at end`

async function matchOrders(tx: Tx, tenantId: string, orders: readonly DealerOrder[]): Promise<ListMatch[]> {
  const ours = await tx.query<{ transactionId: string; orderId: string; amount: bigint }>({
    text: `select transaction_id, order_id, amount from orders where tenant_id = $1
           and (transaction_id = any ($2::text[]) or order_id = any ($3::uuid[]))`,
    values: [
      tenantId,
      orders.map((order) => order.storedId),
      orders.flatMap(({ orderId }) => (orderId === undefined ? [] : [orderId])),
    ],
  })
  const theirs = await tx.query<{ orderNo: string; supplier: string; iccids: string }>({
    text: `select split_part(key, '-', 1) as order_no, supplier, string_agg(iccid, ', ' order by key) as iccids
           from unclaimed_esims where split_part(key, '-', 1) = any ($1::text[]) group by 1, 2`,
    values: [orders.map((order) => order.orderNo)],
  })
  return orders.map((order): ListMatch => {
    const { row, transactionId, storedId, orderNo, orderId, amount } = order
    const own = ours.filter((one) => one.transactionId === storedId || one.orderId === orderId)
    const sold = orderId === undefined ? [] : theirs.filter((one) => one.orderNo === orderNo)
    const answer = (match: ListMatch['match'], detail: string | null) => ({
      row,
      transactionId,
      orderNo,
      amount,
      match,
      detail,
    })
    const [first] = own
    if (first === undefined) {
      if (sold.length === 0) return answer('DEALER_ALONE', null)
      return answer('SUPPLIER_HAS_IT', sold.map(({ supplier, iccids }) => `${supplier} has sold ${iccids}`).join('; '))
    }
    const isSame = own.length === 1 && first.transactionId === storedId
    const hasNumber = orderId === undefined || first.orderId === orderId
    if (isSame && hasNumber && first.amount === amount) return answer('OURS', null)
    const has = `${first.transactionId}, ${orderNoOf(first.orderId)}, ${formatMoney(first.amount)}`
    return answer('CONTRADICTION', `the database has ${has}`)
  })
}

/** Which of a dealer's transactionIds are decided. */
export type WhichTransactions = readonly string[] | 'ALL_IN_DOUBT'

/**
 * Records whether transactionIds were sold before the restore: if so, they are refused permanently with 200012; otherwise
 * the dealer may use them.
 * @returns the transactionIds, as they are stored
 * @throws Refusal if there is no such tenant, or a transactionId is not among those that recovery has seen; nothing is then
 * changed
 */
export async function decideTransactions(
  deps: { db: Db; ids: Ids },
  decision: { tenantId: string; which: WhichTransactions; state: 'SOLD' | 'NOT_SOLD'; evidence: string },
  by: By,
): Promise<string[]> {
  const { tenantId, which, state } = decision
  const proof = parseEvidence(decision.evidence)
  return deps.db.tx(async (tx) => {
    touchWallet(tx, await lockTenantWallet(tx, tenantId)) // before the rows, as orders do
    const isAll = which === 'ALL_IN_DOUBT'
    const named = isAll ? [] : [...new Set(which.map(storedIdOf))]
    const before = await tx.query<{ transactionId: string; state: string }>({
      text: `select transaction_id, state from restored_transactions
             where tenant_id = $1 and case when $2 then state = 'IN_DOUBT' else transaction_id = any ($3::text[]) end
             order by transaction_id for update`,
      values: [tenantId, isAll, named],
    })
    const known = before.map(({ transactionId }) => transactionId)
    const unknown = isAll ? undefined : which.find((one) => !known.includes(storedIdOf(one)))
    if (unknown !== undefined) throw notFound('transactionId', unknown)
    tx.send({
      text: `update restored_transactions set state = $3, proof = $4, decided_at = now()
             where tenant_id = $1 and transaction_id = any ($2::text[])`,
      values: [tenantId, known, state, proof],
    })
    const after = { state, evidence: proof }
    const entries = before.map((row) => ({ subject: row.transactionId, before: { state: row.state }, after }))
    auditAll(
      tx,
      deps.ids,
      entries.map((entry) => ({ tenantId, ...by, action: 'recovery.decide', ...entry })),
    )
    return known
  })
}

/** The transactionIds that are still in doubt, and those that were decided. */
export function listRestoredTransactions(db: Pick<Db, 'query'>): Promise<RestoredTransaction[]> {
  return db.query<RestoredTransaction>({
    text: `select r.tenant_id, transaction_id, state, repeated, listed, order_no, amount, currency_code, proof, seen_at
           from restored_transactions r join tenants t on t.tenant_id = r.tenant_id
           order by r.tenant_id, transaction_id`,
  })
}
