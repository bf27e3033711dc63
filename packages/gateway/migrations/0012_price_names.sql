-- Price plans and groups can be deleted. Their rows stay, as everything does that the change feed tells of.

alter table price_plans add column removed boolean not null default false;
alter table price_groups add column removed boolean not null default false;
