-- After a restore, comparisons reach back to the backup until one has succeeded.

alter table supplier_list_checks
  add column complete_at timestamptz; -- when a list was last read to its end and all its eSIMs were saved; null: never
