import { WHOLE_UNIT } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { raw } from 'sql-template-tag'
import { type AuditEntry, audit, type By } from '#platform/audit/audit.ts'
import type { Config } from '#platform/config/config.ts'
import { requireKnownByAll } from '#platform/deployment/live-releases.ts'
import { isBetweenCells, moveLock } from '#platform/held-tenants.ts'
import { insertSecret } from '#tenants/app-secret.ts'
import { type Credentials, createAppKey } from '#tenants/create-tenant.ts'
import { lockWallet } from '#wallet/ledger/lock-wallets.ts'
import { postTopUp } from '#wallet/ledger/top-up-wallet.ts'
import { endTwin } from './end-twin.ts'
import { getTwin, type TwinView } from './find-twin.ts'

/** The dependencies of one schema: that of the live dealers, or that of their test twins. */
export interface SchemaDeps {
  db: Db
  ids: Ids
  cipher: Pick<Cipher, 'encrypt'>
  config: Pick<Config, 'cellName' | 'mode'>
  wake: Pick<Wakeups<'settings'>, 'wake'>
}

const OPENING = { amount: 1_000n * WHOLE_UNIT, reference: 'test money' }

/**
 * Creates the test twin of a live dealer (docs/decisions/0035), with 1 000 units of the dealer's currency.
 * @param openTwins creates the schema of the twins if it is missing
 * @returns the credentials; the caller shows the AppSecret only once
 * @throws Refusal if the dealer has a twin, is being moved, or does not exist, or while a gateway of a release that knows no
 * twins is connected
 */
export async function createTwin(
  live: SchemaDeps,
  openTwins: () => Promise<SchemaDeps>,
  typedId: string,
  by: By,
): Promise<Credentials> {
  const dealer = await readDealer(live.db, requireUuid(typedId, 'tenant'))
  await requireKnownByAll(live.db, 'test twins')
  const twins = await openTwins()
  const tenantId = twins.ids.uuid()
  const appKey = createAppKey(twins.ids, 'ak', twins.config)
  const insert = async (tx: Tx) => {
    tx.send(sql`
      insert into tenants (tenant_id, app_key, tenant_name, currency_code)
      values (${tenantId}, ${appKey}, ${dealer.clientName}, ${dealer.currencyCode})`)
    tx.send(sql`insert into twins (tenant_id, live_tenant_id) values (${tenantId}, ${dealer.tenantId})`)
    const secret = insertSecret(tx, twins, tenantId)
    await openWallet(tx, twins.ids, { tenantId, currencyCode: dealer.currencyCode }, by)
    return secret
  }
  const { appSecret } = await inItsCell(live, dealer.tenantId, () => twins.db.tx(insert)).catch((error) => {
    if (sqlState(error) === UNIQUE_VIOLATION)
      throw new Refusal(409, 'TWIN_EXISTS', 'The dealer has a test twin already.')
    throw error
  })
  await auditLive(live, dealer.tenantId, { action: 'tenant.create_twin', after: { twinId: tenantId, appKey } }, by)
  live.wake.wake('settings')
  return { tenantId, appKey, appSecret }
}

const UNIQUE_VIOLATION = '23505'

/**
 * Starts a twin again from nothing: deletes its orders, eSIMs, events, callback URL and entries, once open calls have ended, and opens a new
 * wallet. Credentials, restricted keys, settings and RequestIDs stay.
 * @throws Refusal if the dealer has no twin
 */
export async function resetTwin(
  live: SchemaDeps,
  twins: SchemaDeps | undefined,
  typedId: string,
  by: By,
): Promise<TwinView> {
  const twin = await getTwin(twins, typedId)
  await inItsCell(live, twin.liveTenantId, () =>
    endTwin(twins!.db, twin.tenantId, 'KEEP_CREDENTIALS', async (tx) => {
      await openWallet(tx, twins!.ids, twin, by)
      tx.send(sql`update twins set resets = resets + 1 where tenant_id = ${twin.tenantId}`)
    }),
  )
  const entry = { action: 'tenant.reset_twin', after: { twinId: twin.tenantId, resets: twin.resets + 1 } } as const
  await auditLive(live, twin.liveTenantId, entry, by)
  return getTwin(twins, typedId)
}

/** Deletes a twin with everything that it holds, once open calls have ended. @throws Refusal if the dealer has no twin */
export async function deleteTwin(
  live: SchemaDeps,
  twins: SchemaDeps | undefined,
  typedId: string,
  by: By,
): Promise<TwinView> {
  const twin = await getTwin(twins, typedId)
  await inItsCell(live, twin.liveTenantId, () => endTwin(twins!.db, twin.tenantId, 'DELETE'))
  const before = { twinId: twin.tenantId, appKey: twin.appKey }
  await auditLive(live, twin.liveTenantId, { action: 'tenant.delete_twin', before }, by)
  return twin
}

/**
 * Runs `work` while no command moves the dealer with its twin, so that a move finds a whole twin or none.
 * @throws Refusal
 */
function inItsCell<Result>({ db }: SchemaDeps, liveTenantId: string, work: () => Promise<Result>): Promise<Result> {
  return db.tx(async (tx) => {
    const [lock] = await tx.query<{ isShared: boolean }>(
      sql`select pg_try_advisory_xact_lock_shared(${raw(moveLock(liveTenantId))}) as is_shared`,
    )
    const moves = await tx.query(sql`select where ${raw(isBetweenCells(`'${liveTenantId}'`))}`)
    if (lock!.isShared && moves.length === 0) return work()
    throw new Refusal(
      409,
      'BEING_MOVED',
      'The dealer is being moved, or was moved, to another cell. Do this in its new cell once the move has ended.',
    )
  })
}

/** @throws Refusal if there is no such dealer */
async function readDealer(db: Db, tenantId: string) {
  const [dealer] = await db.query<{ clientName: string; currencyCode: string }>(sql`
    select tenant_name as client_name, currency_code from tenants where tenant_id = ${tenantId}`)
  if (!dealer) throw notFound('tenant', tenantId)
  return { tenantId, ...dealer }
}

/** A wallet with the opening balance as its first entry. */
async function openWallet(
  tx: Tx,
  ids: Ids,
  { tenantId, currencyCode }: Pick<TwinView, 'tenantId' | 'currencyCode'>,
  by: By,
) {
  tx.send(sql`
    insert into wallets (tenant_id, currency_code, updated_at)
    values (${tenantId}, ${currencyCode}, date_trunc('milliseconds', clock_timestamp()))`)
  await postTopUp(tx, ids, await lockWallet(tx, tenantId), OPENING, by)
}

async function auditLive(
  { db, ids }: SchemaDeps,
  tenantId: string,
  entry: Pick<AuditEntry, 'action' | 'before' | 'after'>,
  by: By,
): Promise<void> {
  await db.tx(async (tx) => audit(tx, ids, { tenantId, subject: tenantId, ...entry, ...by }))
}
