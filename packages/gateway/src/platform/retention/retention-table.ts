import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { createPartitions, type PartitionedTable } from '@dealer-esim/lib/postgres/partitions.ts'

/*
 * How long rows are kept. Lists every table of the database once, as docs/running.md does. Only the retention loop deletes
 * rows because of their age.
 */

/** Rows are deleted in limited steps when `column` is older than this. */
export interface DeletedTable {
  table: string
  keepDays: number
  /** The column, a time or a UUIDv7, that gives a row's age. It is indexed, or the table is small. */
  column: string
  age: 'time' | 'uuid'
  /** The table's key begins with tenant_id, so rows are deleted one tenant at a time. */
  ofTenant: boolean
  /** What the table contains, for operators. */
  what: string
}

export type Partitioned = PartitionedTable & { what: string }

const DAY = 24

/**
 * A RequestID counts until its timestamp is too old to be accepted (5 min), plus one hour: 65 minutes, rounded up to two
 * slots. A slot's age is not measured by the database's clock alone (request-id-slots.ts).
 */
export const REQUEST_IDS: Partitioned = {
  table: 'request_ids',
  key: 'hour',
  spanHours: 1,
  ahead: 6,
  keepHours: 2,
  what: 'RequestIDs that were used',
}

/**
 * A backup holds this advisory lock, shared, while it reads. Work on a table's partitions would wait for the backup, and
 * every other user of the table would queue behind that work.
 */
export const BACKUP_LOCK = 'backup'

/** No backup contains these tables, which describe only the last hour or second. */
export const NOT_BACKED_UP: readonly string[] = [REQUEST_IDS.table, 'qps_buckets']

/** Partitioned tables whose rows' age is given by the database's clock. */
export const AGED_BY_CLOCK: readonly Partitioned[] = [
  {
    table: 'supplier_attempts',
    key: 'uuid',
    spanHours: 30 * DAY,
    ahead: 3,
    keepHours: 400 * DAY,
    unless: BACKUP_LOCK,
    fillfactor: 70, // each row is given its outcome
    what: 'attempts at suppliers, with their outcomes',
  },
  // An event can be resent until 36 days after it was recorded, and its attempts then take up to 6 more days
  // (webhooks/sending/delivery-attempt.ts).
  {
    table: 'events',
    key: 'uuid',
    spanHours: 7 * DAY,
    ahead: 4,
    keepHours: 42 * DAY,
    unless: BACKUP_LOCK,
    what: 'events, sent and unsent: what can be resent or replayed, for 36 days',
  },
  // A day longer than for the events, because an event without a delivery counts as acknowledged.
  {
    table: 'deliveries',
    key: 'uuid',
    spanHours: 7 * DAY,
    ahead: 4,
    keepHours: 43 * DAY,
    unless: BACKUP_LOCK,
    what: 'events that are not acknowledged: waiting, given up, or without an endpoint',
  },
  {
    table: 'delivery_attempts',
    key: 'uuid',
    spanHours: DAY,
    ahead: 7,
    keepHours: 31 * DAY,
    unless: BACKUP_LOCK,
    what: 'attempts to deliver events, with the receivers’ answers',
  },
]

export const PARTITIONED: readonly Partitioned[] = [REQUEST_IDS, ...AGED_BY_CLOCK]

/** Creates the partitions that will soon be needed in every partitioned table. @returns their names */
export function maintainPartitions(db: Db): Promise<string[]> {
  return createPartitions(db, PARTITIONED)
}

export const DELETED: readonly DeletedTable[] = [
  ofTenants('audit_log', 1_100, 'audit_id', 'uuid', 'who changed what'),
  ofTenants('alerts', 400, 'alert_id', 'uuid', 'alerts to operators and dealers'),
  ofTenants('mails', 30, 'mail_id', 'uuid', 'sent e-mails, without their text'),
  ofTenants('webhook_replays', 90, 'finished_at', 'time', 'finished replays of events'),
  ofTenants('tenant_secrets', 1, 'valid_until', 'time', 'AppSecrets whose grace period has passed'),
  ofTenants(
    'ledger_checkpoints',
    1,
    'kept_until',
    'time',
    'checkpoints of ledgers, except the first and the last of a month, a day after the date until which they are kept',
  ),
  ofTenants('top_up_receipts', 4_000, 'request_id', 'uuid', 'receipts that dealers sent with top-up requests'),
  ofNoTenant('sessions', 1, 'expires_at', 'ended console sessions'),
  ofNoTenant('spent_challenges', 1, 'expires_at', 'redeemed challenges of sign-ins'),
  ofNoTenant('person_links', 7, 'expires_at', 'expired invitations and password links'),
  ofNoTenant('access_tokens', 90, 'expires_at', 'expired console tokens'),
  ofNoTenant('sign_in_failures', 1, 'first_failed_at', 'failed sign-ins that no longer count'),
  ofNoTenant('supplier_product_costs', 400, 'since', 'earlier costs of suppliers’ products'),
  ofNoTenant('supplier_balance_readings', 400, 'read_at', 'earlier balances at suppliers'),
  ofNoTenant('supplier_rates', 1, 'next_at', 'rate limits of suppliers'),
  ofNoTenant('supplier_recordings', 8, 'started_at', 'recordings of suppliers that nobody wrote to a file'),
  ofNoTenant('supplier_exchanges', 8, 'recorded_at', 'their requests and answers'),
  ofNoTenant('backups', 400, 'finished_at', 'backups that were made'),
  ofNoTenant('ledger_checks', 400, 'checked_on', 'daily checks of the ledger'),
]

