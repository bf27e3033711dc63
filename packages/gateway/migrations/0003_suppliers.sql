-- Suppliers: who they are, what they have in stock, and what they told us. None of it belongs to a tenant but the
-- tables that say so.

create table suppliers (
  supplier text primary key check (supplier ~ '^[A-Za-z0-9_.-]{1,64}$'),
  type text not null check (type in ('sandbox', 'stock', 'es2plus', 'gateway')),
  config bytea not null, -- encrypted JSON; the owner bound in is supplier:<name>
  paused boolean not null default false,
  version bigint not null default 1, -- counts changes: a node loads again what is newer than its own
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- The cheap counter: what could be reserved now, as far as somebody counts it. A product without a row is not counted.
create table stock_levels (
  supplier text not null references suppliers,
  product_code text not null,
  available bigint not null check (available >= 0),
  low_at bigint, -- a notice is given when available falls below; null: never
  low_told boolean not null default false,
  primary key (supplier, product_code)
) with (fillfactor = 50);

-- Activation codes that were imported. A code is reserved for an item's key in a transaction of its own, for ever.
create table stock_codes (
  supplier text not null references suppliers,
  code_id uuid not null,
  product_code text not null,
  state text not null default 'FREE' check (state in ('FREE', 'RESERVED', 'EXPIRED')),
  key text, -- orderNo-itemNo of the item it is reserved for
  fingerprint bytea not null, -- keyed hash of address and matching id: finds duplicates, tells nothing
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
create index stock_codes_expiring on stock_codes (expires_at) where state = 'FREE' and expires_at < 'infinity';

-- How far an ES2+ order came: facts that the SM-DP+ told, or that we chose, written between its calls and outside of any
-- lease, so that the next worker goes on from there. The matching id is ours, so that a lost ConfirmOrder loses nothing.
create table es2plus_orders (
  supplier text not null references suppliers,
  key text not null, -- orderNo-itemNo
  iccid text, -- null: the SM-DP+ chooses, and has not told yet
  iccid_chosen boolean not null,
  secrets bytea not null, -- encrypted: {matchingId, smdpAddress?}
  step text not null check (step in ('NEW', 'ORDERING', 'ORDERED', 'CONFIRMING', 'CONFIRMED', 'CANCELLING', 'CANCELLED')),
  updated_at timestamptz not null default now(),
  primary key (supplier, key)
);
create unique index es2plus_orders_iccid on es2plus_orders (supplier, iccid) where iccid_chosen;

create table es2plus_ranges (
  supplier text not null references suppliers,
  first_number bigint not null, -- of the range, without check digit, behind the issuer's prefix
  next_number bigint not null,
  primary key (supplier, first_number)
);

-- The sandbox's side: stands in for a supplier's own books, written in transactions of its own, so that tests can count
-- what a supplier was asked without believing our tables.
create sequence sandbox_iccids;
create table sandbox_issued (
  supplier text not null,
  key text not null, -- orderNo-itemNo
  product_code text not null,
  requests integer not null default 1, -- how often it was ordered
  answer text not null check (answer in ('ISSUED', 'REFUSED', 'LOST')),
  iccid_number bigint not null default nextval('sandbox_iccids'),
  matching_id text not null,
  issued_at timestamptz not null default now(),
  cancelled_at timestamptz,
  primary key (supplier, key)
);
create unique index sandbox_issued_iccid on sandbox_issued (iccid_number);

-- An eSIM that came for an item which was already refunded, or a second one for the same item. Never shown, never
-- debited; cancelled at the supplier where it can be, and reported.
create table orphans (
  tenant_id uuid not null,
  orphan_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  iccid text not null,
  secrets bytea not null, -- encrypted, as in profiles
  state text not null default 'FOUND' check (state in ('FOUND', 'CANCELLED', 'KEPT')), -- KEPT: cannot be cancelled
  detail text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, orphan_id),
  unique (tenant_id, order_id, item_no, supplier, iccid)
);
-- Items that reconciliation asks about although their order is settled: refunded while in doubt (the eSIM may yet
-- come), or being cancelled (the intent is committed before the supplier is called).
create table watched_items (
  tenant_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  purpose text not null check (purpose in ('REFUNDED_IN_DOUBT', 'CANCEL')),
  ask_at timestamptz not null,
  until timestamptz not null, -- then it is given up, and told of
  asked integer not null default 0,
  primary key (tenant_id, order_id, item_no, purpose)
);
create index watched_items_due on watched_items (ask_at);

-- What a supplier's own list has and we do not: found by comparing books.
create table unclaimed_esims (
  supplier text not null references suppliers,
  key text not null,
  iccid text not null,
  found_at timestamptz not null default now(),
  primary key (supplier, key, iccid)
);

create index orphans_found on orphans (tenant_id, orphan_id) where state = 'FOUND';
