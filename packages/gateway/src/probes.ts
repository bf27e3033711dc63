import { Gauge } from '@platformatic/prom-client'
import fastify from 'fastify'
import type { Deps } from './deps.ts'
import type { Db } from './lib/db.ts'
import { type Running, within } from './lib/lifecycle.ts'
import { listen } from './lib/listen.ts'

/** Longer, and a node that cannot reach its database would still be sent requests. */
const READY_WITHIN_MS = 2_000

/**
 * For whoever watches the process, on a port of its own: `/livez` (the event loop turns), `/readyz` (the database
 * answers; 503 otherwise) and `/metrics` in Prometheus' text format.
 */
export async function startProbes(deps: Deps): Promise<Running & { port: number }> {
  declareGauges(deps)
  const server = fastify({ forceCloseConnections: true })
  server.get('/livez', async () => 'live\n')
  server.get('/readyz', async (_, reply) => {
    if (await answers(deps.db)) return 'ready\n'
    return reply.code(503).send('the database does not answer\n')
  })
  server.get('/metrics', async (_, reply) => {
    return reply.type(deps.metrics.contentType).send(await deps.metrics.metrics())
  })
  const { metricsHost, metricsPort } = deps.config
  const port = await listen(server, { host: metricsHost, port: metricsPort, variable: 'METRICS_PORT' })
  return { port, stop: () => server.close() }
}

async function answers(db: Db): Promise<boolean> {
  const asked = db.query({ text: 'select 1' }).then(
    () => true,
    () => false,
  )
  return (await within(asked, READY_WITHIN_MS)) && asked
}

/** What nobody counts as it happens, read when it is asked for. */
function declareGauges({ db, metrics }: Deps): void {
  new Gauge({
    name: 'dealer_esim_database_connections',
    help: 'Connections of the general pool: open, idle, and callers that wait for one',
    labelNames: ['state'],
    registers: [metrics],
    collect() {
      this.set({ state: 'open' }, db.pool.totalCount)
      this.set({ state: 'idle' }, db.pool.idleCount)
      this.set({ state: 'waited_for' }, db.pool.waitingCount)
    },
  })
  new Gauge({
    name: 'dealer_esim_oldest_unfinished_order_seconds',
    help: 'Age of the oldest order that fulfilment has not finished; 0: none',
    registers: [metrics],
    async collect() {
      // The partial index of due orders holds exactly the unfinished ones.
      const text = `select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as age_s
                    from orders where due_at is not null`
      const [row] = await db.query<{ age_s: number }>({ text })
      this.set(row!.age_s)
    },
  })
}
