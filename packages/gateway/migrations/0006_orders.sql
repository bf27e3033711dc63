-- Orders, their items, the calls to suppliers, and the eSIM profiles that come of them.

-- The order is its own job: due_at is when fulfilment next works on it (null: nothing left to do), the lease says which
-- worker has it. Lease columns are in no index, so that a claim is a HOT update. Never time-partitioned: transaction_id
-- is unique for ever. orderNo on the wire is order_id in Crockford base 32 (lib/ids.ts).
create table orders (
  tenant_id uuid not null,
  order_id uuid not null,
  transaction_id text not null,
  order_type text not null default 'NEW' check (order_type in ('NEW', 'TOPUP')),
  topped_up_profile_id uuid, -- of a TOPUP: the eSIM that it adds to
  order_status text not null check (order_status in
    ('PAID', 'ALLOCATING', 'DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'UNDER_REVIEW', 'CANCELLED')),
  amount bigint not null,
  refunded_amount bigint not null default 0 check (refunded_amount between 0 and amount),
  currency_code text not null,
  balance_after bigint not null,
  wallet_version bigint not null, -- of its debit
  package_lines jsonb not null, -- [{packageCode, packageName, count, price, periodNum?, periodNumDefaulted?, cancelPolicy?}]: as ordered, at the price debited
  remark text,
  sent jsonb, -- of the compatible API: {transactionId?, unsignedFrom?, isUnanswered?}; null: as any other order
  status_history jsonb not null, -- [{orderStatus, time}]
  event_sequence integer not null, -- of its latest event
  due_at timestamptz,
  lease_token uuid,
  lease_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, order_id),
  unique (tenant_id, transaction_id),
  check ((order_type = 'TOPUP') = (topped_up_profile_id is not null))
) with (fillfactor = 80, autovacuum_vacuum_cost_delay = 0);
-- Nothing is planned by their values, and sorting those of a sample took most of an ANALYZE. Citus refuses such a change.
do $$ begin
  if to_regclass('pg_dist_schema') is null then
    alter table orders alter package_lines set statistics 0, alter status_history set statistics 0, alter sent set statistics 0;
  end if;
end $$;
create index orders_due on orders (tenant_id, due_at) where due_at is not null;
-- For order/list: statuses that few orders have, and top-ups. The common ones are read through the primary key.
create index orders_unusual on orders (tenant_id, order_status, order_id)
  where order_status in ('PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED');
create index orders_topups on orders (tenant_id, order_id) where order_type = 'TOPUP';
-- The top-ups of one eSIM, in order of debit. Few, so that the open ones are found among them.
create index orders_esim_topups on orders (tenant_id, topped_up_profile_id, wallet_version)
  where topped_up_profile_id is not null;
-- Top-ups requested without a transactionId whose end was not answered yet (orders/unanswered-topup.ts).
create index orders_unanswered on orders (tenant_id, topped_up_profile_id) where sent ->> 'isUnanswered' is not null;
create index orders_under_review on orders (tenant_id, order_id) where order_status = 'UNDER_REVIEW';

-- One eSIM each; of a TOPUP, what it adds to one. Its key at the supplier is orderNo-itemNo.
--
-- No foreign key to orders: the statement that writes an order also writes its items, no order is ever deleted, and
-- `ledger verify` finds an order whose items do not add up to its amount. The check of such a key could be planned while
-- the table was empty, and then each item read all orders of its dealer. Transfers and events have none either.
create table order_items (
  tenant_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  line_no smallint not null, -- index into orders.package_lines
  package_code text not null,
  price bigint not null,
  item_status text not null default 'WAITING' check (item_status in
    ('WAITING', 'ASKED', 'UNKNOWN', 'REVIEW', 'DELIVERED', 'REFUSED', 'CANCELLED')),
  route_no smallint not null default 0, -- index into the package's suppliers, in order of position
  supplier text, -- fixed, with product and cost, at the first request
  product_code text,
  cost bigint,
  cost_currency text,
  attempts smallint not null default 0, -- at the current supplier
  requested_at timestamptz, -- first request to the current supplier: its deadline counts from here
  in_doubt_at timestamptz, -- start of the latest purchase whose outcome is unknown
  failure_reason text,
  retry_at timestamptz,
  updated_at timestamptz not null,
  supplier_charge bigint, -- what the supplier says it charged, which may differ from the catalogue's cost
  supplier_charge_currency text,
  primary key (tenant_id, order_id, item_no)
) with (fillfactor = 70, autovacuum_vacuum_cost_delay = 0);

-- A row is committed before a supplier is called; while it has no outcome, the outcome is unknown. The item itself is written
-- with the outcome: until then an open purchase under the order's lease says that its item is ASKED, and on which terms.
create table supplier_attempts (
  tenant_id uuid not null,
  attempt_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  operation text not null check (operation in ('ORDER', 'TOPUP', 'QUERY', 'CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE')),
  lease_token uuid not null,
  product_code text, -- of a purchase, as are cost and route_no
  cost bigint,
  cost_currency text,
  route_no smallint,
  started_at timestamptz not null,
  finished_at timestamptz,
  outcome text check (outcome in ('delivered', 'toppedUp', 'ordered', 'refused', 'retry', 'unknown', 'cancelled', 'done')),
  message text, -- never contains an activation code
  reference text, -- the supplier's own name of the purchase
  spend bigint, -- counts towards the supplier's daily spend limit; null: it had none
  primary key (tenant_id, attempt_id)
) partition by range (attempt_id);
create index supplier_attempts_order on supplier_attempts (tenant_id, order_id);
-- Finds the attempts of all tenants in a period. It has one entry per 128 pages, so it adds no measurable cost to an attempt.
create index supplier_attempts_times on supplier_attempts using brin (attempt_id) with (autosummarize = on);
create index supplier_attempts_spend on supplier_attempts (supplier, started_at) where spend is not null;

create table profiles (
  tenant_id uuid not null,
  profile_id uuid not null, -- esimTranNo on the wire
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  iccid text not null,
  imsi text,
  msisdn text,
  eid text,
  smdp_address text not null,
  secrets bytea not null, -- encrypted: {ac, matchingId, confirmationCode?, pin?, puk?}
  apn text,
  esim_status text not null check (esim_status in
    ('GOT_RESOURCE', 'IN_USE', 'USED_UP', 'USED_EXPIRED', 'UNUSED_EXPIRED', 'CANCEL', 'REVOKED')),
  smdp_status text check (smdp_status in
    ('RELEASED', 'DOWNLOAD', 'INSTALLATION', 'ENABLED', 'DISABLED', 'DELETED')),
  smdp_status_time timestamptz, -- of the SM-DP+'s notification: late and repeated ones never move a profile back
  total_volume bigint,
  order_usage bigint,
  usage_update_time timestamptz,
  total_duration integer not null,
  duration_unit text not null,
  install_before timestamptz,
  activate_time timestamptz,
  expired_time timestamptz,
  suspended boolean not null default false,
  topped_up_at timestamptz, -- latest delivered top-up: an older report of USED_UP or expiry does not count
  usage_alerted smallint not null default 0, -- highest percentage that the usage has passed, reported or not
  usage_sequence integer not null default 0, -- of ESIM_USAGE
  expiry_sequence integer not null default 0, -- of ESIM_EXPIRING
  expiry_alerted_hours smallint[] not null default '{}', -- of ESIM_EXPIRING, since the latest top-up
  share_generation integer not null default 0, -- in the token of its shareUrl: renewing the link counts it up
  expiry_notice_at timestamptz, -- when the next ESIM_EXPIRING is due; null: none
  poll_at timestamptz, -- when its supplier is asked for status and usage next; null: it does not report them
  poll_every_s integer not null default 900, -- doubled by each poll, and set by a report that changes something
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, profile_id),
  unique (tenant_id, order_id, item_no),
  foreign key (tenant_id, order_id, item_no) references order_items
) with (fillfactor = 85, autovacuum_vacuum_cost_delay = 0);
-- Not unique, because suppliers reuse ICCIDs. A notification from an SM-DP+ looks here without knowing the tenant.
create index profiles_iccid on profiles (iccid);
-- Serves every combination of the two filters: one that is not given is walked value by value (profiles/list.ts).
create index profiles_status on profiles (tenant_id, esim_status, (coalesce(smdp_status, '')), profile_id);
-- What expires next (profiles/life/expire.ts).
create index profiles_expiry on profiles
  (tenant_id, (case esim_status when 'GOT_RESOURCE' then install_before else expired_time end))
  where esim_status in ('GOT_RESOURCE', 'IN_USE');
