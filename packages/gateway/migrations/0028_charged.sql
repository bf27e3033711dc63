-- What a supplier itself says that it charged for an eSIM, beside the cost that the catalogue had when it was asked: the report
-- of suppliers prefers it (docs/decisions/0048-what-a-supplier-charged.md). Columns without a default: no row is rewritten.
-- Nodes of the release before leave them empty.
alter table order_items add column charged bigint, add column charged_currency text;

-- The price that a supplier last asked for a product, where it says so: compared with the costs in the catalogue.
create table supplier_prices (
  supplier text not null references suppliers,
  product_code text not null,
  currency_code text not null,
  price bigint not null,
  seen_at timestamptz not null, -- when the purchase began that met this price first
  told boolean not null default false, -- operators know that this price is no cost of the catalogue
  told_at timestamptz, -- when they were last told of any price of it
  primary key (supplier, product_code)
);
