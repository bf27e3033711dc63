-- Tenants, their secrets, and the admission of their requests.

create table tenants (
  tenant_id uuid primary key,
  app_key text not null unique,
  tenant_name text not null, -- clientName on the wire
  currency_code text not null check (currency_code ~ '^[A-Z]{3}$'),
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'SUSPENDED')),
  ip_allowlist text[] not null default '{}', -- canonical addresses and CIDR blocks; empty: any address
  unsigned_requests boolean not null default false, -- the operator's switch; more is needed (tenants/allowlist.ts)
  qps_limit integer check (qps_limit between 1 and 100000), -- null: the deployment's default
  legal_name text,
  tax_id text,
  billing_address text,
  billing_email text,
  tags text[] not null default '{}', -- the operator's; the dealer never sees them
  version bigint not null default 1, -- counts changes of credentials and settings; admission rejects an older one
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- At most two secrets of a tenant verify: the current one (valid_until is null) and one in its grace period.
create table tenant_secrets (
  tenant_id uuid not null references tenants,
  secret_id uuid not null,
  ciphertext bytea not null,
  valid_until timestamptz,
  proven_at timestamptz, -- when a request signed with it first arrived; from then on events are signed with it
  created_at timestamptz not null default now(),
  primary key (tenant_id, secret_id)
);
create unique index tenant_secrets_current on tenant_secrets (tenant_id) where valid_until is null;

-- What the operator's people write down about a dealer or one of its orders. The dealer never sees it.
create table notes (
  tenant_id uuid not null references tenants,
  note_id uuid not null,
  order_id uuid, -- null: about the dealer
  text text not null,
  actor text not null,
  created_at timestamptz not null,
  primary key (tenant_id, note_id)
);

-- Dealers of the trial data of a local gateway (trial/trial-data.ts). Empty everywhere else.
create table trial_dealers (
  tenant_id uuid primary key references tenants,
  steps_done smallint not null default 0 -- weeks that were filled, and today
);

-- Admission ----------------------------------------------------------------------------------------------------------

-- RequestIDs in use, in slots of one hour of RT-Timestamp (hours since 1970). Near the edge of a slot an id is inserted
-- on both sides of it (admission/admit.ts explains why). Written with synchronous_commit off: a crash of the database
-- may lose the last second of rows, which belong to requests that changed nothing.
create table request_ids (
  tenant_id uuid not null,
  request_id uuid not null,
  slot integer not null,
  primary key (tenant_id, request_id, slot)
) partition by range (slot);

-- Token buckets that hold one second of requests. Unlogged: a crash of the database only refills them.
create unlogged table qps_buckets (
  tenant_id uuid primary key,
  tokens double precision not null,
  qps_limit integer not null, -- this and the columns below describe the latest statement
  requested integer not null,
  granted integer not null,
  refilled_at timestamptz not null
) with (fillfactor = 50);

-- The tokens of a bucket at a moment: it gains qps_limit a second and holds one second's worth.
create function qps_refilled(tokens double precision, refilled_at timestamptz, qps_limit integer, at timestamptz)
returns double precision language sql immutable parallel safe
return least(qps_limit, tokens + greatest(0, extract(epoch from at - refilled_at)::double precision) * qps_limit);

-- Moves to and from other cells ----------------------------------------------------------------------------------------

-- The latest move of a tenant, in both cells (cells/move). A cell without moves has no rows and no triggers.
create table tenant_moves (
  tenant_id uuid primary key, -- in the target the row exists before the tenant does
  move_id uuid not null,
  direction text not null check (direction in ('OUT', 'IN')),
  other_cell text not null,
  other_nodes jsonb not null default '[]', -- API nodes of the other cell: host, port, metricsPort
  state text not null check (state in ('PREPARED', 'COPYING', 'FENCED', 'VERIFIED', 'SWITCHED', 'DONE')),
  held_until timestamptz not null default '-infinity', -- until then no loop begins work for this tenant
  fenced_until timestamptz not null default '-infinity', -- until then nothing of this tenant is written, requests get 000002
  copied jsonb not null default '{}', -- IN: by table, the last key that was copied
  actor text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- In the source: rows that changed since they were last read for the copy. Written by guard_moved_tenant.
create table tenant_move_changes (
  tenant_id uuid not null,
  table_name text not null,
  change_no bigint not null generated always as identity,
  key jsonb not null,
  primary key (tenant_id, table_name, change_no)
);

-- Each table with rows of a tenant calls it while that tenant is moved, and in the source until they are removed:
-- arguments are the tenant, the table and the columns of its primary key. It refuses writes behind the fence, as if the
-- row were locked, and otherwise notes in the source what changed. The share lock makes the setting of the fence wait for
-- transactions that have written, and lets nobody write who has not seen it. A RequestID is noted without lock or refusal:
-- it is entered together with those of other tenants, and those entered behind the fence are copied after the switch.
create function guard_moved_tenant() returns trigger language plpgsql as $$
declare
  move tenant_moves;
  changed jsonb;
begin
  if current_setting('dealer_esim.moved_tenant', true) = tg_argv[0] then
    return null;
  end if;
  if tg_argv[1] = 'request_ids' then
    select * into move from tenant_moves where tenant_id = tg_argv[0]::uuid;
  else
    select * into move from tenant_moves where tenant_id = tg_argv[0]::uuid for share;
    if move.fenced_until > clock_timestamp() then
      raise exception using errcode = 'lock_not_available',
        message = format('tenant %s is being moved to or from cell %s', tg_argv[0], move.other_cell);
    end if;
  end if;
  if move.direction = 'OUT' then
    if tg_op = 'DELETE' then
      changed := to_jsonb(old);
    else
      changed := to_jsonb(new);
    end if;
    insert into tenant_move_changes (tenant_id, table_name, key)
    select tg_argv[0]::uuid, tg_argv[1], jsonb_object_agg(name, changed -> name) from unnest(tg_argv[2:]) as name;
  end if;
  return null;
end $$;
