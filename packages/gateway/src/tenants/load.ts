import { type PreparedSecret, prepareSecret } from '@dealer-esim/contract/node'
import sql from 'sql-template-tag'
import type { Cipher } from '../lib/crypto.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'

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
  validUntilMs: number | null
  /** When a request signed with it first arrived; null: not yet. */
  provenAtMs: number | null
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
    tenantId: first.tenantId,
    appKey: first.appKey,
    clientName: first.tenantName,
    currencyCode: first.currencyCode,
    status: first.status,
    ipAllowlist: first.ipAllowlist,
    qpsLimit: first.qpsLimit,
    version: first.version,
    secrets: rows.flatMap((row) => (row.secretId === null ? [] : [secretOf(row, cipher)])),
  }
}

interface Row {
  tenantId: string
  appKey: string
  tenantName: string
  currencyCode: string
  status: 'ACTIVE' | 'SUSPENDED'
  ipAllowlist: string[]
  qpsLimit: number | null
  version: bigint
  secretId: string | null
  ciphertext: Buffer
  validUntil: Date | null
  provenAt: Date | null
}

function secretOf(row: Row, cipher: Pick<Cipher, 'decrypt'>): TenantSecret {
  return {
    secretId: row.secretId!,
    secret: cipher.decrypt(row.ciphertext, row.tenantId).toString(),
    validUntilMs: row.validUntil?.getTime() ?? null,
    provenAtMs: row.provenAt?.getTime() ?? null,
  }
}

/** A secret ready to verify and to sign with, made once for as long as it is remembered. */
export function prepared(secret: TenantSecret): PreparedSecret {
  const known = preparedSecrets.get(secret)
  if (known) return known
  const made = prepareSecret(secret.secret)
  preparedSecrets.set(secret, made)
  return made
}

const preparedSecrets = new WeakMap<TenantSecret, PreparedSecret>()
