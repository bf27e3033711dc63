-- Restricted keys: further credentials of a tenant, each for one program, with fewer rights and limits of their own.
--
-- An order or a top-up that was placed with a restricted key keeps it in orders.sent: {…, key: {keyId, label}}. So an order with
-- the tenant's own key writes what it wrote before.

create table tenant_keys (
  tenant_id uuid not null references tenants,
  key_id uuid not null,
  app_key text not null, -- rk_<cell>_<24 characters>
  ciphertext bytea not null, -- the AppSecret
  label text not null check (length(label) between 1 and 64),
  operations text[] not null, -- names of operations of the dealer API
  per_order_max bigint check (per_order_max between 0 and 9007199254740991),
  per_day_max bigint check (per_day_max between 0 and 9007199254740991),
  total_max bigint check (total_max between 0 and 9007199254740991),
  ip_allowlist text[] not null default '{}', -- in addition to the tenant's
  expires_at timestamptz,
  revoked_at timestamptz,
  spent_on date not null default '1970-01-01', -- the UTC day that day_spent belongs to
  day_spent bigint not null default 0, -- written under the wallet's lock, as is total_spent
  total_spent bigint not null default 0,
  last_used_at timestamptz, -- at most a minute old while the key is used
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, key_id)
) with (fillfactor = 70);
create unique index tenant_keys_app_key on tenant_keys (app_key);
create unique index tenant_keys_label on tenant_keys (tenant_id, label) where revoked_at is null;

alter table esim_actions add column key_label text; -- of the restricted key that began it; null: the tenant's own key
