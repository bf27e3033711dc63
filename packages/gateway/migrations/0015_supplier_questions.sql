-- Questions to suppliers that events cause. An event only says that an eSIM may have changed, and anybody may be able to send one:
-- a row holds back further questions about its eSIM, on all nodes.

create table supplier_questions (
  tenant_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  reported_at timestamptz not null, -- of the latest event
  asked_at timestamptz, -- when the latest question began; null: none has
  due_at timestamptz, -- of the next question; null: none is needed
  primary key (tenant_id, order_id, item_no)
) with (fillfactor = 70);
create index supplier_questions_due on supplier_questions (supplier, due_at);
