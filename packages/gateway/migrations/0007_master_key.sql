-- The rotation of the master key: which key everything is being brought under, and which are no longer to encrypt.
alter table deployment
  add column rotating_to text, -- fingerprint; null: no rotation is under way
  add column retired_keys text[] not null default '{}'; -- fingerprints
