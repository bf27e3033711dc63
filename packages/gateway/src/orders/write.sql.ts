import { type Columns, ONE_ROW, ROWS, type RowFormat } from '../lib/postgres/columns.ts'
import { DEBITS_OF_PLACED, MOVED_COLUMNS, moveWallets } from '../wallet/debit.ts'
import { lockRemembered } from '../wallet/lock.ts'
import { deliveriesOf, eventsOf } from '../webhooks/record.ts'

/*
 * One statement writes all that a batch has placed. Its parameters are the columns of the orders, of their lines, of the
 * wallets, and of what was assumed, in this order (write.ts fills them).
 */

const PLACED: Columns = {
  tenant_id: 'uuid',
  order_id: 'uuid',
  transaction_id: 'text',
  amount: 'bigint',
  currency_code: 'text',
  balance_after: 'bigint',
  wallet_version: 'bigint',
  package_lines: 'jsonb',
  remark: 'text',
  judged_at: 'timestamptz',
  notify_id: 'uuid',
  content: 'json',
}

/** One for each line of an order: its items are numbered from first_item to last_item. */
const LINES: Columns = {
  tenant_id: 'uuid',
  order_id: 'uuid',
  first_item: 'integer',
  last_item: 'integer',
  line_no: 'smallint',
  package_code: 'text',
  price: 'bigint',
  judged_at: 'timestamptz',
}

const LINES_FIRST = Object.keys(PLACED).length + 1
const WALLETS_FIRST = LINES_FIRST + Object.keys(LINES).length
const ASSUMED_FIRST = WALLETS_FIRST + MOVED_COLUMNS

/** More than an idle lock takes on a busy machine. */
const LONGEST_WAIT_MS = 50

/**
 * Everything but the wallets, out of `placed` and `line`. The server runs the last one first, which is the one that may be
 * refused: an order that is there already leaves as little as can be to the vacuum. An order is due at once also where its
 * wallet's latest movement, which it follows, is of a clock that has gone back since.
 */
const NEW_ROWS = `
itemised as (
  insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, updated_at)
  select tenant_id, order_id, generate_series(first_item, last_item), line_no, package_code, price, created_at
  from line
), debited as (${DEBITS_OF_PLACED}
), told as (${eventsOf('placed')}
), to_deliver as (${deliveriesOf('placed')}
), ordered as (
  insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
    wallet_version, package_lines, remark, status_history, event_sequence, due_at, created_at, updated_at)
  select tenant_id, order_id, transaction_id, 'PAID', amount, currency_code, balance_after, wallet_version,
    package_lines, remark, status_history, 1, least(created_at, clock_timestamp()), created_at, created_at
  from placed
)`

const ROW_HASHES = `string_agg(row_hash::text, ',' order by tenant_id) as row_hashes`

/** The status history of an order that is placed. Where all are placed at one moment it is made once. */
function paidAt(moment: string): string {
  return `jsonb_build_array(jsonb_build_object('orderStatus', 'PAID', 'time', ${moment}))`
}

/** For wallets that are locked and read already. */
export const WRITE = {
  name: 'orders-write',
  text: `
with placed as materialized (
  select placed.*, judged_at as created_at, ${paidAt('judged_at')} as status_history, 'ORDER_PAID' as notify_type
  from ${ROWS.table(1, PLACED, 'placed')}
), line as (
  select line.*, judged_at as created_at from ${ROWS.table(LINES_FIRST, LINES, 'line')}
), ${NEW_ROWS}, moved as (${moveWallets(ROWS, WALLETS_FIRST)}
)
select ${ROW_HASHES} from moved`,
}

// The catalogue is as of the statement's snapshot, which is older than the lock: after a wait it may be outdated. Nobody
// looks for earlier orders: the unique index refuses what is there, whole, and is searched for each order anyway.
const writeIfUnchanged = (shape: RowFormat) => `
with locked as materialized (${lockRemembered(shape.list(WALLETS_FIRST, 'uuid'))}
), unchanged as materialized (
  select moment.now, ${paidAt('moment.now')} as status_history
  from (select date_trunc('milliseconds', clock_timestamp()) as now, array_agg(row_hash) as row_hashes,
               max(updated_at) as latest
        from locked) moment
  join catalogue_version on version = $${ASSUMED_FIRST + 1}::bigint
  where row_hashes = $${ASSUMED_FIRST}::bigint[] and latest <= now
    and (now at time zone 'UTC')::date = $${ASSUMED_FIRST + 2}::date
    and now < statement_timestamp() + interval '${LONGEST_WAIT_MS} milliseconds'
), placed as materialized (
  select placed.*, now as created_at, status_history, 'ORDER_PAID' as notify_type
  from ${shape.table(1, PLACED, 'placed')}, unchanged
), line as (
  select line.*, now as created_at from ${shape.table(LINES_FIRST, LINES, 'line')}, unchanged
), ${NEW_ROWS}, moved as (${moveWallets(shape, WALLETS_FIRST, 'unchanged.now', 'unchanged')}
)
select (extract(epoch from now) * 1000)::float8 as now_ms, ${ROW_HASHES} from moved, unchanged group by now`

/** Locks the wallets first; writes nothing unless row hashes, catalogue and day are as assumed. */
export const WRITE_IF_UNCHANGED = { name: 'orders-write-if-unchanged', text: writeIfUnchanged(ROWS), shape: ROWS }
/** The same for one order of one line. */
export const WRITE_ONE_IF_UNCHANGED = {
  name: 'orders-write-one-if-unchanged',
  text: writeIfUnchanged(ONE_ROW),
  shape: ONE_ROW,
}
