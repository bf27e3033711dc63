-- Events of an order and attempts of an event are found by that id alone, which no other tenant has.

-- With tenant_id in front each of these indexes also looked fit to find one tenant's rows, and before the first
-- statistics of a partition it was taken for that: writing a few hundred results read all events of the tenant.
-- Shorter entries are cheaper to write, too.
drop index events_order;
create index events_order on events (order_id);
drop index delivery_attempts_event;
create index delivery_attempts_event on delivery_attempts (notify_id);
