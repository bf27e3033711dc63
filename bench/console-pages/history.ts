import { AGED_BY_CLOCK } from '@dealer-esim/gateway/platform/retention/retention-table.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { createPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import { secretsText } from '../growth/history.ts'
import { dropIndexes } from '../growth/load.ts'
import { checkSums, fillSums } from './sums.ts'

/*
 * A year of a busy operator, written by SQL: dealers of very different sizes (the largest has a twentieth of the orders, the
 * smaller half a fifth), with more orders each day than the day before; packages and suppliers that sell differently; orders
 * of up to three eSIMs, top-ups, refunds, orders under review. Events and attempts as far back as they are kept.
 */

export interface ConsoleHistory {
  dealers: number
  orders: number
}

const DAYS = 365
const PACKAGES = 300
const OPENING = 90_000_000_000_000
const PRICE = 45_000
const TABLES = ['orders', 'order_items', 'transfers', 'profiles', 'supplier_attempts', 'events', 'deliveries']

/** A UUIDv7 of a time, with a number that distinguishes those of one millisecond. */
const ID_FUNCTION = `
  create or replace function bench_id(at timestamptz, kind int, n bigint) returns uuid immutable parallel safe language sql as $$
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '700' || kind || '8000' || lpad(to_hex(n), 12, '0'))::uuid $$`

const sales = ({ dealers, orders }: ConsoleHistory) => `
  create unlogged table bench_sales as
  select n, dealer, at, bench_id(at, 0, n) as order_id, items, 'P' || lpad(package::text, 3, '0') as package_code,
    case when package % 7 = 0 then 'voyager' when package % 5 = 0 then 'atlas' when package % 3 = 0 then 'stock' else 'sandbox' end
      as supplier,
    case when luck < 0.965 then 'DELIVERED' when luck < 0.98 then 'FAILED' when luck < 0.985 then 'CANCELLED'
      when luck < 0.9999 then case when items > 1 then 'PARTIALLY_DELIVERED' else 'DELIVERED' end
      else 'UNDER_REVIEW' end as order_status,
    floor(luck * 100000)::int % 100 < 3 as is_top_up
  from (
    select n, now() - interval '${DAYS} days' * (1 - sqrt(n::float8 / ${orders})) as at,
      1 + floor(${dealers} * power(random(), 3))::int as dealer, 1 + floor(${PACKAGES} * power(random(), 2))::int as package,
      case when random() < 0.85 then 1 else 2 + floor(random() * 2)::int end as items, random() as luck
    from generate_series(1, ${orders}) n) drawn`

/** Debits and refunds of each wallet with their versions, which begin with its top-up. */
const MOVES = `
  create unlogged table bench_moves as
  select n, item_no, dealer, order_id, at as moved_at, amount, 1 + row_number() over moves as version,
    ${OPENING} - sum(amount) over (partition by dealer order by n, item_no rows unbounded preceding)::bigint as balance_after
  from (
    select n, 0 as item_no, dealer, order_id, at, items * ${PRICE} as amount from bench_sales
    union all
    select n, i, dealer, order_id, at + interval '20 seconds', -${PRICE} from bench_sales, generate_series(1, items) i
    where order_status in ('FAILED', 'CANCELLED') or order_status = 'PARTIALLY_DELIVERED' and i = items) m
  window moves as (partition by dealer order by n, item_no)`

