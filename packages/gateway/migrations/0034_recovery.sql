-- After a restore the gateway is in recovery: it buys, cancels and sends nothing until an operator has released its dealers.

alter table restores
  add column recovering boolean not null default true, -- the flag that every decision reads
  add column prepared_at timestamptz, -- when unsold codes were held and open orders put under review; null: not yet
  add column ended_at timestamptz,
  add column ended_because text; -- what the operator accepted as doubt

-- Dealers that were released before the recovery ends.
create table recovered_tenants (
  tenant_id uuid not null,
  restore_id uuid not null,
  released_at timestamptz not null default now(),
  released_because text, -- what the operator accepted as doubt
  primary key (tenant_id, restore_id)
);

-- TransactionIds that may have been used after the backup: orders that dealers repeated in recovery, and those of their lists.
create table restored_transactions (
  tenant_id uuid not null,
  transaction_id text not null,
  state text not null default 'IN_DOUBT' check (state in ('IN_DOUBT', 'SOLD', 'NOT_SOLD')),
  repeated boolean not null default false, -- the dealer sent it in recovery
  listed boolean not null default false, -- the dealer's list has it
  order_no text, -- by the dealer's list
  amount bigint, -- by the dealer's list, in 1/10 000
  proof text, -- why it is SOLD or NOT_SOLD
  decided_at timestamptz, -- null: in doubt
  seen_at timestamptz not null default now(),
  primary key (tenant_id, transaction_id)
);

-- Dealers whose lists were read.
create table restored_lists (
  tenant_id uuid not null,
  restore_id uuid not null,
  read_at timestamptz not null default now(),
  rows integer not null,
  primary key (tenant_id, restore_id)
);

alter table stock_codes
  add column held_at timestamptz; -- unsold at the backup, and perhaps sold since; null: not held
