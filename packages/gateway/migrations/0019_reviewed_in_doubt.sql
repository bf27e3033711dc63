-- What is under review and not in doubt is bought from there. Rows of earlier releases do not always tell that they are in
-- doubt: those that are taken up again by themselves are asked about first. Found by orders_due and orders_under_review.
update order_items i set in_doubt_at = i.updated_at
from orders o
where (o.due_at is not null or o.order_status = 'UNDER_REVIEW')
  and i.tenant_id = o.tenant_id and i.order_id = o.order_id
  and i.item_status = 'REVIEW' and i.retry_at is not null and i.in_doubt_at is null;
