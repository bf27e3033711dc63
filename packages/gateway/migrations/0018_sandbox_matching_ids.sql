-- Matching ids of the sandbox are derived from the link key and no longer kept in the clear; rows of earlier releases keep
-- theirs. While both releases are at work the one before still writes the column; of an eSIM whose answer a node of this
-- one lost, it would tell no matching id, which harms nobody: no network knows a sandbox's eSIM.
alter table sandbox_issued alter column matching_id drop not null;
