-- Webhooks: events, their delivery to dealers' endpoints, health checks and replays.

create table webhook_endpoints (
  tenant_id uuid primary key references tenants,
  callback_url bytea, -- encrypted: receivers put tokens into it
  event_types text[] not null default '{ORDER_PAID,DELIVERY_UPDATED}',
  event_format text not null default 'DEALER' check (event_format in ('DEALER', 'RT')),
  usage_thresholds smallint[] not null default '{50,80,100}', -- percent, ascending
  expiry_notice_hours smallint[] not null default '{24,72}', -- ascending
  expiry_rescan_from timestamptz, -- when expiry_notice_hours changed; null: it applies to all eSIMs of the tenant
  enabled boolean not null default true,
  disabled_reason text, -- null: by the tenant; else GONE or FAILING
  failing_since timestamptz, -- first failure after the last success
  alerted_percent smallint not null default 0, -- of the time until it is disabled, in the latest alert
  updated_at timestamptz not null default now()
);

create index webhook_endpoints_rescan on webhook_endpoints (tenant_id) where expiry_rescan_from is not null;

-- Written in the transaction that caused them, and never updated.
create table events (
  tenant_id uuid not null,
  notify_id uuid not null,
  notify_type text not null check (notify_type in
    ('ORDER_PAID', 'DELIVERY_UPDATED', 'ESIM_USAGE', 'ESIM_EXPIRING', 'ESIM_ACTION_UPDATED', 'BALANCE_LOW')),
  order_id uuid, -- null: BALANCE_LOW, which concerns no single order
  content json not null,
  details json, -- what only the RT format shows (webhooks/notification-body.ts)
  created_at timestamptz not null,
  primary key (tenant_id, notify_id)
) partition by range (notify_id);
-- Without tenant_id: with it, the planner took this index for finding all events of a tenant while a new partition had
-- no statistics.
create index events_order on events (order_id);

-- Events that are not delivered. An acknowledged event is deleted from this narrow table, so that the event itself is
-- written only once. UNSENT: no endpoint wanted it.
create table deliveries (
  tenant_id uuid not null,
  notify_id uuid not null,
  delivery_state text not null check (delivery_state in ('PENDING', 'DEAD', 'UNSENT')),
  due_at timestamptz, -- of the next attempt; null: none
  attempts smallint not null default 0, -- since it was recorded or last replayed
  generation bigint not null default 0, -- grows with each resend or replay; results of an earlier one are ignored
  primary key (tenant_id, notify_id)
) partition by range (notify_id);
-- Ends with the id, so that a claim continues after the last one even when many are due at the same moment.
create index deliveries_due on deliveries (tenant_id, due_at, notify_id) where due_at is not null;
create index deliveries_dead on deliveries (tenant_id, notify_id) where delivery_state = 'DEAD';

-- Which node sends a dealer's events, and until when no other node may. The lease covers all events of the dealer: a
-- delivery is written when it has a result, not when it is claimed.
create table endpoint_queues (
  tenant_id uuid primary key references tenants,
  node_id uuid not null,
  lease_until timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_cost_delay = 0);

-- Found only by their event.
create table delivery_attempts (
  tenant_id uuid not null,
  attempt_id uuid not null, -- also the RT-RequestID of the attempt
  notify_id uuid not null,
  notify_type text not null, -- includes CHECK_HEALTH, which has no event
  attempt_no smallint not null, -- since the event was recorded or last replayed
  url text not null, -- values in its query masked
  address text, -- the IP address that was connected to
  started_at timestamptz not null,
  duration_ms integer not null,
  http_status integer,
  outcome text not null, -- 'acknowledged', or a message that says what failed
  answer bytea, -- first 4 KiB, secrets masked
  signature_starts text, -- first characters of X-Signature and webhook-signature; null: nothing was signed
  primary key (tenant_id, notify_id, attempt_id)
) partition by range (attempt_id);

-- Health checks of callback URLs: one at a time and ten a minute per tenant, over all nodes.
create table webhook_checks (
  tenant_id uuid primary key references tenants,
  lease_token uuid not null, -- of the latest check
  lease_until timestamptz not null, -- a dead node blocks the tenant's checks no longer than this
  started_at timestamptz[] not null -- of the checks in the last minute
);

-- Events to be sent again, in steps: a job that survives restarts.
create table webhook_replays (
  tenant_id uuid not null references tenants,
  replay_id uuid not null,
  notify_types text[] not null,
  delivery_states text[] not null check (delivery_states <@ '{DELIVERED,DEAD,UNSENT}'),
  from_id uuid not null, -- notifyIds are UUIDv7, so a range of them is a range of time
  to_id uuid not null, -- exclusive
  cursor_id uuid not null, -- last event processed: the next step begins after it
  rate_per_s integer not null check (rate_per_s between 1 and 1000),
  matched integer not null, -- when the replay was created
  replayed integer not null default 0,
  replay_state text not null default 'RUNNING' check (replay_state in ('RUNNING', 'DONE', 'CANCELLED')),
  stepped_at timestamptz not null,
  actor text not null,
  created_at timestamptz not null,
  finished_at timestamptz,
  primary key (tenant_id, replay_id)
);
create index webhook_replays_running on webhook_replays (tenant_id, replay_id) where replay_state = 'RUNNING';
