-- Whom reconciliation asks: an item may be delivered by one supplier while another's purchase of it is in doubt. Of one
-- purpose an item is watched once: it is settled once, and one supplier at most is in doubt at that moment. Nodes of the
-- release before watch without a supplier, and are refused: they were stopped for 0025.
alter table watched_items add column supplier text, add column product_code text;

-- Until now it was the one that the item was asked for at last; of a cancel, the one that delivered.
update watched_items w set supplier = coalesce(
    (select p.supplier from profiles p
     where w.purpose = 'CANCEL' and p.tenant_id = w.tenant_id and p.order_id = w.order_id and p.item_no = w.item_no),
    i.supplier), product_code = i.product_code
from order_items i where i.tenant_id = w.tenant_id and i.order_id = w.order_id and i.item_no = w.item_no;
delete from watched_items where supplier is null; -- nobody could be asked

alter table watched_items alter column supplier set not null;
alter table watched_items drop constraint watched_items_purpose_check;
alter table watched_items add constraint watched_items_purpose_check
  check (purpose in ('REFUNDED_IN_DOUBT', 'DELIVERED_IN_DOUBT', 'CANCEL'));
