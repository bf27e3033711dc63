import { type PreparedSecret, prepareSecret } from '@dealer-esim/contract/node'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql, { raw } from 'sql-template-tag'
import { isInRecovery } from '#platform/held-tenants.ts'

/** A tenant as admission and webhooks need it: decrypted credentials, and the settings that admission checks. */
export interface Tenant {
  tenantId: string
  appKey: string
  clientName: string
  currencyCode: string
  status: 'ACTIVE' | 'SUSPENDED'
  /** Canonical addresses and CIDR blocks; empty: any address. */
  ipAllowlist: string[]
  /** The operator's switch for requests without a signature (tenants/allowlist.ts). */
  unsignedRequests: boolean
  dailySpendLimit: bigint | null
  /** null: the deployment's default. */
  qpsLimit: number | null
  /** Counts changes to credentials and settings. A decision based on an older version must be made again. */
  version: bigint
  /** The end of a move to or from another cell, until which requests are refused; null: the tenant has never moved. */
  fencedUntilMs: number | null
  /** How far its test time is ahead (platform/test-time.ts). */
  testOffsetMs: number
  /** The real time of the last advance of the test time; null: never. */
  testAdvancedAtMs: number | null
  /** Since a restore, until an operator releases it: every request is refused with 000002. */
  isInRecovery: boolean
  /** The other cell's nodes, if only that cell may serve the tenant; null: this cell serves it. */
  servedBy: ServingNode[] | null
  /** The restricted key itself; null: the tenant's own key. */
  key: RestrictedKey | null
  /** The current secret first, then the one in its grace period, if any. */
  secrets: TenantSecret[]
}

/** A further AppKey of a tenant, for one program (tenants/keys). Its limits are checked with each debit. */
export interface RestrictedKey {
  keyId: string
  label: string
  /** Names of operations of the dealer API. */
  operations: string[]
  /** In addition to the tenant's. */
  ipAllowlist: string[]
  /** Exclusive. null: never. */
  expiresAtMs: number | null
}

/** An API node of another cell. */
export interface ServingNode {
  host: string
  port: number
}

export interface TenantSecret {
  secretId: string
  secret: string
  /** Exclusive. null: the current secret. */
  validUntilMs: number | null
  /** When the first request signed with it arrived; null: not yet. */
  provenAtMs: number | null
}

/** Finds a tenant, without secrets whose grace period has ended by the database's clock. */
export async function findTenant(
  db: Pick<Db | Tx, 'query'>,
  cipher: Pick<Cipher, 'decrypt'>,
  by: { appKey: string } | { tenantId: string },
): Promise<Tenant | undefined> {
  const [name, condition] =
    'appKey' in by
      ? ['tenant-by-app-key', sql`t.app_key = ${by.appKey}`]
      : ['tenant-by-id', sql`t.tenant_id = ${by.tenantId}`]
  const { text, values } = sql`
    select t.tenant_id, t.app_key, t.tenant_name as client_name, t.currency_code, t.status, t.ip_allowlist, t.qps_limit,
           t.unsigned_requests, t.version,
           t.test_offset_ms::float8 as test_offset_ms,
           date_part('epoch', t.test_time) * 1000 - t.test_offset_ms as test_advanced_at_ms,
           date_part('epoch', m.fenced_until) * 1000 as fenced_until_ms,
           case when m.fenced_until = 'infinity' and m.other_nodes <> '[]' then m.other_nodes end as served_by,
           ${raw(isInRecovery('t.tenant_id'))} as is_in_recovery,
           (select daily_spend_limit from wallets w where w.tenant_id = t.tenant_id),
           s.secret_id, s.ciphertext, s.valid_until, s.proven_at
    from tenants t
    left join tenant_moves m on m.tenant_id = t.tenant_id
    left join tenant_secrets s
      on s.tenant_id = t.tenant_id and (s.valid_until is null or s.valid_until > clock_timestamp())
    where ${condition}
    order by s.valid_until desc nulls first`
  const rows = await db.query<Row>({ name, text, values })
  if (!rows[0]) return undefined
  const { secretId, ciphertext, validUntil, provenAt, ...tenant } = rows[0]
  const secrets = rows.flatMap((row) => (row.secretId === null ? [] : [secretOf(row, cipher)]))
  return { ...tenant, key: null, secrets }
}

/** AppKeys of restricted keys begin with it. */
export const RESTRICTED_PREFIX = 'rk_'

/**
 * Finds a tenant by any of its AppKeys. With a restricted key, the key's AppKey and secret stand in for the tenant's own.
 * @returns undefined if the AppKey is unknown, revoked or expired
 */
export async function findByAppKey(
  db: Pick<Db | Tx, 'query'>,
  cipher: Pick<Cipher, 'decrypt'>,
  appKey: string,
): Promise<Tenant | undefined> {
  if (!appKey.startsWith(RESTRICTED_PREFIX)) return findTenant(db, cipher, { appKey })
  const [row] = await db.query<RestrictedKey & { tenantId: string; version: bigint; ciphertext: Buffer }>({
    name: 'tenant-keys-by-app-key',
    text: `select k.tenant_id, t.version, key_id, label, operations, k.ip_allowlist, ciphertext,
             date_part('epoch', expires_at) * 1000 as expires_at_ms
           from tenant_keys k join tenants t on t.tenant_id = k.tenant_id
           where k.app_key = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())`,
    values: [appKey],
  })
  const tenant = row && (await findTenant(db, cipher, { tenantId: row.tenantId }))
  if (tenant === undefined) return undefined
  // The version that was read with the key. The tenant may have changed since, and the key with it: admission then finds this
  // version outdated, and both are read again.
  const { tenantId, version, ciphertext, ...key } = row!
  const secret = cipher.decrypt(ciphertext, tenantId).toString()
  return {
    ...tenant,
    version,
    appKey,
    key,
    secrets: [{ secretId: key.keyId, secret, validUntilMs: null, provenAtMs: 0 }],
  }
}

interface Row extends Omit<Tenant, 'secrets' | 'key'> {
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

/** The secret's signing key, prepared once per TenantSecret object. */
export function getPreparedSecret(secret: TenantSecret): PreparedSecret {
  const known = preparedSecrets.get(secret)
  if (known) return known
  const prepared = prepareSecret(secret.secret)
  preparedSecrets.set(secret, prepared)
  return prepared
}

const preparedSecrets = new WeakMap<TenantSecret, PreparedSecret>()
