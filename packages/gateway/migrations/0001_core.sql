-- The core: deployment, tenants, wallets, orders, fulfilment, profiles, events, admission, audit, notices.
--
-- Every row that belongs to a tenant has tenant_id first in its primary key and in every unique and foreign key, so
-- that tenants can be spread over shards later. tenants, packages, price rules, suppliers and people are small
-- reference tables. Ids are UUIDv7, made in the application; what is dropped by age is range-partitioned (partitions
-- are made ahead and dropped whole by lib/postgres/partitions.ts).

create table deployment (
  singleton boolean primary key default true check (singleton),
  kind text not null check (kind in ('local', 'test', 'production')),
  master_key_fingerprint text not null,
  link_key bytea not null, -- 32 random bytes, encrypted: authenticates cursors and QR links
  demo_tenant_id uuid, -- on a local deployment
  created_at timestamptz not null default now()
);

-- Tenants ------------------------------------------------------------------------------------------------------------

create table tenants (
  tenant_id uuid primary key,
  app_key text not null unique,
  client_name text not null,
  currency_code text not null check (currency_code ~ '^[A-Z]{3}$'),
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'SUSPENDED')),
  ip_allowlist text[] not null default '{}', -- canonical addresses and CIDR blocks; empty: any address
  qps_limit integer check (qps_limit between 1 and 100000), -- null: the deployment's default
  legal_name text,
  tax_id text,
  billing_address text,
  billing_email text,
  version bigint not null default 1, -- of credentials and settings: admission refuses to judge by an older one
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- At most two secrets of a tenant verify: the current one (valid_until is null) and one in its grace period.
create table tenant_secrets (
  tenant_id uuid not null references tenants,
  secret_id uuid not null,
  ciphertext bytea not null,
  valid_until timestamptz,
  proven_at timestamptz, -- when a request signed with it first arrived: events are signed with it from then on
  created_at timestamptz not null default now(),
  primary key (tenant_id, secret_id)
);
create unique index tenant_secrets_current on tenant_secrets (tenant_id) where valid_until is null;

-- Admission ----------------------------------------------------------------------------------------------------------

-- RequestIDs in use, in slots of one hour of RT-Timestamp (hours since 1970). Near the edge of a slot an id is entered
-- on both sides of it (admission/admit.ts says why). Written with synchronous_commit off: a crash of the database may
-- forget its last second, of requests that changed nothing.
create table request_ids (
  tenant_id uuid not null,
  request_id uuid not null,
  slot integer not null,
  primary key (tenant_id, request_id, slot)
) partition by range (slot);

-- Token buckets of one second's worth. A crash of the database refills them: they need no log.
create unlogged table qps_buckets (
  tenant_id uuid primary key,
  tokens double precision not null,
  qps_limit integer not null, -- the rest is of the latest statement
  wanted integer not null,
  granted integer not null,
  refilled_at timestamptz not null
) with (fillfactor = 50);

-- What a bucket holds at a moment: it gains qps_limit a second and holds one second's worth.
create function qps_refilled(tokens double precision, refilled_at timestamptz, qps_limit integer, at timestamptz)
returns double precision language sql immutable parallel safe
return least(qps_limit, tokens + greatest(0, extract(epoch from at - refilled_at)::double precision) * qps_limit);

-- Wallet -------------------------------------------------------------------------------------------------------------

-- Money is bigint in 1/10 000 of the currency. balance always equals the sum of the wallet's transfers; version counts
-- them without a gap. The row is the lock under which everything that moves money happens.
create table wallets (
  tenant_id uuid primary key references tenants,
  currency_code text not null,
  balance bigint not null default 0 check (balance between -9007199254740991 and 9007199254740991),
  credit_limit bigint not null default 0 check (credit_limit between 0 and 9007199254740991),
  daily_spend_limit bigint check (daily_spend_limit between 0 and 9007199254740991),
  low_balance_threshold bigint check (low_balance_threshold between 0 and 9007199254740991),
  low_balance_step smallint not null default 0, -- percent of the threshold last told of; 0: above it
  spent_on date not null default '1970-01-01', -- the UTC day that spent belongs to
  spent bigint not null default 0,
  version bigint not null default 0,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);

