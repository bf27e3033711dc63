import { setTimeout as delay } from 'node:timers/promises'
import type { ActionStatus, OrderStatus } from '@dealer-esim/contract'
import { plainArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'

/** An order or an action that a caller waits for. */
export interface Awaited {
  kind: 'ORDER' | 'ACTION'
  tenantId: string
  /** orderId or actionId. */
  id: string
}

type Status = OrderStatus | ActionStatus

export interface EndWatch {
  /**
   * Waits until the order or action has ended, or until the time limit.
   * @returns its status at that time; undefined if the caller has gone, the gateway stops, or too many callers are already
   * waiting
   */
  wait(awaited: Awaited, timeoutMs: number, signal: AbortSignal): Promise<Status | null | undefined>
  /** Releases all callers. */
  stop(): void
}

/** A waiting caller costs a connection and a few hundred bytes; each query costs one index look-up per waiting caller. */
const WAITING_MAX = 1_000
/** Keeps the callers of one dealer from using up WAITING_MAX. */
const WAITING_OF_TENANT_MAX = 100
/** Orders and actions that end within this time are found with one query. */
const GATHER_MS = 20

interface Waiting extends Awaited {
  settle(status: Status | null | undefined): void
}

interface WatchDeps {
  db: Pick<Db, 'query'>
  wake: Pick<Wakeups<'webhooks'>, 'on'>
  log: Pick<Log, 'warn'>
}

/** One watch of the live dealers' orders, and one of the test twins', created when the first of their requests waits. */
export function createEndWatches() {
  const watches = new Map<WatchDeps, EndWatch>()
  return {
    of(deps: WatchDeps): EndWatch {
      const watch = watches.get(deps) ?? createEndWatch(deps)
      watches.set(deps, watch)
      return watch
    },
    stop(): void {
      for (const watch of watches.values()) watch.stop()
    },
  }
}

/**
 * Waits for orders and actions to end. Every end records an event, and its commit wakes the sender of events on all nodes.
 * The same wakeup makes this watch read all awaited rows in one statement. It never polls: if a wakeup is lost, the status
 * is read at the time limit.
 */
export function createEndWatch(deps: WatchDeps): EndWatch {
  const waiting = new Set<Waiting>()
  let isStopped = false
  let isDue = false
  let isReading = false

  async function readWhileDue(): Promise<void> {
    isReading = true
    try {
      while (isDue && waiting.size > 0) {
        isDue = false
        await delay(GATHER_MS)
        const asked = [...waiting]
        const statuses = await readStatuses(deps.db, asked)
        for (const [index, each] of asked.entries()) if (isFinal(statuses[index]!)) each.settle(statuses[index]!)
      }
    } catch (err) {
      deps.log.warn({ err }, 'awaited orders and actions could not be read')
    } finally {
      isReading = false
    }
  }

  function readSoon(): void {
    isDue = true
    if (!isReading) void readWhileDue()
  }

  function isFull(tenantId: string): boolean {
    if (waiting.size >= WAITING_MAX) return true
    let ofTenant = 0
    for (const each of waiting) if (each.tenantId === tenantId) ofTenant++
    return ofTenant >= WAITING_OF_TENANT_MAX
  }

  const unsubscribe = deps.wake.on('webhooks', readSoon)
  return {
    async wait(awaited, timeoutMs, signal) {
      if (isStopped || signal.aborted || isFull(awaited.tenantId)) return undefined
      return new Promise((resolve, reject) => {
        const release = () => entry.settle(undefined)
        const timer = setTimeout(() => {
          waiting.delete(entry)
          readStatuses(deps.db, [awaited]).then(([status]) => entry.settle(status), reject)
        }, timeoutMs)
        const entry: Waiting = {
          ...awaited,
          settle(status) {
            clearTimeout(timer)
            signal.removeEventListener('abort', release)
            waiting.delete(entry)
            resolve(status)
          },
        }
        signal.addEventListener('abort', release)
        waiting.add(entry)
        readSoon() // it may already have ended
      })
    },
    stop() {
      isStopped = true
      unsubscribe()
      for (const each of waiting) each.settle(undefined)
    },
  }
}

function isFinal(status: Status | null): boolean {
  return status !== null && !OPEN.has(status)
}

const OPEN: ReadonlySet<Status> = new Set(['PAID', 'ALLOCATING', 'PENDING', 'UNDER_REVIEW'])

/** @returns the statuses in the order of `asked`; null if there is no such row */
async function readStatuses(db: Pick<Db, 'query'>, asked: readonly Awaited[]): Promise<(Status | null)[]> {
  const rows = await db.query<{ status: Status | null }>({
    name: 'orders-awaited',
    text: READ,
    values: [
      uuidArray(asked.map(({ tenantId }) => tenantId)),
      uuidArray(asked.map(({ id }) => id)),
      plainArray(asked.map(({ kind }) => kind)),
    ],
  })
  return rows.map(({ status }) => status)
}

// The limits make the planner use an index look-up for each id, whatever the statistics say.
const READ = `
select case kind when 'ORDER' then (
         select order_status from orders o where o.tenant_id = awaited.tenant_id and o.order_id = awaited.id limit 1
       ) else (
         select action_status from esim_actions a where a.tenant_id = awaited.tenant_id and a.action_id = awaited.id limit 1
       ) end as status
from unnest($1::uuid[], $2::uuid[], $3::text[]) with ordinality as awaited(tenant_id, id, kind, place)
order by place`
