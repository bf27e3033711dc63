-- Money for operators: adjustments that two people make, and what the nightly check of the ledger found.

-- One person proposes, another approves; only then is the transfer posted, under the proposal's reference. A reference
-- is free again once its proposal was rejected or has expired.
create table wallet_adjustments (
  tenant_id uuid not null references tenants,
  adjustment_id uuid not null,
  amount bigint not null check (amount between -9007199254740991 and 9007199254740991 and amount <> 0), -- negative: taken
  reference text not null,
  reason text not null,
  adjustment_status text not null default 'PROPOSED'
    check (adjustment_status in ('PROPOSED', 'APPROVED', 'REJECTED', 'EXPIRED')),
  proposed_by text not null,
  expires_at timestamptz not null,
  decided_by text,
  decided_at timestamptz,
  wallet_version bigint, -- of its transfer
  created_at timestamptz not null,
  primary key (tenant_id, adjustment_id),
  check ((adjustment_status = 'APPROVED') = (wallet_version is not null)),
  check (adjustment_status <> 'APPROVED' or (decided_by is not null and decided_by <> proposed_by))
);
create unique index wallet_adjustments_reference on wallet_adjustments (tenant_id, reference)
  where adjustment_status in ('PROPOSED', 'APPROVED');
create index wallet_adjustments_open on wallet_adjustments (adjustment_id) where adjustment_status = 'PROPOSED';

-- One row per UTC day and check of the whole ledger: the row is the claim, so that one node checks. Kept: a year.
create table ledger_checks (
  checked_on date primary key,
  started_at timestamptz not null,
  finished_at timestamptz, -- null: at work, or its node died; taken over after a while
  tenants bigint,
  transfers bigint,
  orders bigint,
  faults bigint,
  first_faults jsonb -- sentences, the first few
);
