import fastify from 'fastify'
import type { Deps } from '../deps.ts'
import type { Db } from '../lib/postgres/db.ts'
import { type Running, settlesWithin } from '../lib/process/lifecycle.ts'
import { listen } from '../lib/process/listener.ts'
import { figuresLoop } from './figures.ts'
import { processGauges } from './process-gauges.ts'

/** Longer, and a node that cannot reach its database would still be sent requests. */
const READY_WITHIN_MS = 2_000

/**
 * For whoever watches the process, on a port of its own: `/livez` (the event loop turns), `/readyz` (the database
 * answers; 503 otherwise) and `/metrics` in Prometheus' text format. A scrape reads memory only: what lies in the
 * database is read by a loop beside it.
 */
export async function startProbes(deps: Deps): Promise<Running & { port: number }> {
  processGauges(deps)
  const figures = figuresLoop(deps)
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
  try {
    const port = await listen(server, { host: metricsHost, port: metricsPort, variable: 'METRICS_PORT' })
    return { port, stop: (deadlineMs) => Promise.all([server.close(), figures.stop(deadlineMs)]).then(() => {}) }
  } catch (error) {
    await figures.stop(READY_WITHIN_MS)
    throw error
  }
}

async function answers(db: Db): Promise<boolean> {
  const asked = db.query({ text: 'select 1' }).then(
    () => true,
    () => false,
  )
  return (await settlesWithin(asked, READY_WITHIN_MS)) && asked
}
