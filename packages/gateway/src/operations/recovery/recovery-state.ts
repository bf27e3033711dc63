import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { listPeers } from '#platform/deployment/peers.ts'
import { RECORD_LEDGER_RESTORE } from '#wallet/books/record-restore.ts'

/*
 * A gateway is in recovery from a restore until an operator has ended it. One flag decides, `restores.recovering`
 * (platform/held-tenants.ts): while it is set, no loop works for a dealer that is not released, and all requests are refused.
 */

export interface Recovery {
  /** The time of the earliest backup whose restore is not settled: what happened later, the database does not know. */
  backupStartedAt: Date
  restoredAt: Date
  /** When a worker had held the unsold codes and put open orders under review; null: not yet. */
  preparedAt: Date | null
  /** A request that was captured before the restore would still pass: its RequestID is forgotten, its timestamp is not old. */
  isReplayable: boolean
  /** How credits since the backup were entered again; null: they may be missing. */
  creditsEvidence: string | null
}

/** @returns undefined if the gateway is not in recovery */
export async function findRecovery(db: Pick<Db | Tx, 'query'>): Promise<Recovery | undefined> {
  const [row] = await db.query<{ [Member in keyof Recovery]: Recovery[Member] | null }>({
    name: 'recovery',
    text: `select min(backup_started_at) as backup_started_at, max(restored_at) as restored_at,
             case when count(*) = count(prepared_at) then max(prepared_at) end as prepared_at,
             max(restored_at) > now() - interval '6 minutes' as is_replayable,
             case when count(*) = count(credits_evidence) then max(credits_evidence) end as credits_evidence
           from restores where recovering`,
  })
  const { backupStartedAt, restoredAt, isReplayable, ...rest } = row!
  return backupStartedAt && restoredAt
    ? { backupStartedAt, restoredAt, isReplayable: isReplayable === true, ...rest }
    : undefined
}

/** @throws Refusal if the gateway is not in recovery */
export async function getRecovery(db: Pick<Db | Tx, 'query'>): Promise<Recovery> {
  const recovery = await findRecovery(db)
  if (recovery) return recovery
  throw new Refusal(
    409,
    'NOT_IN_RECOVERY',
    'The gateway is not in recovery. After a restore that the command restore did not make, begin it: recovery start --since TIME.',
  )
}

/**
 * Begins a recovery after a restore that the command `restore` did not make, such as a managed server's point-in-time restore.
 * @param since the time up to which the server has replayed; what happened later, the database does not know
 * @throws Refusal while a gateway runs
 */
export async function beginRecovery({ db, ids }: { db: Db; ids: Ids }, since: Date, by: By): Promise<void> {
  await db.tx(async (tx) => {
    // A gateway that starts now waits for its first look at the restores.
    tx.send({ text: 'lock table restores in access exclusive mode' })
    const [time] = await tx.query<{ isAhead: boolean }>({
      text: 'select $1::timestamptz > now() as is_ahead',
      values: [since],
    })
    if (time!.isAhead)
      throw new Refusal(422, 'INVALID', '--since is in the future: give the time up to which the server has replayed.')
    const running = (await listPeers(tx)).filter(({ part }) => part === 'gateway')
    if (running.length > 0) {
      const message = `${running.length} gateway processes use this database. Stop them first: they would go on selling.`
      throw new Refusal(409, 'GATEWAY_RUNS', message)
    }
    const restoreId = ids.uuid()
    tx.send({
      text: `insert into restores (restore_id, backup_started_at, restored_at) values ($1, $2, now())`,
      values: [restoreId, since],
    })
    tx.send({ text: RECORD_LEDGER_RESTORE, values: [restoreId] })
    for (const text of SIGN_OUT) tx.send({ text })
    audit(tx, ids, { tenantId: null, ...by, action: 'recovery.start', after: { since } })
  })
}

/** Nobody's session outlives a restore: what was revoked after the backup would be valid again. */
export const SIGN_OUT = ['delete from sessions', 'delete from access_tokens', 'delete from person_links']
