import {
  findFraction,
  formatTime,
  type HealthAnswer,
  KEY_LABEL_LENGTH_MAX,
  MONEY_MAX,
  type OperationName,
  operationNames,
  RESTRICTED_KEYS_MAX,
} from '@dealer-esim/contract'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import type { By } from '#platform/audit/audit.ts'
import { requireKnownByAll } from '#platform/deployment/live-releases.ts'
import { tenantNow } from '#platform/test-time.ts'
import { parseAllowlist } from '../allowlist.ts'
import type { SecretDeps } from '../app-secret.ts'
import { SECRET_BYTES } from '../app-secret.ts'
import { changeTenant, lockTenant } from '../change-tenant.ts'
import { type CreateTenantDeps, createAppKey } from '../create-tenant.ts'
import type { RestrictedKey } from '../tenant.ts'

/** Operations of a key that was made without a list of them. Operations that are added to the API later are not added here. */
export const DEFAULT_OPERATIONS: readonly OperationName[] = [
  'health',
  'package/list',
  'location/list',
  'account/balance',
]

/** Operations that a restricted key may have: all but the one that decides where events are sent. */
export const ALLOWED_OPERATIONS: readonly OperationName[] = operationNames.filter((name) => name !== 'webhook/set')

/** Members to set on a key. An absent member stays unchanged; null clears it. */
export interface KeyInput {
  label?: string
  operations?: readonly string[] | null
  /** In 1/10 000 of the tenant's currency, as are the others. */
  perOrderMax?: bigint | null
  perDayMax?: bigint | null
  totalMax?: bigint | null
  /** Addresses and CIDR blocks in any spelling; empty: any address that the tenant's allowlist has. */
  ipAllowlist?: readonly string[]
  expiresAt?: Date | null
}

export interface KeyView {
  appKey: string
  label: string
  operations: string[]
  perOrderMax: bigint | null
  perDayMax: bigint | null
  totalMax: bigint | null
  ipAllowlist: string[]
  expiresAt: Date | null
  revokedAt: Date | null
  /** Today, by the database's clock. */
  daySpent: bigint
  totalSpent: bigint
  lastUsedAt: Date | null
  createdAt: Date
}

/** Lists the restricted keys of a tenant, newest first: those that work, then those that are revoked. */
export async function listKeys(db: Pick<Db, 'query'>, typedId: string): Promise<KeyView[]> {
  const tenantId = requireUuid(typedId, 'tenant')
  return db.query<KeyView>(sql`
    select app_key, label, operations, per_order_max, per_day_max, total_max, ip_allowlist, expires_at, revoked_at,
      case when spent_on = (clock_timestamp() at time zone 'utc')::date then day_spent else 0 end as day_spent,
      total_spent, last_used_at, created_at
    from tenant_keys where tenant_id = ${tenantId} order by revoked_at is not null, key_id desc`)
}

/** A key's limits and the amounts spent, as returned by `health`. */
export async function getKeyLimits(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { keyId }: Pick<RestrictedKey, 'keyId'>,
): Promise<HealthAnswer['keyLimits']> {
  const [row] = await db.query<KeyView & { dayResetTime: Date }>({
    name: 'tenant-keys-limits',
    text: `select per_order_max, per_day_max, total_max, total_spent, expires_at,
             case when spent_on = (now at time zone 'utc')::date then day_spent else 0 end as day_spent,
             (date_trunc('day', now at time zone 'utc') + interval '1 day') at time zone 'utc' as day_reset_time
           from tenant_keys, (select ${tenantNow('$1', 'clock_timestamp()')} as now) present where tenant_id = $1 and key_id = $2`,
    values: [tenantId, keyId],
  })
  if (row === undefined) throw new Error(`tenant ${tenantId} has no key ${keyId}`)
  const units = (amount: bigint | null) => (amount === null ? null : Number(amount))
  return {
    perOrderMax: units(row.perOrderMax),
    perDayMax: units(row.perDayMax),
    daySpent: Number(row.daySpent),
    dayResetTime: formatTime(row.dayResetTime),
    totalMax: units(row.totalMax),
    totalSpent: Number(row.totalSpent),
    expiresAt: row.expiresAt && formatTime(row.expiresAt),
  }
}

