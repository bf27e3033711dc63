import { readFileSync } from 'node:fs'
import { API_PATH } from '@dealer-esim/contract'
import fastify, { type FastifyInstance } from 'fastify'
import { localUrl } from './config.ts'
import { addConsole } from './console-api/open.ts'
import { answerBrokenHttp, answerOddRequests } from './dealer-api/broken-http.ts'
import { dealerApi, refuseUnknownPath } from './dealer-api/door.ts'
import type { Deps } from './deps.ts'
import { closeWithin, drainsGently } from './lib/drain.ts'
import type { Running } from './lib/lifecycle.ts'
import { listen } from './lib/listen.ts'
import { docsPages } from './public/docs.ts'
import { qrRoutes } from './public/qr.ts'
import { supplierApi } from './supplier-api/door.ts'

/** A request that has not arrived whole by then is given up: slow senders must not hold connections. */
const REQUEST_TIMEOUT_MS = 30_000
const TIMEOUT_CHECK_MS = 5_000
/** Longer than the idle times of usual proxies, so that it is they who close. */
const KEEP_ALIVE_MS = 75_000

/** The HTTP server of this process: every door that a browser or a dealer can knock at. */
export async function startApi(deps: Deps): Promise<Running & { port: number }> {
  const server = createServer(deps)
  await server.register(async (app) => dealerApi(app, deps), { prefix: API_PATH.slice(0, -1) })
  qrRoutes(server, deps)
  docsPages(server, deps)
  await server.register(async (app) => supplierApi(app, deps))
  const { config } = deps
  const ownConsole = config.console === 'on' && config.consolePort !== undefined ? createServer(deps) : undefined
  if (config.console === 'on') addConsole(ownConsole ?? server, deps)
  const port = await listen(server, { host: config.host, port: config.port, variable: 'PORT' })
  if (config.publicUrl === undefined) deps.links.publicUrl = localUrl(config, port)
  if (ownConsole) await listenForConsole(ownConsole, deps)
  return {
    port,
    async stop(deadline_ms) {
      await Promise.all([server, ownConsole].map((each) => each && closeWithin(each, deadline_ms)))
    },
  }
}

/** The console's own listener. The dealers' interface is on it too, for the explorer: pages may call their own origin only. */
async function listenForConsole(server: FastifyInstance, deps: Deps): Promise<void> {
  await server.register(async (app) => dealerApi(app, deps), { prefix: API_PATH.slice(0, -1) })
  const { consoleHost, consolePort, host, consoleUrl } = deps.config
  const at = { host: consoleHost ?? host, port: consolePort! }
  const port = await listen(server, { ...at, variable: 'CONSOLE_PORT' })
  if (consoleUrl === undefined && deps.config.deployment === 'local')
    deps.links.consoleUrl = localUrl({ ...deps.config, host: at.host }, port)
}

function createServer(deps: Deps): FastifyInstance {
  const { tlsCertFile, tlsKeyFile } = deps.config
  const tls = tlsCertFile && tlsKeyFile ? { cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) } : null
  // A missing Host is ours to answer: Node would do it without an envelope.
  const http = { requireHostHeader: false, connectionsCheckingInterval: TIMEOUT_CHECK_MS }
  const server = fastify({
    ...(tls ? { https: { ...http, ...tls } } : { http }),
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    return503OnClosing: false, // what arrives while draining is still answered properly
    frameworkErrors: (_, request, reply) => refuseUnknownPath(deps, request, reply),
    clientErrorHandler: answerBrokenHttp,
  }) as unknown as FastifyInstance
  answerOddRequests(server.server)
  drainsGently(server)
  server.setNotFoundHandler((request, reply) => refuseUnknownPath(deps, request, reply))
  return server
}
