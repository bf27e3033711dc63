-- E-mail: what is to be sent lies here from the transaction that caused it until a loop has sent it.

alter table notices add column mailed_at timestamptz; -- when it was taken over into mails; null: not (yet)
create index notices_unmailed on notices (notice_id) where mailed_at is null;

create table mails (
  tenant_id uuid not null, -- nil: to the operator's people
  mail_id uuid not null, -- also in the Message-ID: a mail that went out twice is known by it
  recipient text not null,
  kind text not null, -- of the notice; or INVITATION, PASSWORD_RESET
  content bytea, -- encrypted {subject, text}, for it may hold a link; null once it was sent or given up
  due_at timestamptz, -- of the next attempt; null: sent or given up
  attempts smallint not null default 0,
  lease_until timestamptz,
  sent_at timestamptz,
  failure text, -- of the latest attempt, in the mail server's words
  created_at timestamptz not null default now(),
  primary key (tenant_id, mail_id)
);
create index mails_due on mails (due_at) where due_at is not null;
create index mails_time on mails (mail_id);
