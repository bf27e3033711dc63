-- What wholesalers' answers say, and what could not be read in them.

alter table supplier_products
  add column fup_policy text; -- the condition of a fair use, in the supplier's words; null: none is known

alter table supplier_syncs
  add column unreadable integer not null default 0, -- entries of the latest answer that could not be read
  add column kept integer not null default 0, -- listed products whose entry could not be read: they stay as they were
  add column unreadable_entries jsonb not null default '[]'; -- the first of them: [{entry, reason}]

alter table mobimatter_orders
  add column info_at timestamptz; -- when its provider was last asked for usage
