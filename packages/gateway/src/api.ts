import { API_PATH } from '@dealer-esim/contract'
import type { FastifyInstance } from 'fastify'
import { localUrl } from './config/config.ts'
import { addConsole } from './console-api/open.ts'
import { dealerApi, unknownPathRefusal } from './dealer-api/door.ts'
import type { Deps } from './deps.ts'
import { httpsOnly } from './http/https-only.ts'
import { plainFailures } from './http/plain-failures.ts'
import { createServer, openCertificate, type ServerParts } from './http/server.ts'
import { openTurns, takesTurns } from './http/turns.ts'
import type { Running } from './lib/process/lifecycle.ts'
import { closeWithin, listen } from './lib/process/listener.ts'
import { addDocsRoutes } from './public/docs.ts'
import { addQrRoutes } from './public/qr.ts'
import { supplierApi } from './supplier-api/door.ts'

/** Starts the HTTP server of this process: the dealer API, supplier API, documentation, QR links and console. */
export async function startApi(deps: Deps): Promise<Running & { port: number }> {
  const { config } = deps
  const certificate = openCertificate(deps)
  const turns = openTurns((refused) => deps.log.warn({ refused }, 'too many page requests; some were refused'))
  const parts: ServerParts = {
    certificate,
    refuseUnknownPath(request, reply) {
      const refuse = unknownPathRefusal(deps, request, reply)
      if (!turns.wait(request.raw.socket, refuse)) refuse()
    },
  }
  const server = createServer(deps, parts)
  await server.register(async (app) => dealerApi(app, deps), { prefix: API_PATH.slice(0, -1) })
  const addThrottled = (to: FastifyInstance, add: (app: FastifyInstance) => unknown) =>
    to.register(async (app) => {
      takesTurns(app, turns)
      await add(app)
    })
  await addThrottled(server, (app) => {
    plainFailures(app, deps)
    httpsOnly(app, deps)
    addQrRoutes(app, deps)
    addDocsRoutes(app, deps)
  })
  await addThrottled(server, (app) => supplierApi(app, deps))
  const hasOwnConsole = config.console === 'on' && config.consolePort !== undefined
  const ownConsole = hasOwnConsole ? createServer(deps, parts) : undefined
  if (config.console === 'on') await addThrottled(ownConsole ?? server, (app) => addConsole(app, deps))
  const port = await listen(server, { host: config.host, port: config.port, variable: 'PORT' })
  if (config.publicUrl === undefined) deps.links.publicUrl = localUrl(config, port)
  if (ownConsole) await listenForConsole(ownConsole, deps)
  return {
    port,
    async stop(deadlineMs) {
      certificate?.stop()
      await Promise.all([server, ownConsole].map((each) => each && closeWithin(each, deadlineMs)))
    },
  }
}

/** The console's separate listener. It also serves the dealer API for the API explorer, which may call only its own origin. */
async function listenForConsole(server: FastifyInstance, deps: Deps): Promise<void> {
  await server.register(async (app) => dealerApi(app, deps), { prefix: API_PATH.slice(0, -1) })
  const { consoleHost, consolePort, host, consoleUrl } = deps.config
  const address = { host: consoleHost ?? host, port: consolePort! }
  const port = await listen(server, { ...address, variable: 'CONSOLE_PORT' })
  if (consoleUrl === undefined && deps.config.deployment === 'local')
    deps.links.consoleUrl = localUrl({ ...deps.config, host: address.host }, port)
}
