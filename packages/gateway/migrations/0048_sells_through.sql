-- How a dealer sells: PORTAL, by its people on the console alone, which then hides the pages for developers; API, also by its programs.
alter table tenants add column sells_through text not null default 'API' check (sells_through in ('PORTAL', 'API'));
