-- The proof that the balance at a supplier fell by what its answers were read as charging.

alter table supplier_verifications
  add column charge_finding text check (charge_finding in ('PROVEN', 'DIFFERS', 'UNCLEAR')), -- null: not bought, or before this column
  add column charge_message text;
