/*
 * The tables that a move copies to another cell. A test compares these lists with the schema: every table that has a tenant, a
 * person or a supplier's key is in one of them.
 */

/** A table whose rows have a tenant_id. */
interface MovedTable {
  table: string
  /**
   * How a changed row is rewritten in the target. `replace`: deleted and inserted, so that a value that is unique within
   * the tenant may move between rows. `update`: in place, because other rows refer to it.
   */
  again: 'replace' | 'update'
}

/** The tables in copying order: each one after the tables that it references. */
export const MOVED_TABLES: readonly MovedTable[] = [
  { table: 'tenants', again: 'update' },
  ...replaced('twins', 'tenant_secrets', 'tenant_keys', 'brands', 'brand_pictures'),
  { table: 'wallets', again: 'update' },
  { table: 'people', again: 'update' },
  ...replaced('tenant_price_plans', 'tenant_price_groups', 'tenant_prices', 'notes', 'webhook_endpoints'),
  ...replaced('webhook_replays', 'transfers', 'wallet_adjustments'),
  ...replaced('ledger_trees', 'ledger_tiles', 'ledger_checkpoints', 'ledger_restores'),
  { table: 'top_up_requests', again: 'update' },
  ...replaced('top_up_receipts', 'issued_statements', 'restored_transactions', 'orders'),
  { table: 'order_items', again: 'update' },
  ...replaced('profiles', 'esim_actions', 'esim_sends'),
  ...replaced('supplier_attempts', 'orphans', 'watched_items', 'resolved_codes'),
  ...replaced('events', 'deliveries', 'delivery_attempts', 'alerts', 'mails', 'audit_log', 'request_ids'),
]

function replaced(...tables: string[]): MovedTable[] {
  return tables.map((table) => ({ table, again: 'replace' }))
}

/** Small tables whose rows belong to a tenant's people. They are rewritten as a whole behind the fence. */
export const TABLES_OF_PEOPLE = [
  'passkeys',
  'access_tokens',
  'saved_views',
  'recovery_codes',
  'provider_accounts',
] as const

interface SupplierBook {
  table: string
  /** The column that holds the key of an item, `orderNo-itemNo`. */
  key: 'key' | 'esim_key'
  /** A column that the target fills itself. */
  own?: string
}

/** Suppliers' records about an item, which do not contain its tenant. They are copied whenever a row about that item is. */
export const SUPPLIER_BOOKS: readonly SupplierBook[] = [
  { table: 'es2plus_orders', key: 'key' },
  { table: 'esim_go_orders', key: 'key' },
  { table: 'mobimatter_orders', key: 'key' },
  // Each cell's sandbox counts its own ICCIDs. The profile keeps the delivered one.
  { table: 'sandbox_issued', key: 'key', own: 'iccid_number' },
  { table: 'sandbox_actions', key: 'esim_key' },
]

/** Tables whose rows show that a supplier was called about an item. */
export const TABLES_ABOUT_ITEMS: ReadonlySet<string> = new Set(['order_items', 'supplier_attempts', 'profiles'])

/** Tables of tenants, people or suppliers' keys that are not copied, each with its reason. */
export const EXEMPT_TABLES: Readonly<Record<string, string>> = {
  qps_buckets: 'a second’s worth of requests: the target starts with a full bucket',
  endpoint_queues: 'leases of nodes of the source',
  webhook_checks: 'leases of health checks that nodes of the source run',
  sales_progress: 'the target computes the sums of orders itself',
  daily_sales: 'computed in the target from the copied orders',
  daily_sales_tenants: 'computed in the target from the copied orders',
  monthly_sales_tenants: 'computed in the target from the copied orders',
  daily_sales_tenant_suppliers: 'computed in the target from the copied orders',
  daily_orders: 'computed in the target from the copied orders',
  supplier_questions: 'suppliers are asked by the cell that has the eSIM; the target polls them',
  trial_dealers: 'trial data of a local gateway',
  tenant_moves: 'each cell has its own row about the move',
  tenant_move_changes: 'what the source has yet to copy',
  sessions: 'people sign in again at the console of the new cell',
  person_links: 'lead to the console of the source; the operator makes new ones',
  stock_codes: 'each cell sells its own stock; what was delivered is in profiles',
  esim_go_claims: 'which order of this cell takes the next eSIM of a bundle',
  recovered_tenants: 'says of a restore of this cell who was released from it',
  restored_lists: 'says of a restore of this cell whose lists were read',
  unclaimed_esims: 'a list of the supplier, compared with all orders of a cell',
}
