import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { changeTenant, lockTenant, type TenantDeps } from './change-tenant.ts'

export const SECRET_BYTES = 32

/** The longest time for which an old secret remains valid. */
export const GRACE_MAX_MS = 24 * 3_600_000

export interface SecretDeps extends TenantDeps {
  cipher: Pick<Cipher, 'encrypt'>
}

/** Creates an AppSecret and stores it, encrypted, as the tenant's current one. Callers show it only once. */
export function insertSecret(
  tx: Tx,
  deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'> },
  tenantId: string,
): { appSecret: string; secretId: string } {
  const appSecret = deps.ids.bytes(SECRET_BYTES).toString('base64url')
  const secretId = deps.ids.uuid()
  tx.send(sql`
    insert into tenant_secrets (tenant_id, secret_id, ciphertext, created_at)
    values (${tenantId}, ${secretId}, ${deps.cipher.encrypt(appSecret, tenantId)}, clock_timestamp())`)
  return { appSecret, secretId }
}

/**
 * Replaces the AppSecret. The old secret remains valid for `graceMs` (default 0: only the new one is valid from the commit
 * on). A secret already in its grace period becomes invalid, so at most two secrets are valid.
 * @throws Refusal if the grace period is not between 0 and 24 hours, or if the tenant does not exist
 */
export async function resetSecret(
  deps: SecretDeps,
  typedId: string,
  { graceMs = 0 }: { graceMs?: number | undefined },
  by: By,
): Promise<{ appSecret: string; oldValidUntil: Date | null }> {
  if (!Number.isInteger(graceMs) || graceMs < 0 || graceMs > GRACE_MAX_MS) {
    throw new Refusal(422, 'GRACE_OUT_OF_RANGE', 'The grace period must be between 0 and 24 hours.')
  }
  return changeTenant(deps, typedId, by, async (tx, tenantId) => {
    await lockTenant(tx, tenantId)
    const oldValidUntil = await retire(tx, tenantId, graceMs)
    const { appSecret, secretId } = insertSecret(tx, deps, tenantId)
    const after = { secretId, graceS: graceMs / 1000, oldValidUntil }
    return { entry: { action: 'tenant.reset_secret', after }, result: { appSecret, oldValidUntil } }
  })
}

async function retire(tx: Tx, tenantId: string, graceMs: number): Promise<Date | null> {
  if (graceMs === 0) {
    tx.send(sql`delete from tenant_secrets where tenant_id = ${tenantId}`)
    return null
  }
  tx.send(sql`delete from tenant_secrets where tenant_id = ${tenantId} and valid_until is not null`)
  const [old] = await tx.query<{ validUntil: Date }>(sql`
    update tenant_secrets set valid_until = clock_timestamp() + ${graceMs} * interval '1 millisecond'
    where tenant_id = ${tenantId}
    returning valid_until`)
  return old?.validUntil ?? null
}

/**
 * Decrypts the current AppSecret. The caller must just have authenticated again (the console requires the password and the
 * second factor). Every view is audited.
 * @throws Refusal if the tenant does not exist
 */
export async function viewSecret(
  deps: { db: Db; ids: Ids; cipher: Pick<Cipher, 'decrypt'> },
  tenantId: string,
  by: By,
): Promise<string> {
  return deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ tenantId: string; secretId: string; ciphertext: Buffer }>(sql`
      select tenant_id, secret_id, ciphertext from tenant_secrets
      where tenant_id = ${requireUuid(tenantId, 'tenant')} and valid_until is null`)
    if (!row) throw notFound('tenant')
    audit(tx, deps.ids, {
      tenantId: row.tenantId,
      subject: row.tenantId,
      action: 'tenant.view_secret',
      after: { secretId: row.secretId },
      ...by,
    })
    return deps.cipher.decrypt(row.ciphertext, row.tenantId).toString()
  })
}