-- Double entry: each row moves amount from one account of the tenant to another, so the accounts sum to zero by
-- construction. The wallet is one side of every transfer. Append-only; created_at never goes back within a wallet.
create table transfers (
  tenant_id uuid not null,
  wallet_version bigint not null,
  kind text not null check (kind in ('ORDER', 'REFUND', 'TOP_UP', 'ADJUSTMENT')),
  from_account text not null check (from_account in ('WALLET', 'SALES', 'TOP_UPS', 'REFUNDS', 'ADJUSTMENTS')),
  to_account text not null check (to_account in ('WALLET', 'SALES', 'TOP_UPS', 'REFUNDS', 'ADJUSTMENTS')),
  amount bigint not null check (amount >= 0),
  balance_after bigint not null,
  order_id uuid,
  item_no smallint,
  reference text,
  reason text,
  actor text, -- null: the tenant's own order, or its refund
  created_at timestamptz not null,
  primary key (tenant_id, wallet_version),
  check ((from_account = 'WALLET') <> (to_account = 'WALLET')),
  check ((kind = 'ORDER') = (order_id is not null and item_no is null)),
  check ((kind = 'REFUND') = (item_no is not null)),
  check ((kind in ('TOP_UP', 'ADJUSTMENT')) = (reference is not null))
);
-- A refund names one item and is unique on it; a reference is used once per wallet and kind.
create unique index transfers_refund on transfers (tenant_id, order_id, item_no) where kind = 'REFUND';
create unique index transfers_reference on transfers (tenant_id, kind, reference) where reference is not null;

-- Orders -------------------------------------------------------------------------------------------------------------

-- The order is its own job: due_at says when fulfilment looks at it next (null: nothing left to do), the lease says who
-- works on it. Lease columns are in no index, so that a claim is a HOT update. Never time-partitioned: transaction_id
-- is unique for ever. orderNo on the wire is order_id in Crockford base 32 (lib/ids.ts).
create table orders (
  tenant_id uuid not null,
  order_id uuid not null,
  transaction_id text not null,
  order_status text not null check (order_status in
    ('PAID', 'ALLOCATING', 'DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'UNDER_REVIEW', 'CANCELLED')),
  amount bigint not null,
  refunded_amount bigint not null default 0 check (refunded_amount between 0 and amount),
  currency_code text not null,
  balance_after bigint not null,
  wallet_version bigint not null, -- of its debit
  package_lines jsonb not null, -- [{packageCode, packageName, count, price}]: as asked, at the price debited
  remark text,
  status_history jsonb not null, -- [{orderStatus, time}]
  event_sequence integer not null, -- of its latest event
  due_at timestamptz,
  lease_token uuid,
  lease_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, order_id),
  unique (tenant_id, transaction_id)
) with (fillfactor = 80);
create index orders_due on orders (tenant_id, due_at) where due_at is not null;
create index orders_under_review on orders (tenant_id, order_id) where order_status = 'UNDER_REVIEW';

-- One eSIM each. Its key at the supplier is orderNo-itemNo.
create table order_items (
  tenant_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  line_no smallint not null, -- index into orders.package_lines
  package_code text not null,
  price bigint not null,
  item_status text not null default 'WAITING' check (item_status in
    ('WAITING', 'ASKED', 'UNKNOWN', 'REVIEW', 'DELIVERED', 'REFUSED', 'CANCELLED')),
  route_no smallint not null default 0, -- which of the package's suppliers, in their order
  supplier text, -- fixed, with product and cost, when first asked
  product_code text,
  cost bigint,
  cost_currency text,
  attempts smallint not null default 0, -- at the present supplier
  asked_at timestamptz, -- the present supplier, first: its deadline counts from here
  in_doubt_at timestamptz, -- start of the latest purchase whose outcome nobody knows
  failure_reason text,
  retry_at timestamptz,
  updated_at timestamptz not null,
  primary key (tenant_id, order_id, item_no),
  foreign key (tenant_id, order_id) references orders
) with (fillfactor = 70);

-- A row is committed before a supplier is called; one without an outcome is unknown.
create table supplier_attempts (
  tenant_id uuid not null,
  attempt_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  operation text not null check (operation in ('ORDER', 'QUERY', 'CANCEL')),
  lease_token uuid not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  outcome text check (outcome in ('delivered', 'refused', 'retry', 'unknown', 'cancelled')),
  detail text, -- in plain words; never an activation code
  primary key (tenant_id, attempt_id)
) partition by range (attempt_id);
create index supplier_attempts_order on supplier_attempts (tenant_id, order_id);

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
  smdp_status_time timestamptz, -- the notice's own time: late and repeated ones never move a profile back
  total_volume bigint,
  order_usage bigint,
  usage_update_time timestamptz,
  total_duration integer not null,
  duration_unit text not null,
  install_before timestamptz,
  activate_time timestamptz,
  expired_time timestamptz,
  asked_at timestamptz, -- when its supplier was last asked for status and usage; null: it does not report them
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, profile_id),
  unique (tenant_id, order_id, item_no),
  foreign key (tenant_id, order_id, item_no) references order_items
) with (fillfactor = 85);
-- Suppliers reuse ICCIDs, so not unique; a notice from an SM-DP+ starts here without knowing the tenant.
create index profiles_iccid on profiles (iccid);
-- Serves every combination of the two filters: one that is not given is walked value by value (profiles/list.ts).
create index profiles_status on profiles (tenant_id, esim_status, (coalesce(smdp_status, '')), profile_id);

