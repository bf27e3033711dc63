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

-- How long the database's clock has run without a jump. Nothing is dropped by age until that is a day
-- (retention/steady-clock.ts).
create table retention_clock (
  singleton boolean primary key default true check (singleton),
  seen_at timestamptz not null, -- by the latest pass of the retention loop
  steady_since timestamptz not null
);

-- The nil tenant (all zeroes) owns entries that concern no tenant.
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
