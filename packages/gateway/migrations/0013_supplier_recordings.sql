-- Requests to a supplier with their answers, which an operator records to find a misread answer. They are deleted as soon as they
-- are written to a file.

-- The recording of a supplier, one at a time. It ends by itself.
create table supplier_recordings (
  supplier text primary key references suppliers,
  recording_id uuid not null,
  exchanges_max integer not null check (exchanges_max between 1 and 1000),
  ends_at timestamptz not null,
  exchanges integer not null default 0,
  bytes bigint not null default 0,
  started_at timestamptz not null
);

create table supplier_exchanges (
  supplier text not null references suppliers,
  exchange_id uuid not null,
  content bytea not null, -- encrypted, bound to the owner supplier:<name>
  recorded_at timestamptz not null,
  primary key (supplier, exchange_id)
);
create index supplier_exchanges_recorded_at on supplier_exchanges (recorded_at);
