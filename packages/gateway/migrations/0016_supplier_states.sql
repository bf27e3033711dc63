-- What was last seen of a supplier, and how long its orders usually take.

create table supplier_states (
  supplier text primary key references suppliers on delete cascade,
  settled_at timestamptz not null default now(), -- all nodes use its present settings: what began earlier proves nothing
  seen_at timestamptz, -- null: nothing was seen since then
  seen_by text check (seen_by in ('TEST', 'BALANCE', 'CATALOGUE', 'PURCHASE')),
  failure text, -- what was seen is a failure; null: it worked, or nothing was seen
  failing_since timestamptz, -- the first failure after the latest success
  tested_at timestamptz, -- the latest test
  test_failure text, -- why it failed; null: it did not
  test_due_at timestamptz default now(), -- a worker tests it then; null: it does not
  late_after_ms integer not null default 300000, -- an order that waits longer than this waits longer than usual
  late_after_at timestamptz, -- when that was computed from the deliveries of a day; null: never
  check ((seen_at is null) = (seen_by is null)),
  check ((failure is null) = (failing_since is null)),
  check (failure is null or seen_at is not null),
  check (test_failure is null or tested_at is not null)
);

insert into supplier_states (supplier) select supplier from suppliers;
