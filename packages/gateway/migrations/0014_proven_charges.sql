-- The proof that the balance at a supplier fell by what its answers were read as charging.

alter table supplier_verifications
  add column charge_finding text check (charge_finding in ('PROVEN', 'DIFFERS', 'UNCLEAR')), -- null: not bought, or before this column
  add column charge_message text;

-- The comparison of a UTC day's fall of a balance with the day's purchases. Written once, after the first reading of the next day.
create table supplier_balance_days (
  supplier text not null references supplier_balances,
  day date not null,
  currency_code text not null,
  fell bigint not null, -- sum of the falls between two readings
  rose bigint not null, -- sum of the rises: the operator topped it up, or eSIMs were cancelled
  bought_min bigint not null, -- charges of purchases that were certainly debited on the day
  bought_max bigint not null, -- also of those that may have been
  unexplained bigint, -- above zero: it fell by more than the purchases, below zero: by less; null: a charge is unknown
  primary key (supplier, day)
);
