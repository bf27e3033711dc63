-- Backups that were made of this database, and the restores that it comes from.

create table backups (
  backup_id uuid primary key,
  started_at timestamptz not null, -- the moment whose rows it contains
  finished_at timestamptz not null,
  file text not null,
  bytes bigint not null,
  encrypted boolean not null,
  actor text not null
);
create index backups_finished_at on backups (finished_at);

create table restores (
  restore_id uuid primary key,
  backup_started_at timestamptz not null, -- what happened later, this database does not know
  restored_at timestamptz not null,
  paused_suppliers text[] not null -- that the restore paused
);
