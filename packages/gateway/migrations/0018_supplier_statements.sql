-- What suppliers say besides, and what could not be read in their lists.

alter table supplier_products
  add column included text; -- calls and SMS besides the data, such as "100 minutes of calls and 20 SMS"; null: none are known

alter table profiles
  add column installation_time timestamptz; -- when it was installed, if its supplier says so

-- The latest comparison of a supplier's own list with our eSIMs.
create table supplier_list_checks (
  supplier text primary key references suppliers,
  checked_at timestamptz not null,
  unreadable integer not null, -- entries that could not be read
  unreadable_entries jsonb not null -- the first of them: [{entry, reason}]
);

-- A purchase whose charge the balance contradicts does not verify a supplier.
alter table supplier_verifications drop constraint supplier_verifications_state_check;
alter table supplier_verifications
  add constraint supplier_verifications_state_check check (state in ('OPEN', 'VERIFIED', 'DIFFERS', 'REFUSED'));
