-- The catalogue: packages, their coverage, suppliers and prices. Reference tables.
--
-- Nothing is deleted. A price, rule or assignment that ends stays as a row with removed = true, so that the change feed
-- can report which tenant lost a package, and so that a node reloads only rows newer than its own. Every time below is
-- the changed_at of the catalogue version that wrote the row (bumpCatalogue): strictly increasing, in milliseconds.
--
-- first_set_at and first_on_sale_at say since when a price, rule, plan or group existed, or a package was on sale, for
-- the first time: the change feed must not mention what a tenant never could buy, and updated_at has only the last
-- change. Null: unknown, treated as always.

-- Incremented by every change of packages, prices, plans or routes, in the transaction that makes it.
create table catalogue_version (
  singleton boolean primary key default true check (singleton),
  version bigint not null,
  changed_at timestamptz not null
) with (fillfactor = 50);
insert into catalogue_version values (true, 1, now());

-- Where packages work. Shared, because thousands of packages have the same coverage. The id is the SHA-256 of the
-- content. Rows are never deleted: the audit log refers to them.
create table coverages (
  coverage_id text primary key,
  location_codes text[] not null, -- ISO 3166-1 alpha-2, and !RG or !GL
  location_networks json not null -- the contract's locationNetworkList
);

create table packages (
  package_code text primary key,
  slug text not null unique,
  package_type text not null default 'BASE' check (package_type in ('BASE', 'TOPUP')),
  product_family text, -- a top-up fits only eSIMs of packages of the same family; null is a family, too
  name text not null,
  description text,
  data_type text not null check (data_type in ('TOTAL', 'DAILY', 'UNLIMITED')),
  volume bigint check (volume between 1 and 9007199254740991), -- bytes; per day when DAILY
  duration integer not null check (duration between 1 and 3650),
  duration_unit text not null check (duration_unit = 'DAY'),
  period_num_min smallint, -- of a day pass, whose duration is 1; null: the duration is fixed
  period_num_max smallint,
  unused_valid_time integer not null check (unused_valid_time between 0 and 3650), -- days
  activation_policy text not null check (activation_policy in ('ON_INSTALL', 'ON_FIRST_NETWORK', 'ON_PURCHASE')),
  ekyc_required boolean not null,
  coverage_id text not null references coverages,
  speed text,
  fup_policy text,
  sms_status smallint not null check (sms_status between 0 and 2),
  allow_loss boolean not null, -- sold even where the supplier costs more than the price
  on_sale boolean not null,
  ever_on_sale boolean not null, -- a package that was never on sale cannot be taken off sale
  sale_changed_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null, -- of what a dealer sees
  touched_at timestamptz not null, -- of any change, including suppliers and list prices: a reload looks for it
  first_on_sale_at timestamptz,
  cancellable boolean not null default false, -- the dealer may cancel an unused eSIM
  cancel_within_days integer check (cancel_within_days between 1 and 3650), -- null: no limit
  cancel_fee_percent smallint not null default 0 check (cancel_fee_percent between 0 and 100),
  lacks_money boolean not null default false, -- all its suppliers refuse purchases for lack of money: off sale until one sells
  check ((volume is null) = (data_type = 'UNLIMITED')),
  check ((period_num_min is null) = (period_num_max is null)),
  check (period_num_min between 1 and period_num_max and period_num_max <= 365 and data_type = 'DAILY' and duration = 1
    or period_num_min is null)
);
create index packages_touched on packages (touched_at);
create index packages_lacking_money on packages (package_code) where lacks_money;

-- The routes of a package, tried in order of position.
create table package_suppliers (
  package_code text not null references packages,
  position smallint not null check (position between 0 and 9),
  supplier text not null,
  product_code text not null,
  cost_price bigint check (cost_price between 0 and 9007199254740991),
  cost_currency text check (cost_currency ~ '^[A-Z]{3}$'),
  primary key (package_code, position),
  check ((cost_price is null) = (cost_currency is null))
);
create index package_suppliers_product on package_suppliers (supplier, product_code);

create table list_prices (
  package_code text not null references packages,
  currency_code text not null check (currency_code ~ '^[A-Z]{3}$'),
  price bigint not null check (price between 0 and 9007199254740991),
  retail_price bigint check (retail_price between 0 and 9007199254740991),
  removed boolean not null,
  updated_at timestamptz not null,
  first_set_at timestamptz,
  primary key (package_code, currency_code)
);

create table price_plans (
  plan_name text primary key,
  display_name text, -- what people see beside the name; null: nothing
  created_at timestamptz not null,
  removed boolean not null default false
);

-- A rule is for one package, for those of a location or of the supplier that is tried first, or for all (target ''). The
-- order of precedence is stated at Plan (catalogue/pricing/plan-rules.ts). currency_code '': every currency (percent).
create table price_plan_rules (
  plan_name text not null references price_plans,
  scope text not null check (scope in ('PACKAGE', 'LOCATION', 'SUPPLIER', 'ALL')),
  target text not null, -- package code, location code, name of the supplier, or ''
  currency_code text not null check (currency_code ~ '^([A-Z]{3})?$'),
  percent bigint check (percent between -1000000 and 10000000), -- in 1/10 000 of a percent
  basis text not null default 'LIST' check (basis in ('LIST', 'COST')), -- of the percentage
  rounding text not null default 'none', -- of the percentage: catalogue/pricing/price-engine.ts
  price bigint check (price between 0 and 9007199254740991),
  valid_from timestamptz not null default '-infinity', -- compared with the database's clock at each order and list
  valid_until timestamptz not null default 'infinity', -- exclusive
  removed boolean not null,
  updated_at timestamptz not null,
  first_set_at timestamptz,
  primary key (plan_name, scope, target, currency_code, valid_from),
  check ((scope = 'ALL') = (target = '')),
  check (valid_from < valid_until),
  check ((percent is null) <> (price is null)),
  check ((percent is not null) = (currency_code = '')),
  check (price is null or scope in ('PACKAGE', 'ALL')),
  check (basis = 'LIST' or percent >= 0)
);
create index price_plan_rules_updated on price_plan_rules (updated_at);

create table price_groups (
  group_name text primary key,
  created_at timestamptz not null,
  removed boolean not null default false
);

create table price_group_plans (
  group_name text not null references price_groups,
  plan_name text not null references price_plans,
  removed boolean not null,
  updated_at timestamptz not null,
  first_set_at timestamptz,
  primary key (group_name, plan_name)
);
create unique index price_group_plans_one on price_group_plans (group_name) where not removed;

create table tenant_price_plans (
  tenant_id uuid not null references tenants,
  plan_name text not null,
  removed boolean not null,
  updated_at timestamptz not null,
  first_set_at timestamptz,
  primary key (tenant_id, plan_name)
);
create unique index tenant_price_plans_one on tenant_price_plans (tenant_id) where not removed;

create table tenant_price_groups (
  tenant_id uuid not null references tenants,
  group_name text not null,
  removed boolean not null,
  updated_at timestamptz not null,
  first_set_at timestamptz,
  primary key (tenant_id, group_name)
);
create unique index tenant_price_groups_one on tenant_price_groups (tenant_id) where not removed;

-- A tenant's own price, in its currency.
create table tenant_prices (
  tenant_id uuid not null references tenants,
  package_code text not null,
  price bigint not null check (price between 0 and 9007199254740991),
  removed boolean not null,
  updated_at timestamptz not null,
  first_set_at timestamptz,
  primary key (tenant_id, package_code)
);
create index tenant_prices_updated on tenant_prices (updated_at);
