-- Loops that read by time, whose tables grow with the orders.

-- Ending what was watched long enough, every half minute.
create index watched_items_until on watched_items (until);

-- The books of a stock, compared with ours every hour: what was reserved lately.
create index stock_codes_reserved on stock_codes (supplier, reserved_at) where reserved_at is not null;
