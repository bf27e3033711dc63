-- Statements of one kind of movement.

-- What is no order, by kind: a dealer's few top-ups lie between millions of orders. Orders themselves are found on the
-- way through all, and stay out of the index: their debit pays nothing for it.
create index transfers_kind on transfers (tenant_id, kind, wallet_version) where kind <> 'ORDER';
