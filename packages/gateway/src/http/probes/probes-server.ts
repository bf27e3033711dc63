import { isUuid } from '@dealer-esim/lib/ids.ts'
import { listen } from '@dealer-esim/lib/process/listener.ts'
import { type Running, settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { findLeaving } from '#cells/move/move-state.ts'
import type { Deps } from '#deps.ts'
import { isLoopback } from '#platform/config/rules.ts'
import { databaseGaugesLoop } from './database-gauges.ts'
import { addProcessGauges } from './process-gauges.ts'

/** If this were longer, a node that cannot reach its database would go on receiving requests. */
const READY_TIMEOUT_MS = 2_000

/** The state of the whole process. */
export interface Readiness {
  state: 'starting' | 'serving' | 'stopping'
}

/**
 * Serves health probes and metrics on a separate port: `/livez` (the event loop runs), `/readyz` (this process serves and
 * the database answers; else 503) and `/metrics` in Prometheus' text format. A scrape reads only memory: a background loop
 * reads the database. `/moves/…` returns the state of a dealer's move out of this cell, for the cell that takes over the
 * dealer (cells/move/arrival.ts).
 */
export async function startProbes(deps: Deps, readiness: Readiness): Promise<Running & { port: number }> {
  addProcessGauges(deps)
  const gauges = databaseGaugesLoop(deps)
  const server = fastify({ forceCloseConnections: true })
  addProbes(server, deps, readiness)
  const { metricsHost, metricsPort } = deps.config
  try {
    const port = await listen(server, { host: metricsHost, port: metricsPort, variable: 'METRICS_PORT' })
    return { port, stop: (deadlineMs) => Promise.all([server.close(), gauges.stop(deadlineMs)]).then(() => {}) }
  } catch (error) {
    await gauges.stop(READY_TIMEOUT_MS)
    throw error
  }
}

export function addProbes(server: FastifyInstance, deps: Deps, readiness: Readiness): void {
  server.get('/livez', { config: REACHABLE }, async () => 'live\n')
  server.get('/readyz', { config: REACHABLE }, async (_, reply) => {
    if (readiness.state !== 'serving') return reply.code(503).send(`${readiness.state}\n`)
    if (await isDatabaseResponding(deps)) return 'ready\n'
    return reply.code(503).send('the database does not answer\n')
  })
  server.get('/metrics', { config: REACHABLE }, async (request, reply) => {
    if (!isMetricsHost(deps.config, request)) return reply.code(403).send(OTHER_HOST)
    return reply.type(deps.metrics.contentType).send(await deps.metrics.metrics())
  })
  server.get<{ Params: { moveId: string } }>('/moves/:moveId', { config: REACHABLE }, async ({ params }, reply) => {
    const state = isUuid(params.moveId) ? await stateOfMove(deps, params.moveId) : undefined
    return state === undefined ? reply.code(404).send('this cell has no outgoing move with this id\n') : { state }
  })
}

/** A test twin moves with its dealer, in a move of its own. */
async function stateOfMove({ db, twins }: Pick<Deps, 'db' | 'twins'>, moveId: string) {
  const state = await findLeaving(db, moveId)
  if (state !== undefined) return state
  const ofTwins = await twins.open()
  return ofTwins && findLeaving(ofTwins.db, moveId)
}

const OTHER_HOST =
  'these metrics are not served under this host name: ask by the address, or add the name to METRICS_HOSTS\n'

/**
 * True if the request is addressed to this listener. A browser inside the network sends requests to private addresses under
 * names that somebody else controls, and then lets that page read the answers (DNS rebinding). An address cannot be
 * rebound.
 */
export function isMetricsHost(
  { metricsHost, metricsHosts }: Pick<Deps['config'], 'metricsHost' | 'metricsHosts'>,
  { headers, socket }: Pick<FastifyRequest, 'headers' | 'socket'>,
): boolean {
  const host = (headers.host ?? '').toLowerCase().replace(/:\d{1,5}$/, '')
  const name = host.replace(/^\[|\]$/g, '')
  const local = socket.localAddress?.replace(/^::ffff:/, '')
  return isLoopback(name) || name === metricsHost.toLowerCase() || name === local || metricsHosts.includes(name)
}

const REACHABLE = { access: 'anybody who reaches METRICS_PORT' }

async function isDatabaseResponding(deps: Deps): Promise<boolean> {
  const response = deps.isDatabaseResponding()
  return (await settlesWithin(response, READY_TIMEOUT_MS)) && response
}
