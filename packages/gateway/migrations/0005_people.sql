-- People of the console: who they are, how they sign in, and what speaks for them.
--
-- A small reference table and its satellites, found by address before any tenant is known; they are never spread over
-- shards. tenant_id is null for the operator's own people. Of tokens and links only hashes lie here.

create table people (
  person_id uuid primary key,
  tenant_id uuid references tenants,
  email text not null check (email = lower(email)),
  name text not null,
  role text not null check (role in
    ('OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY', 'DEALER_ADMIN', 'DEALER_STAFF')),
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'DISABLED')),
  password_hash text, -- argon2id; null: invited, has not set one
  password_change_required boolean not null default false,
  totp_secret bytea, -- encrypted
  totp_confirmed boolean not null default false, -- asked for only once a first code has proved it
  totp_last_step bigint not null default 0, -- a code of this step or an earlier one is refused: each works once
  last_sign_in_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((role like 'DEALER%') = (tenant_id is not null)),
  check (not totp_confirmed or totp_secret is not null)
);
create unique index people_email on people (email);
create index people_tenant on people (tenant_id);

create table recovery_codes (
  person_id uuid not null references people on delete cascade,
  code_hash bytea not null,
  used_at timestamptz,
  primary key (person_id, code_hash)
);

-- Failed sign-ins per address of e-mail, whether or not anybody has it: so the lock tells nothing about who exists.
create table sign_in_failures (
  email_hash bytea primary key,
  failures smallint not null,
  first_at timestamptz not null,
  locked_until timestamptz
);

create table sessions (
  session_id uuid primary key,
  person_id uuid not null references people on delete cascade,
  token_hash bytea not null unique,
  address text,
  user_agent text,
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_person on sessions (person_id);

-- Invitations and password resets: whoever holds the link may set a password, once.
create table person_links (
  token_hash bytea primary key,
  person_id uuid not null references people on delete cascade,
  kind text not null check (kind in ('INVITATION', 'PASSWORD_RESET')),
  expires_at timestamptz not null,
  used_at timestamptz,
  created_by text not null,
  created_at timestamptz not null default now()
);
create index person_links_person on person_links (person_id);

create table access_tokens (
  token_id uuid primary key,
  person_id uuid not null references people on delete cascade,
  name text not null,
  scope text not null check (scope in ('READ', 'WRITE')),
  token_hash bytea not null unique,
  hint text not null, -- its last four characters, to tell tokens apart
  expires_at timestamptz,
  used_at timestamptz,
  created_at timestamptz not null default now()
);
create index access_tokens_person on access_tokens (person_id);
