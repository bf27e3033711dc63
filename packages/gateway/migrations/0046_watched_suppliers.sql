-- The other suppliers that may have delivered an item that an operator settled as refused after a restore, each with the product
-- that the package buys there, e.g. {"airalo": "jp-7"}; null: only `supplier` may have.
alter table watched_items
  add column other_suppliers jsonb;
