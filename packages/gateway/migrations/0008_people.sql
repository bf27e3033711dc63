-- People who use the console: who they are, how they sign in, what alerts them, and the e-mail sent to them.
--
-- People are found by e-mail address before any tenant is known. tenant_id is null for the operator's own people. Only
-- hashes of tokens and links are stored.

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
  totp_confirmed boolean not null default false, -- required at sign-in only after a first code has been verified
  totp_last_step bigint not null default 0, -- a code of this step or an earlier one is rejected: each works once
  password_allowed_until timestamptz, -- exempts the person from OIDC_PASSWORDS=off; set by the command line
  muted_alerts text[] not null default '{}', -- kinds of alerts that this person does not want by e-mail
  last_sign_in_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((role like 'DEALER%') = (tenant_id is not null)),
  check (not totp_confirmed or totp_secret is not null)
);
create unique index people_email on people (email);
create index people_tenant on people (tenant_id);

-- Roles whose people must have a second factor.
create table second_factor_roles (
  role text primary key,
  required_since timestamptz not null default now()
);

create table recovery_codes (
  person_id uuid not null references people on delete cascade,
  code_hash bytea not null,
  used_at timestamptz,
  primary key (person_id, code_hash)
);

-- Failed sign-ins per e-mail address, whether or not it belongs to a person, so that a lock does not reveal who exists.
create table sign_in_failures (
  email_hash bytea primary key,
  failures smallint not null,
  first_failed_at timestamptz not null,
  locked_until timestamptz
);

-- Passkeys (WebAuthn) with which people sign in.
create table passkeys (
  passkey_id uuid primary key,
  person_id uuid not null references people on delete cascade,
  name text not null,
  credential_id bytea not null unique, -- chosen by the authenticator
  public_key bytea not null, -- COSE
  sign_count bigint not null, -- of the latest use; one that does not grow means a copied passkey
  transports text[] not null,
  created_at timestamptz not null default now(),
  used_at timestamptz
);
create index passkeys_person on passkeys (person_id);

-- Accounts at the operator's OpenID Connect provider. The provider's subject identifies a person, not the e-mail address,
-- which the provider may give to somebody else later.
create table provider_accounts (
  issuer text not null,
  subject text not null,
  person_id uuid not null references people on delete cascade,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  primary key (issuer, subject),
  unique (person_id, issuer)
);

-- Challenges of passkeys and sign-ins at a provider that were redeemed. Issuing one stores nothing.
create table spent_challenges (
  challenge_hash bytea primary key,
  expires_at timestamptz not null
);

create table sessions (
  session_id uuid primary key,
  person_id uuid not null references people on delete cascade,
  token_hash bytea not null unique,
  signed_in_by text not null check (signed_in_by in ('PASSWORD', 'PASSKEY', 'PROVIDER')),
  address text,
  user_agent text,
  viewed_tenant_id uuid references tenants on delete set null, -- the operator sees this dealer's pages, and changes nothing
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_person on sessions (person_id);

-- Invitations and password resets: the holder of the link may set a password, once.
create table person_links (
  token_hash bytea primary key,
  person_id uuid not null references people on delete cascade,
  kind text not null check (kind in ('INVITATION', 'PASSWORD_RESET', 'FORGOTTEN_PASSWORD')),
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

-- How a person wants to see a list of the console.
create table saved_views (
  view_id uuid primary key,
  person_id uuid not null references people on delete cascade,
  list text not null, -- orders, events, …
  name text not null,
  search text not null, -- the query of the page: filters, order, columns, page size
  created_at timestamptz not null default now(),
  unique (person_id, list, name)
);

-- Alerts and e-mail --------------------------------------------------------------------------------------------------

-- Shown in the console. The nil tenant owns alerts that concern no tenant.
create table alerts (
  tenant_id uuid not null,
  alert_id uuid not null,
  kind text not null, -- LOW_BALANCE, ENDPOINT_FAILING, LOW_STOCK, …
  audience text not null check (audience in ('OPERATOR', 'TENANT')),
  message text not null,
  data jsonb not null default '{}',
  read_at timestamptz,
  created_at timestamptz not null default now(),
  mailed_at timestamptz, -- when its e-mails were queued in mails; null: not yet
  primary key (tenant_id, alert_id)
);
create index alerts_time on alerts (alert_id);
create index alerts_unmailed on alerts (alert_id) where mailed_at is null;
create index alerts_unread on alerts (audience, tenant_id) where read_at is null;

-- E-mails, from the transaction that caused them until a loop has sent them.
create table mails (
  tenant_id uuid not null, -- nil: to the operator's people
  mail_id uuid not null, -- also in the Message-ID, so that a mail sent twice can be recognised
  recipient text not null,
  kind text not null, -- of the alert, or of the link
  content bytea, -- encrypted {subject, text, html}, because it may hold a link; null once it was sent or given up
  due_at timestamptz, -- of the next attempt; null: sent or given up
  attempts smallint not null default 0,
  lease_until timestamptz,
  sent_at timestamptz,
  failure text, -- of the latest attempt, as the mail server reported it
  created_at timestamptz not null default now(),
  primary key (tenant_id, mail_id)
);
create index mails_due on mails (due_at) where due_at is not null;
create index mails_time on mails (mail_id);
