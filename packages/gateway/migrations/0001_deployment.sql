-- The deployment: what this database is for, which master key protects it, and the audit log.
--
-- Conventions of all tables: a row that belongs to a tenant has tenant_id first in its primary key and in every unique
-- and foreign key, so that the rows of one tenant are key ranges. Tenants, catalogue, suppliers and people are small
-- reference tables. Ids are UUIDv7 made by the application. Tables whose rows are dropped by age are range-partitioned;
-- lib/partitions.ts creates the partitions ahead of time and drops them whole.

create table deployment (
  singleton boolean primary key default true check (singleton),
  kind text not null check (kind in ('local', 'test', 'production')),
  master_key_fingerprint text not null,
  link_key bytea not null, -- 32 random bytes, encrypted: authenticates cursors and QR links
  demo_tenant_id uuid, -- on a local deployment
  created_at timestamptz not null default now(),
  rotating_to text, -- fingerprint of the master key that a rotation is changing to; null: no rotation is running
  retired_keys text[] not null default '{}' -- fingerprints of master keys that must no longer encrypt anything
);

-- What the operator has set in the console, for every node.
create table operator_settings (
  singleton boolean primary key default true check (singleton),
  new_dealer_qps_limit integer, -- null: new dealers get no limit of their own, so DEFAULT_QPS_LIMIT applies
  alert_emails text[] not null default '{}' -- empty: OPERATOR_EMAIL
);

-- How the database's clock has run between the passes of the retention loop (retention/steady-clock.ts).
create table retention_clock (
  singleton boolean primary key default true check (singleton),
  seen_at timestamptz not null, -- by the latest pass
  steady_since timestamptz not null, -- no jump since then; nothing is deleted by age until this is a day ago
  elapsed_ms double precision not null default 0, -- that the latest pass has counted
  confirmed_at timestamptz not null default now() -- how far the clock has come by the time that passes have counted
);

-- For how long the hour of each partition of request_ids has been over, by the time that passes have counted
-- (retention/request-id-slots.ts).
create table request_id_slots (
  slot integer primary key,
  age_ms double precision not null
);

-- The nil tenant (all zeroes) owns entries that concern no tenant.
create table audit_log (
  tenant_id uuid not null,
  audit_id uuid not null,
  actor text not null, -- cli:<os user>, person:<id>, tenant, unsigned, system
  action text not null, -- noun.verb
  subject text,
  before jsonb,
  after jsonb,
  address text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, audit_id)
);
create index audit_log_time on audit_log (audit_id);
