-- What is not delivered, in a narrow table of its own: an event that is acknowledged leaves it, and is written only once
-- itself (docs/decisions/0050-deliveries.md). Nodes of the release before write what is gone from here: they are stopped
-- before this runs. It takes as long as copying what is not delivered and indexing a month of attempts does.

-- Whoever writes events all the same is done before they are copied, or fails.
lock table events in access exclusive mode;

create table deliveries (
  tenant_id uuid not null,
  notify_id uuid not null,
  delivery_state text not null check (delivery_state in ('PENDING', 'DEAD', 'UNSENT')),
  due_at timestamptz, -- of the next attempt; null: none
  attempts smallint not null default 0, -- since it was recorded or last replayed
  -- Lease columns are in no index, so that a claim is a HOT update (partitions leave room for it).
  lease_token uuid,
  lease_until timestamptz,
  primary key (tenant_id, notify_id)
) partition by range (notify_id);
create index deliveries_due on deliveries (tenant_id, due_at) where due_at is not null;
create index deliveries_dead on deliveries (tenant_id, notify_id) where delivery_state = 'DEAD';

do $$
declare
  part record;
begin
  for part in
    select inhrelid::regclass as name, replace(relname, 'events_', 'deliveries_') as own, pg_get_expr(relpartbound, oid) as bounds
    from pg_inherits join pg_class on oid = inhrelid where inhparent = 'events'::regclass
  loop
    execute format('create table %I partition of deliveries %s with (fillfactor = 40, autovacuum_vacuum_cost_delay = 0)',
                   part.own, part.bounds);
    execute format('alter table %s reset (fillfactor)', part.name);
  end loop;
end $$;

insert into deliveries (tenant_id, notify_id, delivery_state, due_at, attempts)
select tenant_id, notify_id, delivery_state, due_at, attempts from events where delivery_state <> 'DELIVERED';

alter table events
  drop column delivery_state, drop column due_at, drop column attempts,
  drop column lease_token, drop column lease_until, drop column settled_at;

-- Attempts are found by their event, and by nothing else: one index instead of two.
alter table delivery_attempts drop constraint delivery_attempts_pkey;
drop index delivery_attempts_event;
alter table delivery_attempts add primary key (tenant_id, notify_id, attempt_id);
