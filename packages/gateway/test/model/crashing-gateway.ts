import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type Answer, call, type Dealer, NODE_ENV } from '../harness/api-node.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'

/** A gateway that is killed and restarted, always on the same database. */
export interface CrashingGateway {
  /** Repeats the request until it is answered. `wasLost`: an answer did not arrive, or reported an unknown outcome. */
  request(dealer: Dealer, operation: string, body: string): Promise<{ answer: Answer; wasLost: boolean }>
  /** Sends SIGKILL after `afterMs`; the next gateway kills itself at the failpoint `next`. */
  kill(afterMs: number, next: string | null): Promise<void>
  /** Closes all its database sessions together. */
  closeSessions(afterMs: number): Promise<void>
  /** Resolves when every order and action of the tenant is final. */
  waitUntilFinal(tenantId: string): Promise<void>
  lastOutput(): string
  stop(): Promise<void>
}

const SETTLED_MS = 50_000

export async function startCrashingGateway(databaseUrl: string, db: Db): Promise<CrashingGateway> {
  let current = await start()
  let restarting: Promise<void> | undefined

  function start(pauseAt?: string | null): Promise<GatewayProcess> {
    const env = { ...NODE_ENV, DEFAULT_QPS_LIMIT: '100000', ...(pauseAt ? { PAUSE_AT: pauseAt } : {}) }
    return startGateway({ databaseUrl, env })
  }

  /** Waits for this gateway to end and for its successor. All callers that saw it end wait for the same one. */
  function restart(dead: GatewayProcess, pauseAt?: string | null): Promise<void> {
    if (dead !== current) return restarting ?? Promise.resolve()
    restarting ??= (async () => {
      const { signal, code } = await dead.exited
      if (signal !== 'SIGKILL') throw new Error(`the gateway exited without a kill: ${signal ?? code} ${dead.stderr}`)
      // It starts due work immediately, and may reach its failpoint before it is ready.
      current = await start(pauseAt).catch((failure: Error) => {
        if (!failure.message.includes(`paused at ${pauseAt?.split(':')[0]}`)) throw failure
        return start()
      })
      await passOneMinute(db)
    })().finally(() => {
      restarting = undefined
    })
    return restarting
  }

  return {
    async request(dealer, operation, body) {
      for (let wasLost = false; ; wasLost = true) {
        await restarting
        const gateway = current
        try {
          const answer = await call(gateway, dealer, operation, { body })
          // It lost its database and said so, so the request is repeated.
          if (answer.code !== '000001' && answer.code !== '000002') return { answer, wasLost }
        } catch {
          await restart(gateway)
        }
      }
    },
    async kill(afterMs, next) {
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      const victim = current
      void victim.kill('SIGKILL')
      await restart(victim, next)
    },
    async closeSessions(afterMs) {
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      await db.query({
        text: `select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and application_name like 'dealer-esim%' and pid <> pg_backend_pid()`,
      })
    },
    async waitUntilFinal(tenantId) {
      await waitUntil(async () => {
        if (hasEnded(current)) await restart(current)
        const [row] = await db.query<{ open: number }>({
          text: `select (select count(*)::int from orders where tenant_id = $1 and due_at is not null)
                   + (select count(*)::int from esim_actions where tenant_id = $1 and due_at is not null) as open`,
          values: [tenantId],
        })
        return row!.open === 0
      }, SETTLED_MS)
    },
    lastOutput: () =>
      current.logs
        .slice(-10)
        .map((line) => JSON.stringify(line))
        .join('\n'),
    stop: stopGateways,
  }
}

function hasEnded({ pid }: GatewayProcess): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

/** Simulates the passing of a minute: dead gateways' leases have expired, and their calls have ended. */
async function passOneMinute(db: Db): Promise<void> {
  await db.tx(async (tx) => {
    tx.send({ text: `update orders set due_at = now(), lease_until = null where due_at is not null` })
    tx.send({ text: `update esim_actions set due_at = now(), lease_until = null where due_at is not null` })
    tx.send({
      text: `update order_items set in_doubt_at = in_doubt_at - interval '1 minute', retry_at = null,
               updated_at = updated_at - interval '1 minute'
             where item_status in ('ASKED', 'UNKNOWN')`,
    })
  })
}
