import sql from 'sql-template-tag'
import type { Cipher } from '../lib/crypto.ts'
import type { Db, Tx } from '../lib/db.ts'

/** A dealer as admission and the webhooks need it: credentials in the clear, and the settings that admit a request. */
export interface Tenant {
  tenantId: string
  appKey: string
  clientName: string
  currencyCode: string
  status: 'ACTIVE' | 'SUSPENDED'
  /** Canonical addresses and CIDR blocks; empty: any address. */
  ipAllowlist: string[]
  /** null: the deployment's default. */
  qpsLimit: number | null
  /** Of credentials and settings together: what was judged by an older one has to be judged again. */
  version: bigint
  /** The current one first, then the one in its grace period, if any. */
  secrets: TenantSecret[]
}

export interface TenantSecret {
  secretId: string
  secret: string
  /** null: the current one. The moment itself is past validity. */
  validUntil_ms: number | null
  /** When a request signed with it first arrived; null: not yet. */
  provenAt_ms: number | null
}

/** The tenant as it is now, or undefined. A secret past its grace period is left out, by the database's clock. */
export async function loadTenant(
  db: Pick<Db | Tx, 'query'>,
  cipher: Pick<Cipher, 'decrypt'>,
  by: { appKey: string } | { tenantId: string },
): Promise<Tenant | undefined> {
  const [name, which] =
    'appKey' in by
      ? ['tenant-by-app-key', sql`t.app_key = ${by.appKey}`]
      : ['tenant-by-id', sql`t.tenant_id = ${by.tenantId}`]
  const { text, values } = sql`
    select t.tenant_id, t.app_key, t.tenant_name, t.currency_code, t.status, t.ip_allowlist, t.qps_limit, t.version,
           s.secret_id, s.ciphertext, s.valid_until, s.proven_at
    from tenants t
    left join tenant_secrets s
      on s.tenant_id = t.tenant_id and (s.valid_until is null or s.valid_until > clock_timestamp())
    where ${which}
    order by s.valid_until desc nulls first`
  const rows = await db.query<Row>({ name, text, values })
  const first = rows[0]
  if (!first) return undefined
  return {
    tenantId: first.tenant_id,
    appKey: first.app_key,
    clientName: first.tenant_name,
    currencyCode: first.currency_code,
    status: first.status,
    ipAllowlist: first.ip_allowlist,
    qpsLimit: first.qps_limit,
    version: first.version,
    secrets: rows.flatMap((row) => (row.secret_id === null ? [] : [secretOf(row, cipher)])),
  }
}

interface Row {
  tenant_id: string
  app_key: string
  tenant_name: string
  currency_code: string
  status: 'ACTIVE' | 'SUSPENDED'
  ip_allowlist: string[]
  qps_limit: number | null
  version: bigint
  secret_id: string | null
  ciphertext: Buffer
  valid_until: Date | null
  proven_at: Date | null
}

function secretOf(row: Row, cipher: Pick<Cipher, 'decrypt'>): TenantSecret {
  return {
    secretId: row.secret_id!,
    secret: cipher.decrypt(row.ciphertext, row.tenant_id).toString(),
    validUntil_ms: row.valid_until?.getTime() ?? null,
    provenAt_ms: row.proven_at?.getTime() ?? null,
  }
}