/**
 * Creates a restricted key. The caller shows its AppSecret once: it is stored encrypted and never shown again.
 * @throws Refusal for invalid members, a label that another key has, more than 20 keys, or while a gateway of a release that
 * knows no restricted keys is connected
 */
export async function createKey(
  deps: SecretDeps & Pick<CreateTenantDeps, 'config'>,
  typedId: string,
  input: KeyInput & { label: string },
  by: By,
): Promise<{ appKey: string; appSecret: string }> {
  const appKey = createAppKey(deps.ids, 'rk', deps.config)
  const appSecret = deps.ids.bytes(SECRET_BYTES).toString('base64url')
  return changeTenant(deps, typedId, by, async (tx, tenantId) => {
    const { currencyCode } = await lockTenant(tx, tenantId)
    const members = { ...EMPTY, ...checkKey(input, currencyCode) }
    await requireKnownByAll(tx, 'restricted keys')
    const others = await tx.query<{ label: string }>(sql`
      select label from tenant_keys where tenant_id = ${tenantId} and revoked_at is null`)
    if (others.length >= RESTRICTED_KEYS_MAX) {
      throw new Refusal(
        422,
        'TOO_MANY_KEYS',
        `A dealer has at most ${RESTRICTED_KEYS_MAX} restricted keys. Revoke one first.`,
      )
    }
    refuseLabel(members.label, others)
    tx.send(sql`
      insert into tenant_keys (tenant_id, key_id, app_key, ciphertext, label, operations, per_order_max, per_day_max,
        total_max, ip_allowlist, expires_at, created_at, updated_at)
      values (${tenantId}, ${deps.ids.uuid()}, ${appKey}, ${deps.cipher.encrypt(appSecret, tenantId)}, ${members.label},
        ${members.operations}, ${members.perOrderMax}, ${members.perDayMax}, ${members.totalMax},
        ${members.ipAllowlist}, ${members.expiresAt}, clock_timestamp(), clock_timestamp())`)
    return { entry: { action: 'tenant.create_key', after: { appKey, ...members } }, result: { appKey, appSecret } }
  })
}

/** Changes a key that is not revoked. @throws Refusal as `createKey`, or if there is no such key */
export async function setKey(
  deps: SecretDeps,
  typedId: string,
  appKey: string,
  input: KeyInput,
  by: By,
): Promise<void> {
  await changeTenant(deps, typedId, by, async (tx, tenantId) => {
    const { currencyCode } = await lockTenant(tx, tenantId)
    const before = await lockKey(tx, tenantId, appKey)
    const changed = checkKey(input, currencyCode)
    const after = { ...before, ...changed }
    if (changed.label !== undefined && changed.label !== before.label) {
      const others = await tx.query<{ label: string }>(sql`
        select label from tenant_keys where tenant_id = ${tenantId} and revoked_at is null`)
      refuseLabel(changed.label, others)
    }
    tx.send(sql`
      update tenant_keys set label = ${after.label}, operations = ${after.operations}, per_order_max = ${after.perOrderMax},
        per_day_max = ${after.perDayMax}, total_max = ${after.totalMax}, ip_allowlist = ${after.ipAllowlist},
        expires_at = ${after.expiresAt}, updated_at = clock_timestamp()
      where tenant_id = ${tenantId} and app_key = ${appKey}`)
    const entry = { action: 'tenant.set_key' as const, before: { appKey, ...before }, after: { appKey, ...after } }
    return { entry, result: undefined }
  })
}

/** Revokes a key for good, from the next request on. @throws Refusal if there is no such key, or it is revoked already */
export async function revokeKey(deps: SecretDeps, typedId: string, appKey: string, by: By): Promise<void> {
  await changeTenant(deps, typedId, by, async (tx, tenantId) => {
    await lockTenant(tx, tenantId)
    const { label } = await lockKey(tx, tenantId, appKey)
    tx.send(sql`
      update tenant_keys set revoked_at = clock_timestamp(), updated_at = clock_timestamp()
      where tenant_id = ${tenantId} and app_key = ${appKey}`)
    return { entry: { action: 'tenant.revoke_key', after: { appKey, label } }, result: undefined }
  })
}

