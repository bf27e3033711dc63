import { isAhead, type TimesAhead } from '@dealer-esim/lib/leases.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { isHeld } from './held-tenants.ts'

/**
 * A table whose rows are jobs. A claim leases a job to one node, which finishes it or sets the time of the next attempt. If
 * the node dies, the job can be claimed again when the lease ends. All members are constant SQL, never input.
 */
export interface JobTable {
  /** Names the prepared statements. */
  name: string
  table: string
  /** The columns that identify a job within its tenant. */
  key: readonly string[]
  /** A condition in addition to the due time: the job is open and not under a lease. */
  claimable: string
  /** The column that contains the time since which a job is due. */
  dueAt: string
  /** The longest wait (SQL, in ms) that `dueAt` is ever set to. A later time is ignored: the job is due. */
  longestWaitMs: string
  /** Assignments that start the lease: the job cannot be claimed until it ends. */
  claim: string
  /** The columns of `job` to return. */
  columns: string
}

/**
 * Claims the `limit` jobs that have been due longest, across tenants. A job is given to only one caller. Each statement
 * locks rows of one tenant, skips rows that are already locked, and commits immediately.
 */
export async function claimJobs<Job>(db: Pick<Db, 'query'>, jobs: JobTable, limit: number): Promise<Job[]> {
  const { name, table, key, dueAt, claim, columns } = jobs
  const due = isDue(jobs)
  const tenants = await db.query<{ tenantId: string; due: number }>({
    name: `${name}-due`,
    // Choosing the longest-due job per tenant keeps one tenant's backlog from delaying others.
    text: `select tenant_id, count(*)::integer as due
           from (select tenant_id from ${table} where ${due} and not ${isHeld(`${table}.tenant_id`)} order by ${dueAt} limit $1) longest
           group by tenant_id`,
    values: [limit],
  })
  const keys = key.join(', ')
  const claimed: Job[] = []
  for (const { tenantId, due: dueCount } of tenants) {
    const rows = await db.query<Job>({
      name: `${name}-claim`,
      text: `with due as (
               select ${keys} from ${table} where tenant_id = $1 and ${due}
               order by ${dueAt} limit $2 for no key update skip locked)
             update ${table} job set ${claim} from due
             where job.tenant_id = $1 and ${key.map((column) => `job.${column} = due.${column}`).join(' and ')}
             returning ${columns}`,
      values: [tenantId, dueCount],
    })
    claimed.push(...rows)
  }
  return claimed
}

function isDue({ claimable, dueAt }: JobTable): string {
  return `${claimable} and ${dueAt} <= now()`
}

/**
 * Finds jobs whose due time was set by a fast clock. The loop in operations/doctor/times-ahead.ts makes them due: if claims
 * compared each row with its own longest wait, they would read the whole index in every pass.
 */
export function jobsAhead({ table, key, claimable, dueAt, longestWaitMs }: JobTable): TimesAhead {
  const ahead = `${claimable} and ${isAhead(dueAt, longestWaitMs)}`
  return { table, key: ['tenant_id', ...key], isAhead: ahead, repair: `${dueAt} = now()` }
}

/** Runs one job and never rejects: a failure is logged, so that one bad row does not block later ones. */
export async function runJob<Result>(
  log: Pick<Log, 'error'>,
  name: string,
  identity: object,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    log.error({ err: error, job: name, ...identity }, 'a job failed and will be tried again; other jobs continue')
    return undefined
  }
}
