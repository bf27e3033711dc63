import type { PartitionedTable } from '../lib/postgres/partitions.ts'

/*
 * How long what is kept: every table of the database stands here once, and docs/running.md tells the same. What is
 * dropped by age is dropped by the retention loop and nowhere else.
 */

/** Rows are deleted in bounded steps when `column` is older than this. */
export interface DeletedTable {
  table: string
  keepDays: number
  /** A moment or a UUIDv7 by which rows age; found by an index, or the table is small. */
  column: string
  age: 'time' | 'uuid'
  /** The table's key begins with tenant_id: rows of one tenant are deleted at a time. */
  ofTenant: boolean
  /** What it is, for operators. */
  what: string
}

export type Partitioned = PartitionedTable & { what: string }

const DAY = 24

export const PARTITIONED: readonly Partitioned[] = [
  // A RequestID counts until its timestamp cannot pass (5 min) and an hour more: 65 minutes, rounded up to two slots.
  { table: 'request_ids', key: 'hour', spanHours: 1, ahead: 6, keepHours: 2, what: 'RequestIDs that were used' },
  {
    table: 'supplier_attempts',
    key: 'uuid',
    spanHours: 30 * DAY,
    ahead: 3,
    keepHours: 400 * DAY,
    what: 'attempts at suppliers, with their outcomes',
  },
  // One is sent again until 36 days after its recording, which is 30 after its first attempts, and is then under way for
  // nearly 6 days more at the longest (webhooks/sending/attempt.ts).
  {
    table: 'events',
    key: 'uuid',
    spanHours: 7 * DAY,
    ahead: 4,
    keepHours: 42 * DAY,
    what: 'events, sent and unsent: what can be resent or replayed, for 36 days',
  },
  // A day longer than the events, because one without a delivery counts as acknowledged.
  {
    table: 'deliveries',
    key: 'uuid',
    spanHours: 7 * DAY,
    ahead: 4,
    keepHours: 43 * DAY,
    what: 'which events are not acknowledged: they wait, were given up, or had no endpoint',
  },
  {
    table: 'delivery_attempts',
    key: 'uuid',
    spanHours: DAY,
    ahead: 7,
    keepHours: 31 * DAY,
    what: 'attempts to deliver events, with the receivers’ answers',
  },
]

export const DELETED: readonly DeletedTable[] = [
  row('audit_log', 1_100, 'audit_id', 'uuid', 'who changed what'),
  row('alerts', 400, 'alert_id', 'uuid', 'alerts to operators and dealers'),
  row('mails', 30, 'mail_id', 'uuid', 'that an e-mail was sent; its text goes when it is sent'),
  row('webhook_replays', 90, 'finished_at', 'time', 'replays of events that are finished'),
  row('tenant_secrets', 1, 'valid_until', 'time', 'AppSecrets whose grace period has passed'),
  shared('sessions', 1, 'expires_at', 'console sessions that have ended'),
  shared('person_links', 7, 'expires_at', 'invitations and password links that have ended'),
  shared('access_tokens', 90, 'expires_at', 'console tokens that have ended'),
  shared('sign_in_failures', 1, 'first_failed_at', 'failed sign-ins that no longer count'),
  shared('ledger_checks', 400, 'checked_on', 'daily checks of the ledger'),
]

/** Kept for as long as the database: money, what was sold, and what is small. Tables, and why. */
export const KEPT: Readonly<Record<string, string>> = {
  orders: 'a transactionId counts for ever',
  order_items: 'what was sold, and what it cost',
  profiles: 'what travellers hold',
  transfers: 'the ledger',
  wallets: 'one row a dealer',
  wallet_adjustments: 'who proposed and who approved',
  orphans: 'eSIMs that nobody paid for',
  unclaimed_esims: 'eSIMs that only the supplier’s books have',
  watched_items: 'open questions; each goes when it is answered or given up',
  stock_codes: 'a code is never delivered twice',
  resolved_codes: 'a code is never delivered twice',
  es2plus_orders: 'how far each order at an SM-DP+ came',
  es2plus_ranges: 'one row a range of ICCIDs',
  sandbox_issued: 'the sandbox’s own books',
  stock_levels: 'one row a product',
  supplier_prices: 'one row a product that was bought from a supplier that reports prices',
  suppliers: 'few',
  tenants: 'one row a dealer',
  webhook_endpoints: 'one row a dealer',
  webhook_checks: 'one row a dealer',
  endpoint_queues: 'one row a dealer',
  qps_buckets: 'one row a dealer',
  people: 'one row a person',
  recovery_codes: 'ten a person',
  packages: 'the catalogue',
  package_suppliers: 'the catalogue',
  coverages: 'the catalogue; the audit log refers to it',
  list_prices: 'the change feed reports removals',
  price_plans: 'the change feed reports removals',
  price_plan_rules: 'the change feed reports removals',
  price_groups: 'the change feed reports removals',
  price_group_plans: 'the change feed reports removals',
  tenant_price_plans: 'the change feed reports removals',
  tenant_price_groups: 'the change feed reports removals',
  tenant_prices: 'the change feed reports removals',
  catalogue_version: 'one row',
  deployment: 'one row',
  retention_clock: 'one row',
  schema_migrations: 'one row a migration',
}

function row(table: string, keepDays: number, column: string, age: 'time' | 'uuid', what: string): DeletedTable {
  return { table, keepDays, column, age, ofTenant: true, what }
}

function shared(table: string, keepDays: number, column: string, what: string): DeletedTable {
  return { table, keepDays, column, age: 'time', ofTenant: false, what }
}
