-- Dealers' administrators may create test twins; false: only the operator's people.
alter table operator_settings add column twins_by_dealers boolean not null default true;
