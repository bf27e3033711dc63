-- While statistics of a table are gathered, the server keeps every dead version of every row: of the wallets and buckets,
-- that are written thousands of times a second, too. With autovacuum's usual pauses that takes seconds for a table that
-- grows (docs/decisions/0009-statistics-at-once.md). Partitions are made like this from now on (lib/postgres/partitions.ts).
alter table orders set (autovacuum_vacuum_cost_delay = 0);
alter table order_items set (autovacuum_vacuum_cost_delay = 0);
alter table transfers set (autovacuum_vacuum_cost_delay = 0);
alter table profiles set (autovacuum_vacuum_cost_delay = 0);
do $$
declare
  part regclass;
begin
  for part in
    select inhrelid from pg_inherits join pg_class parent on parent.oid = inhparent
    where parent.relkind = 'p' and parent.relnamespace = 'public'::regnamespace
  loop
    execute format('alter table %s set (autovacuum_vacuum_cost_delay = 0)', part);
  end loop;
end $$;
