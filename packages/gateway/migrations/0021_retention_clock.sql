-- How long the database's clock has run without a jump: nothing is dropped by age before that is a day
-- (retention/steady-clock.ts).
create table retention_clock (
  singleton boolean primary key default true check (singleton),
  seen_at timestamptz not null, -- by the latest pass of the retention loop
  steady_since timestamptz not null
);
