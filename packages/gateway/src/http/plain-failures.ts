import type { FastifyInstance } from 'fastify'
import type { Log } from '../lib/telemetry/log.ts'
import { asApiError, isTurnedAway } from './as-api-error.ts'

const RETRY_AFTER_S = 5

/**
 * What failed is told to the log, and to whoever asked only that it did: travellers come here. The log names the route
 * and not the address, which holds a QR link's token however it is encoded.
 */
export function plainFailures(app: FastifyInstance, { log }: { log: Log }): void {
  app.setErrorHandler((error, request, reply) => {
    if (!isTurnedAway(error)) log.error({ err: error, path: request.routeOptions.url }, 'a page failed')
    reply.header('cache-control', 'no-store').type('text/plain; charset=utf-8')
    if (asApiError(error).code !== '000002')
      return reply.code(500).send('Something went wrong here. Try again later.\n')
    return reply
      .code(503)
      .header('retry-after', RETRY_AFTER_S)
      .send('This cannot be shown just now. Try again in a moment.\n')
  })
}