type KeyMembers = Pick<
  KeyView,
  'label' | 'operations' | 'perOrderMax' | 'perDayMax' | 'totalMax' | 'ipAllowlist' | 'expiresAt'
>

async function lockKey(tx: Tx, tenantId: string, appKey: string): Promise<KeyMembers> {
  const [key] = await tx.query<KeyMembers>(sql`
    select label, operations, per_order_max, per_day_max, total_max, ip_allowlist, expires_at
    from tenant_keys where tenant_id = ${tenantId} and app_key = ${appKey} and revoked_at is null for no key update`)
  if (!key) throw notFound('restricted key')
  return key
}

function refuseLabel(label: string, others: readonly { label: string }[]): void {
  if (!others.some((other) => other.label === label)) return
  throw invalid({ label: `Another key has the label “${label}”. Choose another.` })
}

const EMPTY: Omit<KeyMembers, 'label'> = {
  ...{ operations: [...DEFAULT_OPERATIONS], perOrderMax: null, perDayMax: null, totalMax: null },
  ...{ ipAllowlist: [], expiresAt: null },
}

/** Checks the given members and brings them into their stored form. @throws Refusal that lists all faults */
function checkKey<Input extends KeyInput>(
  input: Input,
  currencyCode: string,
): Partial<KeyMembers> & Pick<Input, 'label'> {
  const faults: Record<string, string> = {}
  const members: Partial<KeyMembers> = {}
  if (input.label !== undefined) {
    members.label = input.label.trim()
    if (!LABEL.test(members.label) || [...members.label].length > KEY_LABEL_LENGTH_MAX) {
      faults.label = `The label must have 1 to ${KEY_LABEL_LENGTH_MAX} characters on one line.`
    }
  }
  if (input.operations !== undefined) {
    const operations = [...new Set(input.operations ?? DEFAULT_OPERATIONS)]
    const unknown = operations.filter((name) => !(ALLOWED_OPERATIONS as readonly string[]).includes(name))
    if (unknown.length > 0) {
      faults.operations = `A restricted key cannot have ${unknown.join(', ')}. Choose from ${ALLOWED_OPERATIONS.join(', ')}.`
    } else if (operations.length === 0) faults.operations = 'Choose at least one operation, or revoke the key.'
    members.operations = operations
  }
  for (const limit of ['perOrderMax', 'perDayMax', 'totalMax'] as const) {
    const amount = input[limit]
    if (amount === undefined) continue
    members[limit] = amount
    if (amount === null) continue
    if (amount < 0n || amount > BigInt(MONEY_MAX)) faults[limit] = 'A limit must be 0 or more.'
    else faults[limit] = findFraction(amount, currencyCode) ?? ''
    if (faults[limit] === '') delete faults[limit]
  }
  if (input.ipAllowlist !== undefined) {
    const parsed = parseAllowlist(input.ipAllowlist)
    if ('fault' in parsed) faults.ipAllowlist = parsed.fault
    else members.ipAllowlist = parsed.entries
  }
  if (input.expiresAt !== undefined) {
    members.expiresAt = input.expiresAt
    if (input.expiresAt !== null && Number.isNaN(input.expiresAt.getTime()))
      faults.expiresAt = 'Write a time such as 2027-01-31T00:00:00Z.'
  }
  if (Object.keys(faults).length > 0) throw invalid(faults)
  return members as Partial<KeyMembers> & Pick<Input, 'label'>
}

const LABEL = /^[^\u0000-\u001f\u007f]+$/u

function invalid(fields: Record<string, string>): Refusal {
  const faults = Object.values(fields)
  return new Refusal(422, 'KEY_INVALID', faults.join(' '), { faults, fields })
}
