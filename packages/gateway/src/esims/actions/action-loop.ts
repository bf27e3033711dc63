import { isFree } from '@dealer-esim/lib/leases.ts'
import { type Loop, runLoop, settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import { claimJobs, type JobTable, runJob } from '#platform/jobs.ts'
import type { ActionDeps } from './action-deps.ts'
import { type ActionJob, LEASE_MS } from './action-lease.ts'
import { runAction } from './run-action.ts'
import { postpone, REVIEW_WAIT_MAX_MS } from './save-action-outcome.ts'

/** The maximum delay of an action whose wakeup was lost. */
const POLL_MS = 1_000
/** The number of actions that this node runs simultaneously. */
const RUNNING_MAX = 200
const FAILED_MS = 60_000

export const ACTIONS: JobTable = {
  name: 'actions',
  table: 'esim_actions',
  key: ['action_id'],
  claimable: isFree('lease_until', LEASE_MS),
  dueAt: 'due_at',
  longestWaitMs: String(REVIEW_WAIT_MAX_MS),
  claim: `lease_token = gen_random_uuid(), lease_until = now() + interval '1 millisecond' * ${LEASE_MS}`,
  columns: 'job.tenant_id, job.action_id, job.order_id, job.supplier, job.lease_token',
}

/** Carries out actions on eSIMs. A supplier that hangs delays only its own actions. */
export function actionLoop(deps: ActionDeps): Loop {
  const running = new Set<Promise<void>>()
  const loop = runLoop(deps, 'actions', POLL_MS, async () => {
    while (running.size >= RUNNING_MAX) await Promise.race(running)
    const limit = RUNNING_MAX - running.size
    const jobs = await claimJobs<ActionJob>(deps.db, ACTIONS, limit)
    for (const job of jobs) {
      const run = runOne(deps, job).finally(() => running.delete(run))
      running.add(run)
    }
    return jobs.length === limit
  })
  const unsubscribe = deps.wake.on('actions', () => loop.wake())
  return {
    wake: () => loop.wake(),
    async stop(deadlineMs) {
      unsubscribe()
      const startedAt = deps.clock.monotonic()
      await loop.stop(deadlineMs)
      // Waits for calls that were sent. Calls still running at the deadline are left to other nodes, once their leases expire.
      await settlesWithin(Promise.all(running), Math.max(0, deadlineMs - (deps.clock.monotonic() - startedAt)))
    },
  }
}

/** Runs the actions that are due, and waits for them. @returns how many were due */
export async function runDueActions(deps: ActionDeps): Promise<number> {
  const jobs = await claimJobs<ActionJob>(deps.db, ACTIONS, RUNNING_MAX)
  await Promise.all(jobs.map((job) => runOne(deps, job)))
  return jobs.length
}

/** Runs one action. Never rejects. An action that fails here waits, and eventually goes to review. */
async function runOne(deps: ActionDeps, job: ActionJob): Promise<void> {
  const { tenantId, orderId, actionId } = job
  const identity = { tenantId, orderId, actionId }
  let isFailed = true
  await runJob(deps.log, 'action', identity, async () => {
    await runAction(deps, job)
    isFailed = false
  })
  if (!isFailed) return
  await postpone(deps, job, 'it could not be carried out: see the log', FAILED_MS).catch((error) =>
    deps.log.error({ err: error, ...identity }, 'an action could not be postponed: its lease ends by itself'),
  )
}