create index profiles_poll on profiles (tenant_id, supplier, poll_at)
  where poll_at is not null and esim_status in ('GOT_RESOURCE', 'IN_USE');
-- Which eSIMs have a notice of expiry due, of all tenants: few at any moment (profiles/life/expiring.ts).
create index profiles_expiry_notice on profiles (expiry_notice_at, profile_id) where expiry_notice_at is not null;

-- Actions -------------------------------------------------------------------------------------------------------------

-- Cancel, suspend, unsuspend or revoke one eSIM. The row is the job, as an order is: due_at and the lease say when it is
-- worked on and by which worker. A transaction_id is unique over orders and actions: who inserts one holds the tenant's
-- wallet lock, which orders hold too.
create table esim_actions (
  tenant_id uuid not null,
  action_id uuid not null, -- actionNo on the wire, as orderNo
  transaction_id text, -- null: an operator's
  started_by text not null check (started_by in ('DEALER', 'OPERATOR')),
  action text not null check (action in ('CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE')),
  profile_id uuid not null,
  order_id uuid not null, -- that delivered the eSIM
  item_no smallint not null,
  supplier text not null,
  action_status text not null default 'PENDING' check (action_status in ('PENDING', 'DONE', 'REFUSED', 'UNDER_REVIEW')),
  refund_amount bigint not null default 0 check (refund_amount >= 0),
  fee_percent smallint not null default 0 check (fee_percent between 0 and 100), -- of the cancel policy
  fee_amount bigint not null default 0 check (fee_amount >= 0),
  currency_code text not null,
  reason text,
  failure_reason text,
  attempts smallint not null default 0,
  due_at timestamptz, -- null: nothing left to do
  lease_token uuid,
  lease_until timestamptz,
  actor text, -- the person, of an action from the console or the command line
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, action_id),
  check ((started_by = 'DEALER') = (transaction_id is not null))
) with (fillfactor = 80);
create unique index esim_actions_transaction on esim_actions (tenant_id, transaction_id) where transaction_id is not null;
-- At most one action is open on an eSIM.
create unique index esim_actions_open on esim_actions (tenant_id, profile_id)
  where action_status in ('PENDING', 'UNDER_REVIEW');
