-- A dealer's events go out through one node at a time: the lease is the dealer's, and a delivery is written when something
-- has become of it, not when it is claimed (docs/decisions/0050-deliveries.md). Nodes of the release before would send beside
-- this: they are stopped before it runs.

-- Who sends a dealer's events, and until when nobody else does.
create table webhook_lanes (
  tenant_id uuid primary key references tenants (tenant_id),
  node_id uuid not null,
  held_until timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_cost_delay = 0);

alter table deliveries
  drop column lease_token,
  drop column lease_until,
  add column turn bigint not null default 0; -- greater with each resend or replay: what an earlier turn came to is not its

-- By the id as well, so that a claim goes on behind the last one, however many came due in one moment.
drop index deliveries_due;
create index deliveries_due on deliveries (tenant_id, due_at, notify_id) where due_at is not null;

-- No row is claimed in place any more.
do $$
declare
  part regclass;
begin
  for part in select inhrelid from pg_inherits where inhparent = 'deliveries'::regclass loop
    execute format('alter table %s reset (fillfactor)', part);
  end loop;
end $$;
