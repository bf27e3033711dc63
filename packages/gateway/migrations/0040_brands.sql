-- Brands: how a dealer's travellers see it, and how everybody sees the operator.
create table brands (
  tenant_id uuid not null references tenants,
  brand text not null check (brand ~ '^[a-z0-9-]{1,32}$'), -- the name in requests
  is_default boolean not null default false,
  settings jsonb not null, -- BrandSettings of brands/brand-settings.ts
  updated_at timestamptz not null default now(),
  primary key (tenant_id, brand)
);
create unique index brands_default on brands (tenant_id) where is_default;

-- Logos and icons, as we have drawn them again. Public, so not encrypted.
create table brand_pictures (
  tenant_id uuid not null, -- nil: the operator's
  picture_hash text not null, -- the first half of the SHA-256 of its content, in hexadecimal
  content bytea not null, -- PNG
  created_at timestamptz not null default now(),
  primary key (tenant_id, picture_hash)
);

-- The operator's own brand. Its name, address, telephone number and hours are the contact.
alter table operator_settings
  add column brand jsonb;

-- How a send was asked to look; of a line that was ordered without a traveller, package_lines says it.
alter table esim_sends
  add column brand text, -- null: the dealer's default one
  add column language text; -- null: none was asked for
