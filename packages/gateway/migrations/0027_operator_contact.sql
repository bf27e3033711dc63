-- Whom dealers ask, and how.

alter table operator_settings
  add column contact_name text, -- null: the legal name
  add column contact_email text,
  add column contact_phone text,
  add column contact_hours text;