const dealers = (count: number) => [
  `create unlogged table bench_dealers as
   select n as dealer, bench_id(now() - interval '${DAYS + 30} days' + n * interval '1 second', 0, n) as tenant_id
   from generate_series(1, ${count}) n`,
  'alter table bench_dealers add primary key (dealer)',
  `insert into tenants (tenant_id, app_key, tenant_name, currency_code, tags, created_at)
   select tenant_id, 'ak_main_' || md5(dealer::text), 'Dealer ' || md5(dealer::text),
     case when dealer % 3 = 0 then 'EUR' else 'USD' end, case when dealer % 10 = 0 then '{gold}'::text[] else '{}' end,
     now() - interval '395 days' from bench_dealers`,
  `insert into wallets (tenant_id, currency_code, low_balance_threshold, updated_at)
   select d.tenant_id, currency_code, 1000000, now() from bench_dealers d join tenants using (tenant_id)`,
  `insert into webhook_endpoints (tenant_id, callback_url)
   select tenant_id, case when dealer % 2 = 0 then '\\x00'::bytea end from bench_dealers`,
  `insert into people (person_id, tenant_id, email, name, role)
   select bench_id(now() - interval '300 days', i, dealer), tenant_id, 'person' || i || '@dealer' || dealer || '.example',
     'Person ' || md5((dealer * 2 + i)::text), 'DEALER_ADMIN' from bench_dealers, generate_series(0, 1) i`,
  `insert into alerts (tenant_id, alert_id, kind, audience, message, created_at, read_at, mailed_at)
   select tenant_id, bench_id(at, 1, dealer * 16 + i), 'LOW_BALANCE', case i % 2 when 0 then 'TENANT' else 'OPERATOR' end,
     'The balance is low.', at, case when i < 8 then at end, at
   from bench_dealers, generate_series(0, 9) i, lateral (select now() - interval '1 day' * (300 - 30 * i) as at) t`,
  `insert into audit_log (tenant_id, audit_id, actor, action, subject, created_at)
   select tenant_id, bench_id(at, 2, dealer * 64 + i), 'system', 'tenant.settings', 'settings', at
   from bench_dealers, generate_series(0, 49) i, lateral (select now() - interval '1 day' * (300 - 6 * i) as at) t`,
]

/** Copies of the demo's packages, which cover its countries in turn. */
const copiesOf = (table: string, changed: string) => `
  insert into ${table}
  select (jsonb_populate_record(p, ${changed})).* from generate_series(1, ${PACKAGES}) n
  join (select package_code, row_number() over (order by package_code) as no, count(*) over () as of_them
        from packages where package_type = 'BASE' and on_sale and package_code !~ '^(P[0-9]|SANDBOX)') demo on demo.no = 1 + n % demo.of_them
  join ${table} p using (package_code)`
const code = `'package_code', 'P' || lpad(n::text, 3, '0')`
const packages = [
  copiesOf('packages', `jsonb_build_object(${code}, 'slug', 'p-' || n, 'name', p.name || ' ' || n)`),
  copiesOf('package_suppliers', `jsonb_build_object(${code})`),
  copiesOf('list_prices', `jsonb_build_object(${code})`),
  `insert into price_plans (plan_name, created_at) values ('bench', now())`,
  `insert into price_groups (group_name, created_at) values ('bench', now())`,
]

const ORDERS = `
  insert into orders (tenant_id, order_id, transaction_id, order_type, topped_up_profile_id, order_status, amount,
    refunded_amount, currency_code, balance_after, wallet_version, package_lines, status_history, event_sequence,
    created_at, updated_at)
  select d.tenant_id, s.order_id, md5(s.n::text), case when is_top_up then 'TOPUP' else 'NEW' end,
    case when is_top_up then bench_id(at, 1, s.n * 4 + 1) end, order_status, s.items * ${PRICE}::bigint,
    case when order_status in ('FAILED', 'CANCELLED') then s.items * ${PRICE} when order_status = 'PARTIALLY_DELIVERED' then ${PRICE} else 0 end,
    t.currency_code, m.balance_after, m.version,
    jsonb_build_array(jsonb_build_object('packageCode', package_code, 'packageName', 'Package ' || package_code, 'count', s.items, 'price', ${PRICE})),
    jsonb_build_array(jsonb_build_object('orderStatus', 'PAID', 'time', to_json(at)),
      jsonb_build_object('orderStatus', order_status, 'time', to_json(at + (200 + s.n % 4000) * interval '1 millisecond'))),
    2, at, at + interval '2 seconds'
  from bench_sales s join bench_dealers d using (dealer) join tenants t using (tenant_id)
  join bench_moves m on m.n = s.n and m.item_no = 0
  order by s.n`

