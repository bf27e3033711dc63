import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#platform/config/config.ts'
import { toApiError, unavailableLog } from './answer.ts'
import { callerReader, isSecure } from './caller.ts'
import type { LoadShedder } from './load-shedding/load-shedder.ts'

/** Makes requests wait in the page queue, and paces refusals. Register it before other hooks, which cost time too. */
export function queuePages(app: FastifyInstance, { pages, refusals }: Pick<LoadShedder, 'pages' | 'refusals'>): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (!pages.enter(request.raw.socket, done)) done(new ApiError('000002'))
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (reply.statusCode < 400) done(null, payload)
    else refusals.pace(() => done(null, payload))
  })
}

/**
 * Refuses plain HTTP, except on a local deployment. It does not redirect: by then the link in a QR code has already been
 * readable on the network, and the person who wrote http:// should notice. Pages that take passwords are refused too,
 * because a password would be sent before it could be refused.
 * @param url the address at which the same page is available over HTTPS
 */
export function httpsOnly(app: FastifyInstance, { config }: { config: Config }, url = config.publicUrl): void {
  if (config.deployment === 'local') return // whatever proxies report
  const callerOf = callerReader(config.trustedProxies)
  app.addHook('onRequest', async (request, reply) => {
    if (isSecure(callerOf(request.raw), config)) return
    reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    return reply
      .code(403)
      .type('text/plain; charset=utf-8')
      .send(`HTTPS is required. Open the address that begins with ${url}.\n`)
  })
}

const RETRY_AFTER_S = 5

/** The page that is shown in the place of one that failed; undefined: a line of text is. */
type FailurePage = (request: FastifyRequest, reply: FastifyReply) => string | undefined

/**
 * Logs the cause of a failure, and shows the visitor only that something failed. The log contains the route but not the
 * address, which contains a QR link's token in some encoding.
 */
export function plainFailures(app: FastifyInstance, { log }: { log: Log }, pageFor?: FailurePage): void {
  const logUnavailable = unavailableLog(log)
  app.setErrorHandler((error, request, reply) => {
    const isUnavailable = toApiError(error).code === '000002'
    reply.header('cache-control', 'no-store').type('text/plain; charset=utf-8')
    if (error instanceof Refusal)
      return reply.code(error.status).header('retry-after', error.data?.retryAfterS).send(`${error.message}\n`)
    // The path of a file is malformed, for example /console/assets/..
    if (isClientError(error)) return reply.code(404).send('There is no such page.\n')
    if (isUnavailable) logUnavailable(error)
    else log.error({ err: error, path: request.routeOptions.url }, 'a page failed')
    reply.code(isUnavailable ? 503 : 500)
    if (isUnavailable) reply.header('retry-after', RETRY_AFTER_S)
    const page = pageFor?.(request, reply)
    if (page !== undefined) return reply.type('text/html; charset=utf-8').send(page)
    return reply.send(
      isUnavailable
        ? 'This page cannot be shown right now. Try again in a moment.\n'
        : 'Something went wrong here. Try again later.\n',
    )
  })
}

function isClientError(error: unknown): boolean {
  const { statusCode = 500 } = error as { statusCode?: number }
  return statusCode >= 400 && statusCode < 500
}