create index esim_actions_due on esim_actions (tenant_id, due_at) where due_at is not null;
create index esim_actions_profile on esim_actions (tenant_id, profile_id, action_id);

-- Reconciliation -----------------------------------------------------------------------------------------------------

-- eSIMs that arrived for an item already refunded, or second eSIMs for the same item. Never shown to the dealer, never
-- debited; cancelled at the supplier where possible, and reported.
create table orphans (
  tenant_id uuid not null,
  orphan_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  iccid text not null,
  secrets bytea not null, -- encrypted, as in profiles
  state text not null default 'FOUND' check (state in ('FOUND', 'CANCELLED', 'KEPT')), -- KEPT: cannot be cancelled
  message text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, orphan_id),
  unique (tenant_id, order_id, item_no, supplier, iccid)
);
create index orphans_found on orphans (tenant_id, orphan_id) where state = 'FOUND';
-- For stock imports, which compare a thousand ICCIDs at a time.
create index orphans_iccid on orphans (iccid) where state <> 'CANCELLED';

-- Items that reconciliation re-checks at the supplier although their order is final: refunded or delivered while a
-- purchase was in doubt, so that its eSIM may still arrive. The supplier may differ from the one that delivered. Once per purpose is enough: an item is resolved once,
-- and at most one supplier is in doubt at that moment.
create table watched_items (
  tenant_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  purpose text not null check (purpose in ('REFUNDED_IN_DOUBT', 'DELIVERED_IN_DOUBT')),
  due_at timestamptz not null, -- of the next check
  give_up_at timestamptz not null, -- then checking ends
  attempts integer not null default 0,
  supplier text not null,
  product_code text,
  primary key (tenant_id, order_id, item_no, purpose)
);
create index watched_items_due on watched_items (due_at);
create index watched_items_give_up on watched_items (give_up_at);

-- Sales ---------------------------------------------------------------------------------------------------------------

