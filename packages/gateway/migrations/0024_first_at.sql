-- Since when a price, a rule of a plan, a plan and a group are there for the first time, and a package is on sale: the change
-- feed may not mention what a tenant never could buy, and updated_at tells of the last change only
-- (docs/decisions/0031-change-feed.md). Null: not known, which counts as from the beginning. So it is with what was there
-- before, and with what nodes of the release before write.
alter table packages add column first_on_sale_at timestamptz;
alter table list_prices add column first_at timestamptz;
alter table tenant_prices add column first_at timestamptz;
alter table price_plan_rules add column first_at timestamptz;
alter table tenant_price_plans add column first_at timestamptz;
alter table tenant_price_groups add column first_at timestamptz;
alter table price_group_plans add column first_at timestamptz;
