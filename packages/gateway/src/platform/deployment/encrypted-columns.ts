import { NIL_TENANT } from '../audit/audit.ts'

/** A column of ciphertexts, and how to find and decrypt its rows. */
export interface EncryptedColumn {
  table: string
  column: string
  /** SQL for the owner to which the ciphertext is bound (`Cipher.encrypt`). */
  owner: string
  /** The first column of the primary key, and the SQL that lists its values. Rows are locked one value at a time. */
  within?: Scope
  /** The last column of the primary key. */
  id: { column: string; type: 'uuid' | 'text' }
}

interface Scope {
  column: string
  type: 'uuid' | 'text'
  listSql: string
}

const TENANT: Scope = {
  ...uuid('tenant_id'),
  listSql: 'select tenant_id::text as value from tenants order by tenant_id',
}
/** The operator's own rows have the nil tenant, which has no row in `tenants`. */
const TENANT_OR_NIL: Scope = {
  ...uuid('tenant_id'),
  listSql: `select '${NIL_TENANT}' as value union all (${TENANT.listSql})`,
}
const SUPPLIER: Scope = { ...text('supplier'), listSql: 'select supplier as value from suppliers order by supplier' }
const OF_TENANT = 'tenant_id::text'
const OF_SUPPLIER = `'supplier:' || supplier`

/** All encrypted columns of the database except `deployment.link_key`. A test compares the list with the schema. */
export const ENCRYPTED_COLUMNS: readonly EncryptedColumn[] = [
  { table: 'tenant_secrets', column: 'ciphertext', owner: OF_TENANT, within: TENANT, id: uuid('secret_id') },
  { table: 'tenant_keys', column: 'ciphertext', owner: OF_TENANT, within: TENANT, id: uuid('key_id') },
  { table: 'ledger_keys', column: 'private_key', owner: 'key_id::text', id: uuid('key_id') },
  { table: 'people', column: 'totp_secret', owner: 'person_id::text', id: uuid('person_id') },
  { table: 'suppliers', column: 'config', owner: OF_SUPPLIER, id: text('supplier') },
  { table: 'supplier_tokens', column: 'token', owner: OF_SUPPLIER, id: text('supplier') },
  { table: 'supplier_exchanges', column: 'content', owner: OF_SUPPLIER, within: SUPPLIER, id: uuid('exchange_id') },
  { table: 'es2plus_orders', column: 'secrets', owner: OF_SUPPLIER, within: SUPPLIER, id: text('key') },
  { table: 'stock_codes', column: 'secrets', owner: OF_SUPPLIER, within: SUPPLIER, id: uuid('code_id') },
  { table: 'orphans', column: 'secrets', owner: OF_TENANT, within: TENANT, id: uuid('orphan_id') },
  { table: 'profiles', column: 'secrets', owner: OF_TENANT, within: TENANT, id: uuid('profile_id') },
  { table: 'esim_sends', column: 'traveller', owner: OF_TENANT, within: TENANT, id: uuid('send_id') },
  { table: 'webhook_endpoints', column: 'callback_url', owner: OF_TENANT, id: uuid('tenant_id') },
  { table: 'mails', column: 'content', owner: OF_TENANT, within: TENANT_OR_NIL, id: uuid('mail_id') },
]

function uuid(column: string) {
  return { column, type: 'uuid' } as const
}

function text(column: string) {
  return { column, type: 'text' } as const
}
