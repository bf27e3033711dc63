-- Test twins. A twin is a tenant in the second schema of the database, <schema>_twins, which has the same tables. This table
-- is used there only; in the schema of the live dealers it is empty (docs/decisions/0035).

create table twins (
  tenant_id uuid primary key references tenants,
  live_tenant_id uuid not null, -- in the schema of the live dealers
  resets integer not null default 0,
  created_at timestamptz not null default now()
);
create unique index twins_live_tenant on twins (live_tenant_id);
