-- Items are written by the statement that writes their order (orders/placing/write.ts), no order is ever deleted, and one whose
-- items do not make up its amount is found by `ledger verify`. The check of this key was planned while there were no
-- orders: by the index of transactionIds, so that each item read all of the dealer's orders until statistics were
-- gathered. transfers and events refer to their orders without a key, too.
alter table order_items drop constraint order_items_tenant_id_order_id_fkey;
