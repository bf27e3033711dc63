-- Webhooks: health checks of callback URLs, and replays.

-- One check at a time and ten a minute per tenant, over all nodes.
create table webhook_checks (
  tenant_id uuid primary key references tenants,
  token uuid not null, -- of the latest check
  running_until timestamptz not null, -- a node that dies holds its tenant up no longer than this
  started_at timestamptz[] not null -- those of the last minute
);

-- Events to be sent once more, a part at a time: a job that survives restarts.
create table webhook_replays (
  tenant_id uuid not null references tenants,
  replay_id uuid not null,
  notify_types text[] not null,
  delivery_states text[] not null check (delivery_states <@ '{DELIVERED,DEAD,UNSENT}'),
  from_id uuid not null, -- notifyIds are UUIDv7: a range of them is a range of time
  to_id uuid not null, -- the first one behind the range
  next_id uuid not null, -- the last one dealt with: the next step begins behind it
  rate_per_s integer not null check (rate_per_s between 1 and 1000),
  matched integer not null, -- when it was asked for
  replayed integer not null default 0,
  replay_state text not null default 'RUNNING' check (replay_state in ('RUNNING', 'DONE', 'CANCELLED')),
  stepped_at timestamptz not null,
  actor text not null,
  created_at timestamptz not null,
  finished_at timestamptz,
  primary key (tenant_id, replay_id)
);
create index webhook_replays_running on webhook_replays (tenant_id, replay_id) where replay_state = 'RUNNING';
