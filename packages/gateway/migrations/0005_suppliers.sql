-- Suppliers: their configuration, their stock, and what the gateway knows of their orders and prices. Only tables with a
-- tenant_id belong to tenants.

create table suppliers (
  supplier text primary key check (supplier ~ '^[A-Za-z0-9_.-]{1,64}$'),
  type text not null check (type ~ '^[a-z0-9-]{1,32}$'), -- its kind: suppliers/create.ts lists them
  config bytea not null, -- encrypted JSON, bound to the owner supplier:<name>
  paused boolean not null default false,
  spend_limit bigint check (spend_limit >= 0), -- of a UTC day, from the configuration; null: none
  spend_currency text check ((spend_currency is null) = (spend_limit is null)),
  spend_alerted_on date, -- operators were alerted on this UTC day that the limit was reached
  verified_at timestamptz, -- a purchase has verified it on this gateway (suppliers/verification)
  version bigint not null default 1, -- counts changes: a node reloads rows newer than its own
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- The price that a supplier last charged for a product, where it reports one: compared with the costs in the catalogue.
create table supplier_prices (
  supplier text not null references suppliers,
  product_code text not null,
  currency_code text not null,
  price bigint not null,
  seen_at timestamptz not null, -- start of the first purchase at this price
  alerted boolean not null default false, -- operators were alerted that this price differs from the catalogue's cost
  alerted_at timestamptz, -- latest alert about any price of the product
  primary key (supplier, product_code)
);

-- Stock --------------------------------------------------------------------------------------------------------------

-- How many eSIMs of a product could be reserved now, where that is counted. A product without a row is not counted.
create table stock_levels (
  supplier text not null references suppliers,
  product_code text not null,
  available bigint not null check (available >= 0),
  low_threshold bigint, -- an alert is created when available falls below it; null: never
  low_alerted boolean not null default false,
  primary key (supplier, product_code)
) with (fillfactor = 50);

-- Each import is a batch. Its counters are written with those of its product in stock_levels, whose lock is taken first.
create table stock_batches (
  supplier text not null references suppliers,
  batch_id uuid not null,
  product_code text not null,
  batch_name text not null,
  codes bigint not null check (codes > 0), -- imported
  available bigint not null check (available >= 0),
  expired bigint not null default 0 check (expired >= 0), -- in stock, but not to be sold any more
  alert_days smallint check (alert_days between 1 and 365), -- before codes expire, operators are alerted; null: never
  expiry_alerted boolean not null default false,
  imported_at timestamptz not null,
  primary key (supplier, batch_id)
) with (fillfactor = 50);
create index stock_batches_alert on stock_batches (supplier) where alert_days is not null and not expiry_alerted;

-- Imported activation codes. A code is reserved for an item's key in its own transaction, permanently.
create table stock_codes (
  supplier text not null references suppliers,
  code_id uuid not null,
  batch_id uuid not null, -- of stock_batches; a foreign key would double the time of an import
  product_code text not null,
  state text not null default 'FREE' check (state in ('FREE', 'RESERVED', 'EXPIRED')),
  key text, -- orderNo-itemNo of the item it is reserved for
  fingerprint bytea not null, -- keyed hash of address and matching id: finds duplicates without revealing the code
  iccid text not null,
  secrets bytea not null, -- encrypted: {smdpAddress, matchingId, ac, confirmationCode?, pin?, puk?}
  imsi text,
  msisdn text,
  apn text,
  expires_at timestamptz not null default 'infinity',
  imported_at timestamptz not null,
  reserved_at timestamptz,
  primary key (supplier, code_id),
  unique (supplier, fingerprint),
  check ((state = 'RESERVED') = (key is not null))
) with (fillfactor = 90);
create unique index stock_codes_key on stock_codes (supplier, key) where key is not null;
create unique index stock_codes_iccid on stock_codes (supplier, iccid) where state = 'FREE';
-- Nearest expiry first.
create index stock_codes_free on stock_codes (supplier, product_code, expires_at, code_id) where state = 'FREE';
-- The next expiry of a batch, and how many of its codes expire soon.
create index stock_codes_batch on stock_codes (supplier, batch_id, expires_at) where state = 'FREE';
-- All codes with an ICCID, which people search for.
create index stock_codes_search on stock_codes (iccid text_pattern_ops);
create index stock_codes_expiring on stock_codes (expires_at) where state = 'FREE' and expires_at < 'infinity';
-- For the hourly comparison of recent reservations with our orders.
create index stock_codes_reserved on stock_codes (supplier, reserved_at) where reserved_at is not null;

-- Codes of eSIMs that an operator named when resolving an item under review. They are sold: a stock import rejects them.
create table resolved_codes (
  fingerprint bytea primary key, -- as in stock_codes
  tenant_id uuid not null,
  order_id uuid not null,
  iccid text not null,
  resolved_at timestamptz not null default now()
);

-- ES2+ ---------------------------------------------------------------------------------------------------------------

-- The progress of an ES2+ order: facts that the SM-DP+ returned or that the gateway chose. Written between the calls and
-- independently of any lease, so that the next worker continues from there. The gateway chooses the matching id, so a
-- lost answer to ConfirmOrder loses nothing.
create table es2plus_orders (
  supplier text not null references suppliers,
  key text not null, -- orderNo-itemNo
  iccid text, -- null: the SM-DP+ chooses it and has not returned it yet
  iccid_chosen boolean not null,
  secrets bytea not null, -- encrypted: {matchingId, smdpAddress?}
  step text not null check (step in ('NEW', 'ORDERING', 'ORDERED', 'CONFIRMING', 'CONFIRMED', 'CANCELLING', 'CANCELLED')),
  updated_at timestamptz not null default now(),
  primary key (supplier, key)
);
create unique index es2plus_orders_iccid on es2plus_orders (supplier, iccid) where iccid_chosen;

create table es2plus_ranges (
  supplier text not null references suppliers,
  first_number bigint not null, -- of the range: the digits between the issuer's prefix and the check digit
  next_number bigint not null,
  primary key (supplier, first_number)
);

-- eSIM Go ------------------------------------------------------------------------------------------------------------

-- Orders at eSIM Go, which takes no key of ours: the order that was made for each item, as soon as it is known.
create table esim_go_orders (
  supplier text not null references suppliers,
  key text not null, -- orderNo-itemNo
  product_code text not null,
  sent_at timestamptz not null, -- when it was claimed last
  reference text, -- eSIM Go's; null: its answer has not arrived
  iccid text, -- of the eSIM that it delivered
  primary key (supplier, key)
);
create unique index esim_go_orders_reference on esim_go_orders (supplier, reference);
create index esim_go_orders_iccid on esim_go_orders (supplier, iccid) where iccid is not null;
create index esim_go_orders_unanswered on esim_go_orders (supplier) where reference is null;

-- The purchase of each bundle that may be under way: two equal ones at once could not be distinguished.
create table esim_go_claims (
  supplier text not null references suppliers,
  product_code text not null,
  key text not null, -- of the item that is bought
  claimed_until timestamptz not null,
  primary key (supplier, product_code)
);

-- MobiMatter ---------------------------------------------------------------------------------------------------------

-- The progress of an order at MobiMatter, which takes two requests: the first holds the money, the second buys. Written
-- before each of them and independently of any lease, so that one order of each item is completed at most.
create table mobimatter_orders (
  supplier text not null references suppliers,
  key text not null, -- orderNo-itemNo
  step text not null check (step in ('CREATING', 'CREATED', 'COMPLETING', 'ENDED')),
  order_id text check (step in ('CREATED', 'COMPLETING') = (order_id is not null)), -- MobiMatter's
  updated_at timestamptz not null default now(),
  primary key (supplier, key)
);
create unique index mobimatter_orders_order_id on mobimatter_orders (supplier, order_id);

-- Sandbox ------------------------------------------------------------------------------------------------------------

-- Stands in for a supplier's own records, and is written in separate transactions, so that tests can count what a
-- supplier was asked for without relying on the gateway's tables.
create sequence sandbox_iccids;
create table sandbox_issued (
  supplier text not null,
  key text not null, -- orderNo-itemNo
  product_code text not null,
  topped_up_key text, -- of the eSIM that it adds to; null: an eSIM of its own
  requests integer not null default 1, -- how often it was ordered
  answer text not null check (answer in ('ISSUED', 'REFUSED', 'LOST')),
  iccid_number bigint not null default nextval('sandbox_iccids'),
  issued_at timestamptz not null default now(),
  cancelled_at timestamptz,
  revoked_at timestamptz,
  suspended_at timestamptz, -- null: not suspended
  suspended_for interval not null default '0', -- earlier suspensions together
  primary key (supplier, key)
);
create unique index sandbox_issued_iccid on sandbox_issued (iccid_number);
create index sandbox_issued_topped_up on sandbox_issued (supplier, topped_up_key) where topped_up_key is not null;

create table sandbox_actions (
  supplier text not null,
  key text not null, -- actionNo
  esim_key text not null,
  action text not null check (action in ('CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE')),
  requests integer not null default 1, -- how often it was requested
  answer text not null check (answer in ('DONE', 'REFUSED', 'LOST')),
  requested_at timestamptz not null default now(),
  primary key (supplier, key)
);

-- Reconciliation -----------------------------------------------------------------------------------------------------

-- eSIMs that a supplier's own list contains and the gateway's orders do not.
create table unclaimed_esims (
  supplier text not null references suppliers,
  key text not null,
  iccid text not null,
  found_at timestamptz not null default now(),
  primary key (supplier, key, iccid)
);

-- Purchases that verify a supplier whose interface was written from documentation. One at a time is open.
create table supplier_verifications (
  supplier text not null references suppliers,
  verification_id uuid not null,
  order_id uuid not null, -- of no order: the key at the supplier is made of it
  product_code text not null,
  cost bigint not null,
  currency_code text not null,
  state text not null check (state in ('OPEN', 'VERIFIED', 'REFUSED')),
  reference text, -- the supplier's own name of the purchase
  cancel_outcome text check (cancel_outcome in ('cancelled', 'refused', 'unknown')),
  answers jsonb not null default '[]', -- redacted: suppliers/verification/redact.ts
  started_at timestamptz not null,
  finished_at timestamptz,
  primary key (supplier, verification_id)
);
create unique index supplier_verifications_open on supplier_verifications (supplier) where state = 'OPEN';

-- The access token of an account at a supplier: one node fetches it, all use it.
create table supplier_tokens (
  supplier text primary key,
  account text not null, -- SHA-256 of address and credentials: the token of other ones is not used
  token bytea, -- encrypted, bound to the owner supplier:<name>; null: it is being fetched, or none was issued
  expires_at timestamptz,
  next_fetch_at timestamptz not null, -- suppliers limit how often tokens are issued
  failure text -- why the last fetch brought none
);

-- When an account at a supplier may send its next request: its rate limit holds over all nodes.
create table supplier_rates (
  supplier text primary key, -- NAME, or NAME:usage where usage has a limit of its own
  next_at timestamptz not null
) with (fillfactor = 50);

-- Balances -----------------------------------------------------------------------------------------------------------

-- The operator's balance at a supplier, and the job that reads it. One node at a time has the lease.
create table supplier_balances (
  supplier text primary key references suppliers,
  due_at timestamptz not null,
  lease_token uuid,
  lease_until timestamptz,
  amount bigint, -- of the latest reading
  currency_code text check (currency_code ~ '^[A-Z]{3}$'),
  read_at timestamptz,
  message text, -- why the latest reading failed; null: it did not
  alert_below bigint check (alert_below between 1 and 9007199254740991), -- null: never
  is_low boolean not null default false, -- it is below the level, which was reported
  no_money_since timestamptz, -- the supplier refuses purchases for lack of money; null: it does not
  -- The balance on which the supplier was used again: the same one is not believed twice. null once it has changed.
  returned_amount bigint,
  no_money_alerted_at timestamptz, -- latest alert about that, if the balance has not risen since
  check ((lease_token is null) = (lease_until is null)),
  check ((amount is null) = (currency_code is null) and (amount is null) = (read_at is null))
);

create table supplier_balance_readings (
  supplier text not null references supplier_balances,
  read_at timestamptz not null,
  amount bigint not null,
  currency_code text not null,
  primary key (supplier, read_at)
);
create index supplier_balance_readings_read_at on supplier_balance_readings (read_at);

-- Products -----------------------------------------------------------------------------------------------------------

-- What suppliers sell, as their latest accepted catalogues say. A row is written only when its product changes.
create table supplier_products (
  supplier text not null references suppliers,
  product_code text not null,
  name text not null,
  package_type text not null check (package_type in ('BASE', 'TOPUP')),
  countries text[] not null, -- ISO 3166-1 alpha-2, ascending
  volume bigint check (volume between 1 and 9007199254740991), -- bytes, of a day pass for one day; null: unlimited
  is_day_pass boolean not null,
  duration_days integer not null check (duration_days between 1 and 3650),
  cost bigint not null check (cost between 0 and 9007199254740991), -- of a day pass for one day
  currency_code text not null check (currency_code ~ '^[A-Z]{3}$'),
  is_listed boolean not null, -- false: it has left the catalogue
  first_seen_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (supplier, product_code)
);

-- What a product has cost since when. Without a cost: it was not listed from then on.
create table supplier_product_costs (
  supplier text not null,
  product_code text not null,
  since timestamptz not null,
  cost bigint,
  currency_code text,
  primary key (supplier, product_code, since),
  foreign key (supplier, product_code) references supplier_products,
  check ((cost is null) = (currency_code is null))
);
create index supplier_product_costs_since on supplier_product_costs (since);

-- The job that reads a supplier's catalogue. One node at a time has the lease.
create table supplier_syncs (
  supplier text primary key references suppliers,
  every_minutes integer check (every_minutes between 15 and 43200), -- null: only on demand
  due_at timestamptz not null, -- infinity: only on demand
  lease_token uuid,
  lease_until timestamptz,
  started_at timestamptz, -- of the latest sync
  products_read integer not null default 0,
  finished_at timestamptz, -- of the latest finished sync
  outcome text check (outcome in ('DONE', 'HELD', 'FAILED')),
  message text, -- why it was held or failed
  listed integer not null default 0, -- products in the latest accepted catalogue
  accepted_at timestamptz,
  held json, -- an answer that an operator has to accept
  held_at timestamptz,
  has_changes boolean not null default false, -- products have changed that packages do not follow yet
  alerted_as text, -- what operators were alerted about last; null: the latest sync was accepted
  alerted_at timestamptz,
  check ((lease_token is null) = (lease_until is null)),
  check ((held is null) = (held_at is null))
);

-- Sale rules: which products are sold as packages, and at which price.
create table sale_rules (
  rule_name text primary key,
  position integer not null, -- the first rule that selects a product takes it
  definition json not null, -- as an operator last set it
  applied json, -- as it was last applied: changed costs are followed by it; null: never applied
  updated_at timestamptz not null
);

-- The packages that sale rules have made.
create table rule_packages (
  package_code text primary key references packages,
  rule_name text not null, -- of a deleted rule: its packages go off sale when the rules are next applied
  off_sale_by_rule boolean not null -- false while it is off sale: an operator took it off
);

-- What was imported last from another cell: an older publication is refused.
create table cell_imports (
  cell_name text primary key,
  published_at timestamptz not null, -- by the clock of that cell
  catalogue_version bigint not null, -- of that cell
  imported_at timestamptz not null
);

-- Rates that an operator entered, for costs in another currency than the sale.
create table exchange_rates (
  cost_currency text not null check (cost_currency ~ '^[A-Z]{3}$'),
  sale_currency text not null check (sale_currency ~ '^[A-Z]{3}$'),
  rate bigint not null check (rate between 1 and 1000000000000), -- in 1/1 000 000: units of the sale for one of the cost
  rated_at timestamptz not null, -- the date of the rate, as the operator states it
  updated_at timestamptz not null,
  primary key (cost_currency, sale_currency),
  check (cost_currency <> sale_currency)
);