-- What expires next (profiles/loop.ts).
create index profiles_expiry on profiles
  (tenant_id, (case esim_status when 'GOT_RESOURCE' then install_before else expired_time end))
  where esim_status in ('GOT_RESOURCE', 'IN_USE');
create index profiles_asked on profiles (tenant_id, supplier, asked_at)
  where asked_at is not null and esim_status in ('GOT_RESOURCE', 'IN_USE');

-- Events -------------------------------------------------------------------------------------------------------------

create table webhook_endpoints (
  tenant_id uuid primary key references tenants,
  callback_url text,
  event_types text[] not null default '{ORDER_PAID,DELIVERY_UPDATED}',
  enabled boolean not null default true,
  disabled_reason text, -- null: by the tenant; else GONE or FAILING
  failing_since timestamptz, -- first failure after the last success
  warned_percent smallint not null default 0,
  updated_at timestamptz not null default now()
);

-- Written in the transaction that caused them; the row is its own delivery job. UNSENT: no endpoint wanted it.
create table events (
  tenant_id uuid not null,
  notify_id uuid not null,
  notify_type text not null check (notify_type in ('ORDER_PAID', 'DELIVERY_UPDATED')),
  order_id uuid not null,
  content json not null,
  created_at timestamptz not null,
  delivery_state text not null check (delivery_state in ('PENDING', 'DELIVERED', 'DEAD', 'UNSENT')),
  due_at timestamptz, -- of the next attempt; null: none
  attempts smallint not null default 0, -- since it was recorded or last replayed
  -- Lease columns are in no index, so that a claim is a HOT update (partitions leave room for it).
  lease_token uuid,
  lease_until timestamptz,
  settled_at timestamptz, -- when it became DELIVERED or DEAD
  primary key (tenant_id, notify_id)
) partition by range (notify_id);
create index events_due on events (tenant_id, due_at) where due_at is not null;
create index events_order on events (tenant_id, order_id);
create index events_dead on events (tenant_id, notify_id) where delivery_state = 'DEAD';

create table delivery_attempts (
  tenant_id uuid not null,
  attempt_id uuid not null, -- also the RT-RequestID of the attempt
  notify_id uuid not null,
  notify_type text not null, -- CHECK_HEALTH among them, which has no event
  attempt_no smallint not null, -- since the event was recorded or last replayed
  url text not null, -- values in its query masked
  address text, -- the one that was dialled
  started_at timestamptz not null,
  duration_ms integer not null,
  http_status integer,
  outcome text not null, -- 'acknowledged', or what went wrong in plain words
  answer bytea, -- first 4 KiB, secrets masked
  primary key (tenant_id, attempt_id)
) partition by range (attempt_id);
create index delivery_attempts_event on delivery_attempts (tenant_id, notify_id);

-- Audit and notices --------------------------------------------------------------------------------------------------

-- The nil tenant (all zeroes) owns what concerns no tenant.
create table audit_log (
  tenant_id uuid not null,
  audit_id uuid not null,
  actor text not null, -- cli:<os user>, person:<id>, tenant, system
  action text not null, -- noun.verb
  subject text,
  before jsonb,
  after jsonb,
  address text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, audit_id)
);
create index audit_log_time on audit_log (audit_id);

create table notices (
  tenant_id uuid not null,
  notice_id uuid not null,
  kind text not null, -- LOW_BALANCE, ENDPOINT_FAILING, LOW_STOCK, …
  audience text not null check (audience in ('OPERATOR', 'TENANT')),
  message text not null,
  data jsonb not null default '{}',
  read_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, notice_id)
);
create index notices_time on notices (notice_id);

-- Bumped by every change of packages, prices, plans or routes, in the transaction that makes it.
create table catalogue_version (
  singleton boolean primary key default true check (singleton),
  version bigint not null,
  changed_at timestamptz not null
) with (fillfactor = 50);
insert into catalogue_version values (true, 1, now());