const ITEM_STATUS = `case when order_status = 'FAILED' or order_status = 'PARTIALLY_DELIVERED' and i = items then 'REFUSED'
  when order_status = 'CANCELLED' then 'CANCELLED' when order_status = 'UNDER_REVIEW' then 'REVIEW' else 'DELIVERED' end`
const ITEMS = `
  insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, item_status, supplier, product_code,
    cost, cost_currency, attempts, requested_at, updated_at)
  select d.tenant_id, order_id, i, 0, package_code, ${PRICE}, ${ITEM_STATUS}, supplier, 'SANDBOX_OK',
    case when n % 50 > 0 then 30000 end, case when n % 50 > 0 then 'USD' end, 1, at, at
  from bench_sales join bench_dealers d using (dealer), generate_series(1, items) i order by n`

const TRANSFERS = [
  `insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, reference, created_at)
   select tenant_id, 1, 'TOP_UP', 'TOP_UPS', 'WALLET', ${OPENING}, ${OPENING}, 'bench', now() - interval '394 days' from bench_dealers`,
  `insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id, item_no, created_at)
   select d.tenant_id, m.version,
     case when item_no > 0 then 'REFUND' when is_top_up then 'ESIM_TOPUP' else 'ORDER' end,
     case when item_no = 0 then 'WALLET' else 'REFUNDS' end, case when item_no = 0 then 'SALES' else 'WALLET' end,
     abs(amount), balance_after, m.order_id, nullif(item_no, 0), m.moved_at
   from bench_moves m join bench_dealers d using (dealer) join bench_sales s using (n) order by n, item_no`,
  `update wallets w set balance = m.balance_after / case when dealer % 5 = 0 then 90000000 else 1 end, version = m.version
   from (select distinct on (dealer) dealer, version, balance_after from bench_moves order by dealer, version desc) m
   join bench_dealers d using (dealer) where w.tenant_id = d.tenant_id`,
]

const PROFILES = `
  insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets, esim_status,
    smdp_status, total_volume, order_usage, total_duration, duration_unit, install_before, activate_time, expired_time,
    created_at, updated_at)
  select d.tenant_id, bench_id(at, 1, n * 4 + i), order_id, i, supplier, '8943108' || lpad((n * 4 + i)::text, 12, '0'),
    'smdp.example', d.secrets, case when n % 7 = 0 then 'UNUSED_EXPIRED' when at < now() - interval '60 days' then 'USED_EXPIRED'
      when n % 3 = 0 then 'GOT_RESOURCE' when n % 3 = 1 then 'IN_USE' else 'USED_UP' end,
    case when n % 3 = 0 then 'RELEASED' else 'ENABLED' end, 1073741824, (n % 3) * 1000000, 7, 'DAY',
    at + interval '180 days', case when n % 3 > 0 then at end, case when n % 3 > 0 then at + interval '60 days' end, at, at
  from bench_sales join bench_dealers d using (dealer), generate_series(1, items) i
  where ${ITEM_STATUS} = 'DELIVERED' and not is_top_up order by n`

const ATTEMPTS = `
  insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token, product_code,
    cost, cost_currency, route_no, started_at, finished_at, outcome, message)
  select d.tenant_id, bench_id(at, 2, n * 4 + i), order_id, i, supplier, case when is_top_up then 'TOPUP' else 'ORDER' end,
    bench_id(at, 3, n), 'SANDBOX_OK', 30000, 'USD', 0, at, at + (100 + n % 900) * interval '1 millisecond',
    case when ${ITEM_STATUS} = 'REFUSED' then 'refused' when ${ITEM_STATUS} = 'REVIEW' then 'unknown' else 'delivered' end, null
  from bench_sales join bench_dealers d using (dealer), generate_series(1, items) i
  where at > now() - interval '45 days' and order_status <> 'CANCELLED' order by n`

