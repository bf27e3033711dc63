-- Codes of the eSIMs that an operator named in a settlement: they are sold, so that no file of stock may bring one. Those
-- that were settled before this, or by a node of the release before, are not in it.
create table settled_codes (
  fingerprint bytea primary key, -- as in stock_codes
  tenant_id uuid not null,
  order_id uuid not null,
  iccid text not null,
  settled_at timestamptz not null default now()
);

-- A file of stock is compared with them, a thousand ICCIDs at a time.
create index orphans_iccid on orphans (iccid) where state <> 'CANCELLED';
