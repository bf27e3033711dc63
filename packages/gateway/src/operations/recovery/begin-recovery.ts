import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { createIds, type Ids } from '@dealer-esim/lib/ids.ts'
import { ensureLocalMasterKey } from '@dealer-esim/lib/local-master-key.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import sql from 'sql-template-tag'
import { audit, type By, SYSTEM } from '#platform/audit/audit.ts'
import type { Config } from '#platform/config/config.ts'
import { ensureDeployment, findDeployment } from '#platform/deployment/ensure-deployment.ts'
import { listPeers, nameWithKeys } from '#platform/deployment/peers.ts'
import { RECORD_LEDGER_RESTORE } from '#wallet/books/record-restore.ts'

/*
 * A recovery after a restore that the command `restore` did not make, such as a managed server's point-in-time restore. It is
 * identified by the time up to which the server has replayed, e.g. 2026-11-29T14:05:00Z. The database records this time, and a
 * restore to the same time loses the record, because the record is younger.
 */

export interface RestoredUpTo {
  /** What happened later, the database does not know. */
  since: Date
  /** Begin it again although a recovery from this time has ended. */
  again: boolean
}

/**
 * @returns false if this recovery has begun before; nothing is then changed
 * @throws Refusal while a gateway runs, or if the time is in the future
 */
export async function beginRecovery(
  { db, ids }: { db: Db; ids: Ids },
  { since, again }: RestoredUpTo,
  by: By,
): Promise<boolean> {
  return db.tx(async (tx) => {
    // A gateway that starts now waits for its first look at the restores, and a second one that begins the same recovery for this one.
    tx.send({ text: 'lock table restores in access exclusive mode' })
    const [time] = await tx.query<{ isAhead: boolean; isKnown: boolean }>({
      text: `select $1::timestamptz > now() as is_ahead,
               exists (select from restores where backup_started_at = $1 and (recovering or not $2)) as is_known`,
      values: [since, again],
    })
    if (time!.isKnown) return false
    if (time!.isAhead) {
      const message = `${since.toISOString()} is in the future: give the time up to which the server has replayed.`
      throw new Refusal(422, 'INVALID', message)
    }
    const running = (await listPeers(tx)).filter(({ part }) => part === 'gateway')
    if (running.length > 0) {
      const message = `Gateways use this database: they have ${running.length} connections to it. Stop them first, because they would go on selling.`
      throw new Refusal(409, 'GATEWAY_RUNS', message)
    }
    const restoreId = ids.uuid()
    tx.send(sql`
      insert into restores (restore_id, backup_started_at, restored_at) values (${restoreId}, ${since}, now())`)
    tx.send({ text: RECORD_LEDGER_RESTORE, values: [restoreId] })
    for (const text of SIGN_OUT) tx.send({ text })
    audit(tx, ids, { tenantId: null, ...by, action: 'recovery.start', after: { since } })
    return true
  })
}

/** Nobody's session outlives a restore: what was revoked after the backup would be valid again. */
export const SIGN_OUT = ['delete from sessions', 'delete from access_tokens', 'delete from person_links']

/**
 * Begins the recovery of the argument `--recovery TIME`, before this process opens the connections by which others see that a
 * gateway runs. A process that finds it begun, or ended, starts as without the argument: so every node gets the argument, and
 * it does no harm if it stays in the unit.
 * @param databaseUrl of a migrated database
 * @throws StartRefused
 */
export async function startInRecovery(config: Config, databaseUrl: string, log: Log): Promise<void> {
  const { recoverySince: since, databaseSchema: schema, deployment } = config
  if (since === undefined) return
  const cipher = createCipher(config.masterKeys ?? [ensureLocalMasterKey(config.dataDir)])
  const applicationName = nameWithKeys('recovery', cipher, schema)
  const db = createDb({ url: databaseUrl, schema, poolSize: 1, applicationName })
  const ids = createIds(Date.now)
  try {
    if ((await findDeployment(db)) === undefined) {
      throw new StartRefused(
        'No gateway has used this database, so it cannot have been restored. Check DATABASE_URL and DATABASE_SCHEMA, or start without --recovery.',
      )
    }
    await ensureDeployment({ db, cipher, ids }, deployment)
    const isBegun = await beginRecovery({ db, ids }, { since, again: false }, SYSTEM)
    const from = { since: since.toISOString() }
    if (isBegun) log.warn(from, 'the gateway is in recovery: it buys, cancels and sends nothing until it is released')
    else log.info(from, 'the recovery of --recovery has begun before')
  } catch (error) {
    throw error instanceof Refusal ? new StartRefused(`--recovery: ${error.message}`, { cause: error }) : error
  } finally {
    await db.close()
  }
}
