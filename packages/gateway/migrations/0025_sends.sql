-- What was sent to travellers: a link by e-mail. The row of an order that is not delivered yet waits for its eSIM.
create table esim_sends (
  tenant_id uuid not null references tenants,
  send_id uuid not null, -- also the id of its mail in mails: a send has one at most
  transaction_id text, -- the dealer's key of it; null: deliverTo of an order
  started_by text, -- the person who sent it in the console; null: the dealer's program
  order_id uuid not null, -- that delivered, or will deliver, the eSIM
  item_no integer not null,
  profile_id uuid, -- null: not delivered yet
  recipient_hash bytea, -- keyed hash of the address, by which it is found; null: forgotten
  traveller bytea, -- encrypted {email, name, language}; null: forgotten
  send_status text not null default 'QUEUED' check (send_status in ('QUEUED', 'SENT', 'FAILED', 'OPENED')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, send_id)
);
-- One namespace with orders and actions.
create unique index esim_sends_transaction on esim_sends (tenant_id, transaction_id) where transaction_id is not null;
create index esim_sends_item on esim_sends (tenant_id, order_id, item_no, send_id);
create index esim_sends_recipient on esim_sends (tenant_id, recipient_hash) where recipient_hash is not null;
create index esim_sends_waiting on esim_sends (send_id) where profile_id is null and send_status = 'QUEUED';
create index esim_sends_known on esim_sends (created_at) where traveller is not null;
