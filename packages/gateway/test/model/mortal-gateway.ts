import type { Db } from '../../src/lib/postgres/db.ts'
import { type Answer, call, type Dealer, NODE_ENV } from '../door/node.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/gateway-process.ts'
import { until } from '../harness/shop.ts'

/** A gateway that dies and is started again, always with the same database. */
export interface MortalGateway {
  /** Asks until it is answered; `wasLost`: not every answer arrived, or the outcome was said to be unknown. */
  ask(dealer: Dealer, operation: string, body: string): Promise<{ answer: Answer; wasLost: boolean }>
  /** SIGKILL so many milliseconds from now; the gateway after it dies by itself at `next`. */
  kill(afterMs: number, next: string | null): Promise<void>
  /** Ends all its database sessions at once. */
  cut(afterMs: number): Promise<void>
  /** Every order of the tenant has ended, however often the gateway died over it. */
  settled(tenantId: string): Promise<void>
  lastWords(): string
  stop(): Promise<void>
}

const SETTLED_MS = 50_000

export async function mortalGateway(databaseUrl: string, db: Db): Promise<MortalGateway> {
  let current = await start()
  let raising: Promise<void> | undefined

  function start(pauseAt?: string | null): Promise<GatewayProcess> {
    const env = { ...NODE_ENV, DEFAULT_QPS_LIMIT: '100000', ...(pauseAt ? { PAUSE_AT: pauseAt } : {}) }
    return startGateway({ databaseUrl, env })
  }

  /** Waits for the death of this one, and for its successor. Whoever else saw it die waits for the same. */
  function raise(dead: GatewayProcess, pauseAt?: string | null): Promise<void> {
    if (dead !== current) return raising ?? Promise.resolve()
    raising ??= (async () => {
      const { signal, code } = await dead.exited
      if (signal !== 'SIGKILL') throw new Error(`the gateway ended by itself: ${signal ?? code} ${dead.stderr}`)
      // It takes up what is due at once, and may come by the point where it dies before it is ready.
      current = await start(pauseAt).catch((failure: Error) => {
        if (!failure.message.includes(`paused at ${pauseAt?.split(':')[0]}`)) throw failure
        return start()
      })
      await aMinutePasses(db)
    })().finally(() => {
      raising = undefined
    })
    return raising
  }

  return {
    async ask(dealer, operation, body) {
      for (let wasLost = false; ; wasLost = true) {
        await raising
        const asked = current
        try {
          const answer = await call(asked, dealer, operation, { body })
          // Its database went away under it: said, and to be asked again.
          if (answer.code !== '000001' && answer.code !== '000002') return { answer, wasLost }
        } catch {
          await raise(asked)
        }
      }
    },
    async kill(afterMs, next) {
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      const victim = current
      void victim.kill('SIGKILL')
      await raise(victim, next)
    },
    async cut(afterMs) {
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      await db.query({
        text: `select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and application_name like 'dealer-esim%' and pid <> pg_backend_pid()`,
      })
    },
    async settled(tenantId) {
      await until(async () => {
        if (hasEnded(current)) await raise(current)
        const [row] = await db.query<{ open: number }>({
          text: `select count(*)::int as open from orders where tenant_id = $1 and due_at is not null`,
          values: [tenantId],
        })
        return row!.open === 0
      }, SETTLED_MS)
    },
    lastWords: () =>
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

/** As if a minute had passed: leases of the dead have run out, and nothing of theirs can still be at work. */
async function aMinutePasses(db: Db): Promise<void> {
  await db.tx(async (tx) => {
    tx.send({ text: `update orders set due_at = now(), lease_until = null where due_at is not null` })
    tx.send({
      text: `update order_items set in_doubt_at = in_doubt_at - interval '1 minute', retry_at = null,
               updated_at = updated_at - interval '1 minute'
             where item_status in ('ASKED', 'UNKNOWN')`,
    })
  })
}
