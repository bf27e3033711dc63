-- Dealers' questions are limited apart from the operator's own notes.
alter table notes add column is_question boolean not null default false;

-- The generation of the link that was sent, so that an opened page counts only for the e-mails that led to it; null: not sent yet,
-- or by an earlier release.
alter table esim_sends add column share_generation integer;