/** Tables that are kept forever, with the reason: money, sales, and small tables. */
export const KEPT: Readonly<Record<string, string>> = {
  orders: 'a transactionId counts forever',
  order_items: 'what was sold, and what it cost',
  profiles: 'eSIMs of travellers',
  esim_actions: 'a transactionId counts forever',
  esim_sends: 'a transactionId counts forever; the traveller is deleted after TRAVELLER_DAYS',
  transfers: 'the ledger',
  wallets: 'one row a dealer',
  ledger_trees: 'one row a dealer',
  ledger_tiles: 'hashes of the ledger, 33 bytes an entry',
  ledger_keys: 'few: a checkpoint is verified by its key forever',
  ledger_restores: 'one row a dealer and restore',
  wallet_adjustments: 'who proposed and who approved',
  daily_sales: 'one row a day, dealer, package and supplier: its orders are kept forever',
  daily_sales_tenants: 'one row a day and dealer',
  daily_sales_tenant_suppliers: 'one row a day, dealer and supplier',
  monthly_sales_tenants: 'one row a month and dealer',
  daily_sales_packages: 'one row a day, package and supplier',
  daily_purchases: 'some rows a day and supplier',
  daily_orders: 'one row a day and dealer',
  order_quarter_hours: 'some twenty rows a quarter hour',
  sales_progress: 'one row a dealer',
  top_up_requests: 'who confirmed which payment',
  payment_settings: 'one row a currency',
  operator_details: 'one row',
  operator_settings: 'one row',
  issued_statements: 'an issued statement never changes',
  orphans: 'eSIMs without a paid item',
  unclaimed_esims: 'eSIMs that only the supplier’s list contains',
  supplier_questions: 'open questions; each is deleted soon after its answer, or after a day',
  supplier_list_checks: 'one row a supplier',
  watched_items: 'open questions; each is deleted when it is answered or given up',
  stock_batches: 'one row an import',
  stock_codes: 'a code is never delivered twice',
  resolved_codes: 'a code is never delivered twice',
  es2plus_orders: 'the progress of each order at an SM-DP+',
  es2plus_ranges: 'one row a range of ICCIDs',
  esim_go_orders: 'the orders at eSIM Go',
  esim_go_claims: 'one row a bundle',
  mobimatter_orders: 'the progress of each order at MobiMatter',
  supplier_tokens: 'one row per supplier',
  supplier_verifications: 'few; they show which suppliers were verified',
  sandbox_actions: 'the sandbox’s own books',
  sandbox_issued: 'the sandbox’s own books',
  stock_levels: 'one row a product',
  supplier_prices: 'one row a product whose supplier reports prices',
  suppliers: 'few',
  supplier_products: 'one row a product of a supplier',
  supplier_syncs: 'one row a supplier',
  supplier_balances: 'one row a supplier',
  supplier_states: 'one row a supplier',
  supplier_balance_days: 'one row a day and supplier',
  sale_rules: 'few',
  rule_packages: 'the catalogue',
  exchange_rates: 'one row a pair of currencies',
  cell_imports: 'one row a cell',
  tenants: 'one row a dealer',
  webhook_endpoints: 'one row a dealer',
  webhook_checks: 'one row a dealer',
  endpoint_queues: 'one row a dealer',
  qps_buckets: 'one row a dealer',
  people: 'one row a person',
  recovery_codes: 'ten a person',
  saved_views: 'up to a hundred a person',
  passkeys: 'a few a person',
  provider_accounts: 'one row a person',
  second_factor_roles: 'one row a role',
  packages: 'the catalogue',
  package_suppliers: 'the catalogue',
  coverages: 'the catalogue; the audit log refers to it',
  list_prices: 'the change feed reports what was removed',
  price_plans: 'the change feed reports what was removed',
  price_plan_rules: 'the change feed reports what was removed',
  price_groups: 'the change feed reports what was removed',
  price_group_plans: 'the change feed reports what was removed',
  tenant_price_plans: 'the change feed reports what was removed',
  tenant_price_groups: 'the change feed reports what was removed',
  tenant_prices: 'the change feed reports what was removed',
  catalogue_version: 'one row',
  deployment: 'one row',
  retention_clock: 'one row',
  request_id_slots: 'one row a partition of request_ids',
  notes: 'written and deleted by people, 200 an order or dealer',
  brands: 'twenty a dealer at most',
  brand_pictures: 'three a brand; one that no brand names is deleted with the change',
  twins: 'one row a dealer that has a test twin',
  tenant_keys: 'made by people; a revoked one stays, because orders name it',
  tenant_moves: 'one row a dealer that was moved to or from another cell',
  tenant_move_changes: 'removed as they are copied',
  trial_dealers: 'a local gateway has four at most',
  schema_migrations: 'one row a migration',
  schema_releases: 'one row a release',
  restores: 'few: which moments the database does not know',
  recovered_tenants: 'one row a dealer and restore',
  restored_lists: 'one row a dealer and restore',
  settled_suppliers: 'one row a supplier and restore',
  restored_transactions: 'keep these transactionIds from being used again',
}

function ofTenants(table: string, keepDays: number, column: string, age: 'time' | 'uuid', what: string): DeletedTable {
  return { table, keepDays, column, age, ofTenant: true, what }
}

function ofNoTenant(table: string, keepDays: number, column: string, what: string): DeletedTable {
  return { table, keepDays, column, age: 'time', ofTenant: false, what }
}