-- Sums of order items by the UTC day of their order's id. Calculated from the rows above by sales/update-sales.ts, and
-- never changed by anything else.
create table daily_sales (
  tenant_id uuid not null,
  day date not null,
  order_type text not null,
  package_code text not null,
  supplier text not null, -- that delivered; '': not delivered
  currency_code text not null,
  outcome text not null, -- DELIVERED; CANCELLED: unused, after its delivery; REFUSED; OPEN: none yet
  asked_supplier text not null, -- the latest one; '': none, or OPEN
  cost_currency text not null, -- of supplier_cost; '': not known, or OPEN
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null, -- of the items whose cost in currency_code is known
  unknown_items integer not null, -- whose cost in currency_code is not known, or not yet
  unknown_revenue bigint not null, -- of these items, less their refunds
  costed_items integer not null, -- DELIVERED ones whose cost in cost_currency is known
  supplier_cost bigint not null, -- of these
  charged_items integer not null, -- DELIVERED ones whose supplier says what it charged
  charged_cost bigint not null, -- of these, a part of supplier_cost
  -- The supplier follows from outcome and asked_supplier.
  primary key (tenant_id, day, order_type, package_code, asked_supplier, outcome, currency_code, cost_currency)
);
create index daily_sales_package on daily_sales (package_code, day);

-- The same sums of each tenant, over its packages and suppliers.
create table daily_sales_tenants (
  tenant_id uuid not null,
  day date not null,
  order_type text not null,
  currency_code text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  primary key (tenant_id, day, order_type, currency_code)
);
create index daily_sales_tenants_day on daily_sales_tenants (day);

-- The same sums of each tenant and month: periods of months read fewer rows (sales/list-sales.ts).
create table monthly_sales_tenants (
  tenant_id uuid not null,
  month date not null, -- its first day
  order_type text not null,
  currency_code text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  primary key (tenant_id, month, order_type, currency_code)
) with (fillfactor = 50);
create index monthly_sales_tenants_month on monthly_sales_tenants (month);

-- The same sums of each tenant and supplier, over its packages.
create table daily_sales_tenant_suppliers (
  tenant_id uuid not null,
  day date not null,
  order_type text not null,
  supplier text not null,
  currency_code text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  primary key (tenant_id, day, order_type, supplier, currency_code)
);
create index daily_sales_tenant_suppliers_day on daily_sales_tenant_suppliers (supplier, day);

-- The same sums of each package and supplier, over all tenants.
create table daily_sales_packages (
  day date not null,
  order_type text not null,
  package_code text not null,
  supplier text not null,
  currency_code text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  primary key (day, order_type, package_code, supplier, currency_code)
) with (fillfactor = 50);

-- What suppliers were asked for, over all tenants: sums of the items of daily_sales that have an outcome.
create table daily_purchases (
  day date not null,
  supplier text not null, -- asked_supplier
  outcome text not null check (outcome <> 'OPEN'),
  currency_code text not null,
  cost_currency text not null,
  items integer not null,
  revenue bigint not null,
  costed_items integer not null,
  supplier_cost bigint not null,
  charged_items integer not null,
  charged_cost bigint not null,
  primary key (day, supplier, outcome, currency_code, cost_currency)
) with (fillfactor = 50);

-- Orders of a tenant's UTC day, counted by quarter hour and outcome, in cells: dashboards show days of any time zone, and each
-- begins with a quarter hour. A cell is quarter hour * 128 + outcome: 0 neither delivered nor failed; 1 failed or cancelled;
-- from 2 on delivered, by delivery time (sales/order-cells.ts).
create table daily_orders (
  tenant_id uuid not null,
  day date not null,
  currency_code text not null,
  cells smallint[] not null, -- ascending, those with orders
  orders integer[] not null, -- of each cell
  amounts bigint[] not null, -- of each cell, less refunds
  primary key (tenant_id, day)
);

-- The same cells over all tenants.
create table order_quarter_hours (
  starts_at timestamptz not null,
  outcome smallint not null,
  currency_code text not null,
  orders integer not null,
  amount bigint not null,
  primary key (starts_at, outcome, currency_code)
) with (fillfactor = 50);

-- How far the sums of a tenant have followed its rows.
create table sales_progress (
  tenant_id uuid primary key references tenants,
  wallet_version bigint not null, -- transfers up to this one are included, or their days are dirty
  open_days jsonb not null, -- {day: digest of the orders of that day that were not final}
  dirty_days date[] not null -- to be calculated again
) with (fillfactor = 50);
