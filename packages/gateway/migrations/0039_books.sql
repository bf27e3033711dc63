-- The books that dealers can check: the Merkle tree over each wallet's transfers (RFC 9162), and its signed checkpoints.
-- Leaf n is the transfer with wallet_version n + 1. Nothing here is written when an order is placed.

create table ledger_trees (
  tenant_id uuid primary key references tenants,
  size bigint not null default 0 check (size >= 0), -- transfers that are in the tree
  origin text, -- names the tree in every checkpoint; set by the first one, and kept for ever
  cells text[] not null default '{}', -- the cells that have signed a checkpoint of it
  checkpoint_size bigint, -- of the newest checkpoint of the whole tree; null: none yet
  checkpoint_at timestamptz,
  closed_month text -- the last month that has its final checkpoint, or needs none: 2026-11
) with (fillfactor = 70);

-- Hashes of complete subtrees. Row (level, tile) has up to 32 of them, 32 bytes each: number 32 × tile and up of those with
-- 32^level leaves. Level 0 holds the leaves' own hashes.
create table ledger_tiles (
  tenant_id uuid not null,
  level smallint not null,
  tile bigint not null,
  hashes bytea not null check (length(hashes) between 32 and 1024),
  primary key (tenant_id, level, tile)
);

create table ledger_checkpoints (
  tenant_id uuid not null,
  checkpoint_id uuid not null,
  tree_size bigint not null,
  root_hash text not null, -- base64
  note text not null,
  created_at timestamptz not null,
  kept_until timestamptz, -- null: for ever
  primary key (tenant_id, checkpoint_id)
);
create index ledger_checkpoints_size on ledger_checkpoints (tenant_id, tree_size, created_at);
create index ledger_checkpoints_kept_until on ledger_checkpoints (kept_until) where kept_until is not null;

-- The Ed25519 keys that sign checkpoints: this cell's own, and the public keys of cells that tenants came from.
create table ledger_keys (
  key_id uuid primary key,
  cell text not null,
  public_key text not null unique, -- base64
  private_key bytea, -- a ciphertext; null: another cell's key, or one that signs no more
  valid_from timestamptz not null,
  valid_until timestamptz, -- null: until it is replaced
  endorsement text -- a note by earlier keys; null: a first key
);

-- Restores from a backup that a tenant's ledger went through.
create table ledger_restores (
  tenant_id uuid not null,
  restore_id uuid not null,
  tree_size bigint not null, -- transfers after the restore
  restored_at timestamptz not null,
  note text, -- null: not signed yet
  primary key (tenant_id, restore_id)
);