const KEPT = `at > now() - interval '36 days'`
const EVENTS = [
  `insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at)
   select d.tenant_id, bench_id(at, 3 + i, n), (array['ORDER_PAID', 'DELIVERY_UPDATED'])[i], order_id,
     json_build_object('orderNo', md5(n::text), 'transactionId', md5(n::text), 'orderStatus', (array['PAID', order_status])[i], 'sequence', i,
       'amount', ${PRICE}, 'currencyCode', 'USD', 'balanceAfter', ${OPENING}, 'packageInfoList', json_build_array(package_code)), at
   from bench_sales join bench_dealers d using (dealer), generate_series(1, 2) i where ${KEPT} order by n`,
  `insert into deliveries (tenant_id, notify_id, delivery_state, attempts)
   select d.tenant_id, bench_id(at, 3 + i, n), case when dealer % 2 = 1 then 'UNSENT' else 'DEAD' end, case when dealer % 2 = 1 then 0 else 11 end
   from bench_sales join bench_dealers d using (dealer), generate_series(1, 2) i
   where ${KEPT} and (dealer % 2 = 1 or n % 500 = 0) order by n`,
  `insert into delivery_attempts (tenant_id, attempt_id, notify_id, notify_type, attempt_no, url, started_at, duration_ms, http_status, outcome)
   select d.tenant_id, bench_id(at, 5 + i, n), bench_id(at, 3 + i, n), (array['ORDER_PAID', 'DELIVERY_UPDATED'])[i], 1, 'https://dealer.example/hook',
     at, 20 + n % 300, case when n % 500 = 0 then 500 else 200 end, case when n % 500 = 0 then 'status 500' else 'acknowledged' end
   from bench_sales join bench_dealers d using (dealer), generate_series(1, 2) i
   where at > now() - interval '30 days' and dealer % 2 = 0 order by n`,
]

/** Fills the database of a gateway that was started once, and gathers statistics. */
export async function loadConsoleHistory(
  db: Db,
  { cipher, progress, ...history }: ConsoleHistory & { cipher: Cipher; progress(line: string): void },
): Promise<void> {
  const started = performance.now()
  const step = async (name: string, texts: readonly string[]) => {
    for (const text of texts) await db.query({ text })
    progress(`  ${history.orders} orders: ${name} after ${((performance.now() - started) / 1000).toFixed(0)} s`)
  }
  for (const table of AGED_BY_CLOCK)
    await createPartitions(db, [table], Date.now() - (table.keepHours ?? 0) * 3_600_000)
  await step('dealers', [ID_FUNCTION, ...dealers(history.dealers), ...packages])
  await addSecrets(db, cipher)
  await step('drawn', [sales(history), MOVES, 'analyze bench_sales', 'analyze bench_moves', 'analyze bench_dealers'])
  const restore = await dropIndexes(db, TABLES)
  await step('orders', [ORDERS])
  await step('items', [ITEMS])
  await step('transfers', TRANSFERS)
  await step('profiles', [PROFILES])
  await step('attempts', [ATTEMPTS])
  await step('events', EVENTS)
  await step('indexes', restore)
  await step('statistics', ['vacuum analyze'])
  await fillSums(db)
  await checkSums(db)
  await step('sums', ['checkpoint'])
}

async function addSecrets(db: Db, cipher: Cipher): Promise<void> {
  const rows = await db.query<{ tenantId: string }>({ text: 'select tenant_id from bench_dealers' })
  const ids = rows.map(({ tenantId }) => tenantId)
  await db.query({ text: 'alter table bench_dealers add secrets bytea' })
  await db.query({
    text: `update bench_dealers d set secrets = decode(s.secrets, 'hex')
           from unnest($1::uuid[], $2::text[]) as s(tenant_id, secrets) where s.tenant_id = d.tenant_id`,
    values: [ids, ids.map((id) => cipher.encrypt(secretsText(), id).toString('hex'))],
  })
}
