import { DERIVED_ID_PREFIX, formatMoney, MalformedMoney, orderIdOf, orderNoOf, parseMoney } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { openTable, type TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { headerKey } from '@dealer-esim/lib/table-files/table-columns.ts'
import { type Source, UnreadableFile } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { parseEvidence } from '#orders/justification.ts'
import { storedTransactionId } from '#orders/transaction-id.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { lockTenantWallet, touchWallet } from '#wallet/ledger/lock-wallets.ts'
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

interface DealerOrder {
  row: number
  transactionId: string
  storedId: string
  orderNo: string
  orderId: string | undefined
  amount: bigint
}

/**
 * Matches a dealer's list of its orders, a table `transactionId,orderNo,amount`. An order that the database lacks is in doubt
 * on the dealer's word alone, and sold if a supplier lists its eSIMs. Neither can be bought again, nor a transactionId that
 * the list has for an order of another one.
 * @throws Refusal for a file with a fault; nothing is then kept
 */
export async function matchDealerList(
  deps: { db: Db; ids: Ids },
  { tenantId, file, answers }: { tenantId: string; file: Source; answers: TableAnswers },
  by: By,
): Promise<ListMatch[]> {
  const orders = await readOrders(file, answers)
  return deps.db.tx(async (tx) => {
    await getRecovery(tx)
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

const COLUMNS = ['transactionId', 'orderNo', 'amount'] as const
const ROW_LENGTH_MAX = 1_024
const ROWS_MAX = 100_000

async function readOrders(file: Source, answers: TableAnswers): Promise<DealerOrder[]> {
  const byKey = new Map(COLUMNS.map((name) => [headerKey(name), name]))
  const columns = {
    names: COLUMNS,
    find: (key: string) => byKey.get(key),
    check: (found: readonly string[]) =>
      COLUMNS.every((name) => found.includes(name))
        ? undefined
        : 'The header must have transactionId, orderNo and amount.',
  }
  try {
    const table = await openTable(file, { columns, answers, isSecret: false, rowLengthMax: ROW_LENGTH_MAX })
    const orders: DealerOrder[] = []
    const seen = new Set<string>()
    for await (const { row, cells, fault } of table.rows) {
      if (fault) throw new UnreadableFile(row, fault.reason)
      if (orders.length === ROWS_MAX)
        throw new UnreadableFile(row, `The file has more than ${ROWS_MAX} rows: split it.`)
      const cell = (name: (typeof COLUMNS)[number]) => cells[table.columns.indexOf(name)]!.trim()
      const order = orderOf(row, cell('transactionId'), cell('orderNo'), cell('amount'), table.hasDecimalComma)
      if (seen.has(order.storedId)) throw new UnreadableFile(row, `${order.transactionId} is in the file twice.`)
      seen.add(order.storedId)
      orders.push(order)
    }
    return orders
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    throw new Refusal(422, 'LIST_UNREADABLE', `${error.row === 0 ? 'file' : `row ${error.row}`}: ${error.message}`)
  }
}

function orderOf(row: number, transactionId: string, orderNo: string, amount: string, hasComma: boolean): DealerOrder {
  if (transactionId === '') throw new UnreadableFile(row, 'The transactionId is missing.')
  const orderId = orderNo === '' ? undefined : orderIdOf(orderNo)
  if (orderId === undefined && orderNo !== '') {
    throw new UnreadableFile(row, `“${orderNo}” is no orderNo of this gateway. If the dealer has none, leave it empty.`)
  }
  try {
    const paid = parseMoney(hasComma ? amount.replace(',', '.') : amount)
    return { row, transactionId, storedId: storedIdOf(transactionId), orderNo, orderId, amount: paid }
  } catch (error) {
    if (error instanceof MalformedMoney) throw new UnreadableFile(row, error.message)
    throw error
  }
}

/** The id under which a dealer's transactionId is stored. One that was copied from the report, such as `rt-sha256:…`, is that id. */
function storedIdOf(named: string): string {
  return named.startsWith(DERIVED_ID_PREFIX) ? named : storedTransactionId(named)
}

/**
 * Records whether a transactionId was sold before the restore: if so, it is refused permanently with 200012; otherwise the
 * dealer may use it.
 * @throws Refusal if there is no such tenant, or the transactionId is not among those that recovery has seen
 */
export async function decideTransaction(
  deps: { db: Db; ids: Ids },
  decision: { tenantId: string; transactionId: string; state: 'SOLD' | 'NOT_SOLD'; evidence: string },
  by: By,
): Promise<void> {
  const { tenantId, transactionId, state } = decision
  const storedId = storedIdOf(transactionId)
  const proof = parseEvidence(decision.evidence)
  await deps.db.tx(async (tx) => {
    touchWallet(tx, await lockTenantWallet(tx, tenantId)) // before the row, as orders do
    const [before] = await tx.query<{ state: string }>({
      text: 'select state from restored_transactions where tenant_id = $1 and transaction_id = $2 for update',
      values: [tenantId, storedId],
    })
    if (!before) throw notFound('transactionId', transactionId)
    tx.send({
      text: `update restored_transactions set state = $3, proof = $4, decided_at = now()
             where tenant_id = $1 and transaction_id = $2`,
      values: [tenantId, storedId, state, proof],
    })
    const entry = { subject: storedId, before, after: { state, evidence: proof } }
    audit(tx, deps.ids, { tenantId, ...by, action: 'recovery.decide', ...entry })
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
