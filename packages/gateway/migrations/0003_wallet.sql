-- Money: wallets, transfers, adjustments, and the checks of the ledger.

-- Money is bigint in 1/10 000 of the currency. balance always equals the sum of the wallet's transfers; version counts
-- them without a gap. This row is the lock for everything that moves the tenant's money.
create table wallets (
  tenant_id uuid primary key references tenants,
  currency_code text not null,
  balance bigint not null default 0 check (balance between -9007199254740991 and 9007199254740991),
  credit_limit bigint not null default 0 check (credit_limit between 0 and 9007199254740991),
  daily_spend_limit bigint check (daily_spend_limit between 0 and 9007199254740991),
  low_balance_threshold bigint check (low_balance_threshold between 0 and 9007199254740991),
  low_balance_alerted_percent smallint not null default 0, -- percent of the threshold in the latest alert; 0: above it
  spent_on date not null default '1970-01-01', -- the UTC day that spent belongs to
  spent bigint not null default 0,
  version bigint not null default 0,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);

-- Double entry: each row moves amount from one account of the tenant to another, so the accounts sum to zero by
-- construction. The wallet is one side of every transfer. Append-only; created_at never decreases within a wallet.
-- Autovacuum runs without pauses here and in every other table that grows with orders: while it gathers statistics, the
-- server keeps all dead rows, including those of wallets and buckets, which are updated thousands of times a second.
create table transfers (
  tenant_id uuid not null,
  wallet_version bigint not null,
  kind text not null check (kind in ('ORDER', 'ESIM_TOPUP', 'REFUND', 'TOP_UP', 'ADJUSTMENT')),
  from_account text not null check (from_account in ('WALLET', 'SALES', 'TOP_UPS', 'REFUNDS', 'ADJUSTMENTS')),
  to_account text not null check (to_account in ('WALLET', 'SALES', 'TOP_UPS', 'REFUNDS', 'ADJUSTMENTS')),
  amount bigint not null check (amount >= 0),
  balance_after bigint not null,
  order_id uuid,
  item_no smallint,
  reference text,
  reason text,
  actor text, -- null: an order of the tenant, or its refund
  created_at timestamptz not null,
  primary key (tenant_id, wallet_version),
  check ((from_account = 'WALLET') <> (to_account = 'WALLET')),
  check ((kind in ('ORDER', 'ESIM_TOPUP')) = (order_id is not null and item_no is null)),
  check ((kind = 'REFUND') = (item_no is not null)),
  check ((kind in ('TOP_UP', 'ADJUSTMENT')) = (reference is not null))
) with (autovacuum_vacuum_cost_delay = 0);
-- A refund names one item and is unique for it; a reference is used once per wallet and kind.
create unique index transfers_refund on transfers (tenant_id, order_id, item_no) where kind = 'REFUND';
create unique index transfers_reference on transfers (tenant_id, kind, reference) where reference is not null;
-- For statements of one kind: a dealer's few top-ups lie between millions of orders. Orders stay out of the index, so
-- that an order's debit does not write to it.
create index transfers_kind on transfers (tenant_id, kind, wallet_version) where kind <> 'ORDER';

-- One person proposes an adjustment and another approves it; only then is the transfer posted, under the proposal's
-- reference. The reference of a rejected or expired proposal can be used again.
create table wallet_adjustments (
  tenant_id uuid not null references tenants,
  adjustment_id uuid not null,
  amount bigint not null check (amount between -9007199254740991 and 9007199254740991 and amount <> 0), -- negative: debit
  reference text not null,
  reason text not null,
  adjustment_status text not null default 'PROPOSED'
    check (adjustment_status in ('PROPOSED', 'APPROVED', 'REJECTED', 'EXPIRED')),
  proposed_by text not null,
  expires_at timestamptz not null,
  decided_by text,
  decided_at timestamptz,
  wallet_version bigint, -- of its transfer
  created_at timestamptz not null,
  primary key (tenant_id, adjustment_id),
  check ((adjustment_status = 'APPROVED') = (wallet_version is not null)),
  check (adjustment_status <> 'APPROVED' or (decided_by is not null and decided_by <> proposed_by))
);
create unique index wallet_adjustments_reference on wallet_adjustments (tenant_id, reference)
  where adjustment_status in ('PROPOSED', 'APPROVED');
create index wallet_adjustments_open on wallet_adjustments (adjustment_id) where adjustment_status = 'PROPOSED';
create index wallet_adjustments_newest on wallet_adjustments (adjustment_id);

-- A payment that a dealer reports. An operator confirms it; only then is the top-up posted, under the request's reference.
-- The reference of a declined request can be used again.
create table top_up_requests (
  tenant_id uuid not null references tenants,
  request_id uuid not null,
  amount bigint not null check (amount between 1 and 9007199254740991),
  reference text not null,
  request_status text not null default 'REQUESTED' check (request_status in ('REQUESTED', 'PAID', 'DECLINED')),
  requested_by text not null,
  confirmed_by text, -- the first of two people who confirm a large amount
  confirmed_at timestamptz,
  decided_by text,
  decided_at timestamptz,
  decline_reason text,
  wallet_version bigint, -- of its transfer
  created_at timestamptz not null,
  primary key (tenant_id, request_id),
  check ((request_status = 'PAID') = (wallet_version is not null)),
  check ((request_status = 'DECLINED') = (decline_reason is not null)),
  check ((request_status = 'REQUESTED') = (decided_by is null)),
  check (request_status <> 'PAID' or confirmed_by is null or confirmed_by <> decided_by)
);
create unique index top_up_requests_reference on top_up_requests (tenant_id, reference)
  where request_status in ('REQUESTED', 'PAID');
create unique index top_up_requests_transfer on top_up_requests (tenant_id, wallet_version);
create index top_up_requests_open on top_up_requests (request_id) where request_status = 'REQUESTED';
create index top_up_requests_newest on top_up_requests (request_id);

-- The file that a dealer attached to a request, as it was sent. Its type was recognised by its content.
create table top_up_receipts (
  tenant_id uuid not null,
  request_id uuid not null,
  file_name text not null,
  media_type text not null check (media_type in ('application/pdf', 'image/png', 'image/jpeg')),
  content bytea not null,
  primary key (tenant_id, request_id),
  foreign key (tenant_id, request_id) references top_up_requests
);

-- How dealers of a currency pay, and above which amount two people confirm that they did.
create table payment_settings (
  currency_code text primary key,
  bank_details text,
  payment_url text,
  second_person_above bigint check (second_person_above between 0 and 9007199254740991), -- null: one person is enough
  updated_at timestamptz not null
);

-- The operator as statements name it.
create table operator_details (
  singleton boolean primary key default true check (singleton),
  legal_name text,
  tax_id text,
  address text,
  updated_at timestamptz not null
);

-- Statements as they were issued. A document never changes, whatever happens to names, addresses or its layout later.
create table issued_statements (
  tenant_id uuid not null references tenants,
  month text not null check (month ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  statement_no text not null,
  document text not null, -- HTML
  issued_at timestamptz not null,
  primary key (tenant_id, month)
);

-- One row per UTC day and check of the whole ledger. Inserting the row claims the check, so that only one node runs it.
-- Kept for a year.
create table ledger_checks (
  checked_on date primary key,
  started_at timestamptz not null,
  finished_at timestamptz, -- null: running, or its node died; another node takes it over after a while
  tenants bigint,
  transfers bigint,
  orders bigint,
  faults bigint,
  first_faults jsonb -- messages of the first few
);
