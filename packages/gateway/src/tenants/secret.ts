import sql from 'sql-template-tag'
import { audit, type By } from '../audit/audit.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { notFound, Refusal, requireUuid } from '../lib/refusal.ts'
import { changeTenant, lockTenant, type TenantDeps } from './change.ts'

const SECRET_BYTES = 32

/** How long an old secret may still verify at most. */
export const GRACE_MAX_MS = 24 * 3_600_000

export interface SecretDeps extends TenantDeps {
  cipher: Pick<Cipher, 'encrypt'>
}

/** A fresh AppSecret, stored encrypted as the tenant's current one. @returns it: the one time that it is told unasked */
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
 * Replaces the AppSecret. The old one verifies for `graceMs` more; one that was already in its grace ends, so that at
 * most two verify. Without grace, which is what an absent one means, nothing but the new secret verifies from the commit
 * on.
 * @throws Refusal for a grace outside 0 to 24 h, or a tenant that does not exist
 */
export async function resetSecret(
  deps: SecretDeps,
  typedId: string,
  { graceMs = 0 }: { graceMs?: number | undefined },
  by: By,
): Promise<{ appSecret: string; oldValidUntil: Date | null }> {
  if (!Number.isInteger(graceMs) || graceMs < 0 || graceMs > GRACE_MAX_MS) {
    throw new Refusal(422, 'GRACE_OUT_OF_RANGE', 'The grace period is at least 0 and at most 24 hours.')
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
 * The current AppSecret in the clear. Whoever asks has just proven who they are again (the console asks for the password
 * and the second factor); every view leaves an audit entry.
 * @throws Refusal for a tenant that does not exist
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
