import { API_PATH } from '@dealer-esim/contract'
import { type WatchedCertificate, watchCertificate } from '@dealer-esim/lib/process/certificate.ts'
import { closeWithin, listen } from '@dealer-esim/lib/process/listener.ts'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { Gauge } from '@platformatic/prom-client'
import type { FastifyInstance } from 'fastify'
import type { Deps } from './deps.ts'
import { addressOf, callerReader } from './http/caller.ts'
import { createShownBrand } from './http/console/brands/shown-brand.ts'
import { addConsole } from './http/console/console.ts'
import { type DealerApiParts, dealerApi } from './http/dealer/dealer-api.ts'
import { operations } from './http/dealer/dealer-operations.ts'
import { unknownPathRefusal } from './http/dealer/respond.ts'
import { createForward } from './http/forward.ts'
import { callerOfAddress } from './http/load-shedding/caller-limits.ts'
import { createLoadShedder } from './http/load-shedding/load-shedder.ts'
import { addBrandPictures } from './http/public/brand-pictures.ts'
import { addDocsRoutes } from './http/public/docs/docs-routes.ts'
import { addLedgerKeyRoutes } from './http/public/ledger-key-routes.ts'
import { addTravellerRoutes, unavailableFor } from './http/public/traveller/traveller-routes.ts'
import { httpsOnly, plainFailures, queuePages } from './http/public-pages.ts'
import { rtApi } from './http/rt/rt-api.ts'
import { createServer, type ServerParts } from './http/server.ts'
import { supplierApi } from './http/supplier-api.ts'
import { isSignedInOperator } from './people/signed-in-operator.ts'
import { localUrl } from './platform/config/config.ts'

/** Starts the HTTP server of this process, with every API that dealers, suppliers and browsers call. */
export async function startApi(deps: Deps): Promise<Running & { port: number }> {
  const { config } = deps
  const certificate = createCertificateWatch(deps)
  const shedder = createLoadShedder(deps)
  const parts: ServerParts = {
    certificate,
    refuseUnknownPath(request, reply) {
      const refuse = unknownPathRefusal({ deps, refusals: shedder.refusals }, request, reply)
      if (!shedder.pages.enter(request.raw.socket, refuse)) refuse()
    },
  }
  const server = createServer(deps, parts)
  const dealerParts: DealerApiParts = { operations, shedder, forward: createForward(deps) }
  await server.register(async (app) => dealerApi(app, deps, dealerParts), { prefix: API_PATH.slice(0, -1) })
  await server.register(async (app) => rtApi(app, deps, shedder))
  const registerQueued = (to: FastifyInstance, add: (app: FastifyInstance) => unknown) =>
    to.register(async (app) => {
      queuePages(app, shedder)
      await add(app)
    })
  const callerOf = callerReader(config.trustedProxies)
  await registerQueued(server, (app) => {
    plainFailures(app, deps, unavailableFor)
    httpsOnly(app, deps)
    addTravellerRoutes(app, deps)
    addBrandPictures(app, deps)
    addDocsRoutes(app, {
      links: deps.links,
      audience: config.docs,
      brand: createShownBrand(deps.db),
      isOperators: ({ headers }) => isSignedInOperator(deps, headers.cookie),
      clock: deps.clock,
      callerOf: ({ raw }) => callerOfAddress(addressOf(callerOf(raw))),
    })
    addLedgerKeyRoutes(app, deps)
  })
  await registerQueued(server, (app) => supplierApi(app, deps))
  const hasOwnConsole = config.console === 'on' && config.consolePort !== undefined
  const ownConsole = hasOwnConsole ? createServer(deps, parts) : undefined
  if (config.console === 'on') await registerQueued(ownConsole ?? server, (app) => addConsole(app, deps, shedder))
  const port = await listen(server, { host: config.host, port: config.port, variable: 'PORT' })
  if (config.publicUrl === undefined) deps.links.publicUrl = localUrl(config, port)
  if (ownConsole) await listenForConsole(ownConsole, deps, dealerParts)
  return {
    port,
    async stop(deadlineMs) {
      certificate?.stop()
      await Promise.all([server, ownConsole].map((each) => each && closeWithin(each, deadlineMs)))
    },
  }
}

/**
 * The console's own listener. It also serves the dealer API for the explorer, because pages may call only their own origin.
 */
async function listenForConsole(server: FastifyInstance, deps: Deps, dealerParts: DealerApiParts): Promise<void> {
  await server.register(async (app) => dealerApi(app, deps, dealerParts), { prefix: API_PATH.slice(0, -1) })
  const { consoleHost, consolePort, host, consoleUrl } = deps.config
  const at = { host: consoleHost ?? host, port: consolePort! }
  const port = await listen(server, { ...at, variable: 'CONSOLE_PORT' })
  if (consoleUrl === undefined && deps.config.deployment === 'local')
    deps.links.consoleUrl = localUrl({ ...deps.config, host: at.host }, port)
}

/** Reads the certificate if this process terminates TLS itself, and reads it again when it is renewed. */
function createCertificateWatch(deps: Deps): WatchedCertificate | undefined {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = deps.config
  if (!certFile || !keyFile) return undefined
  const certificate = watchCertificate({ certFile, keyFile }, deps.log)
  new Gauge({
    name: 'dealer_esim_certificate_expiry_timestamp_seconds',
    help: 'When the TLS certificate that this process serves expires, in seconds since 1970',
    registers: [deps.metrics],
    collect() {
      this.set(certificate.current.expiresAt.getTime() / 1000)
    },
  })
  return certificate
}
