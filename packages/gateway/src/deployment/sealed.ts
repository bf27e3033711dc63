import { NIL_TENANT } from '../audit/audit.ts'

/** A column of ciphertexts, and whose each of them is. */
export interface SealedColumn {
  table: string
  column: string
  /** SQL of the text that is bound into the ciphertext (`Cipher.encrypt`). */
  owner: string
  /** The first column of the primary key, and where its values are listed: locks are taken within one of them. */
  within?: Scope
  /** The last column of the primary key. */
  id: { column: string; type: 'uuid' | 'text' }
}

interface Scope {
  column: string
  type: 'uuid' | 'text'
  listed: string
}

const TENANT: Scope = {
  ...uuid('tenant_id'),
  listed: 'select tenant_id::text as value from tenants order by tenant_id',
}
/** The operator's own rows have the nil tenant, which is no row of tenants. */
const TENANT_OR_NIL: Scope = {
  ...uuid('tenant_id'),
  listed: `select '${NIL_TENANT}' as value union all (${TENANT.listed})`,
}
const SUPPLIER: Scope = { ...text('supplier'), listed: 'select supplier as value from suppliers order by supplier' }
const OF_TENANT = 'tenant_id::text'
const OF_SUPPLIER = `'supplier:' || supplier`

/** Everything that lies encrypted in the database, but `deployment.link_key`. A test compares it with the schema. */
export const SEALED: readonly SealedColumn[] = [
  { table: 'tenant_secrets', column: 'ciphertext', owner: OF_TENANT, within: TENANT, id: uuid('secret_id') },
  { table: 'people', column: 'totp_secret', owner: 'person_id::text', id: uuid('person_id') },
  { table: 'suppliers', column: 'config', owner: OF_SUPPLIER, id: text('supplier') },
  { table: 'es2plus_orders', column: 'secrets', owner: OF_SUPPLIER, within: SUPPLIER, id: text('key') },
  { table: 'stock_codes', column: 'secrets', owner: OF_SUPPLIER, within: SUPPLIER, id: uuid('code_id') },
  { table: 'orphans', column: 'secrets', owner: OF_TENANT, within: TENANT, id: uuid('orphan_id') },
  { table: 'profiles', column: 'secrets', owner: OF_TENANT, within: TENANT, id: uuid('profile_id') },
  { table: 'mails', column: 'content', owner: OF_TENANT, within: TENANT_OR_NIL, id: uuid('mail_id') },
]

function uuid(column: string) {
  return { column, type: 'uuid' } as const
}

function text(column: string) {
  return { column, type: 'text' } as const
}
