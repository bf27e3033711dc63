-- What an operator has settled during a recovery, and which doubts were accepted when dealers were released.

-- Suppliers whose sales since the backup are settled, although no list proves them.
create table settled_suppliers (
  supplier text not null,
  restore_id uuid not null,
  evidence text not null,
  settled_at timestamptz not null default now(),
  primary key (supplier, restore_id)
);

alter table unclaimed_esims
  add column settled_at timestamptz, -- null: nobody has said whose it is
  add column evidence text; -- why it is settled, e.g. which dealer was debited

alter table restores
  add column credits_evidence text, -- how credits since the backup were entered again; null: not yet
  add column accepted_doubts text[]; -- null: none was accepted when the recovery ended

-- Nothing has read this column since 0034. The release after next drops it.
alter table restores
  alter column paused_suppliers set default '{}';

alter table recovered_tenants
  add column accepted_doubts text[]; -- null: none was accepted when the dealer was released
