import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'

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
