import { notFound } from '@dealer-esim/lib/refusal.ts'
import cookie from '@fastify/cookie'
import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isOperator } from '#people/person.ts'
import { byPerson } from '#platform/audit/audit.ts'
import { unavailableLog } from '../answer.ts'
import { routes } from './console-routes.ts'
import { type AllowedOrigins, authorize, checkOrigin, identify } from './kernel/access.ts'
import { sendFailure } from './kernel/console-failures.ts'
import { openApiOptions, routeSchema } from './kernel/console-openapi.ts'
import { createRateLimiter } from './kernel/rate-limit.ts'
import { CONSOLE_API, type ConsoleDeps, type Context, type PublicContext, type Route } from './kernel/route.ts'
import { validatorCompiler } from './kernel/validate.ts'

export interface ConsoleOptions extends AllowedOrigins {
  /** The caller's address, behind trusted proxies. @throws Refusal if the request should have used HTTPS */
  addressOf(request: FastifyRequest): string
  /** Differs between gateways on one host name, because they share its cookies. */
  cookieName: string
}

const BODY_SIZE_MAX_BYTES = 256 * 1024
/** For callers who are not signed in yet. An address, a password and a code need far less. */
const PUBLIC_BODY_SIZE_MAX_BYTES = 8 * 1024
/** Answers are data: browsers must neither store them nor render them as a page. */
const ANSWER_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Registers the console API under /console/api: every route, and the OpenAPI document. */
export function addConsoleApi(app: FastifyInstance, deps: ConsoleDeps, options: ConsoleOptions): void {
  app.register(
    async (api) => {
      await api.register(cookie)
      await api.register(swagger, openApiOptions(options.cookieName, routes))
      api.setValidatorCompiler(validatorCompiler)
      api.setSerializerCompiler(() => (body) => JSON.stringify(body, toNumber))
      // Files stay bytes: their encoding is the importer's to find. Each route with a file declares its own size limit.
      api.addContentTypeParser('text/csv', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
      const logs = { log: deps.log, logUnavailable: unavailableLog(deps.log) }
      api.setErrorHandler((error, request, reply) => sendFailure(logs, error, request, reply))
      api.setNotFoundHandler(() => {}) // makes the hook below run for unknown paths
      api.addHook('onRequest', async (request, reply) => {
        reply.headers(ANSWER_HEADERS)
        options.addressOf(request)
        checkOrigin(options, request)
        if (request.is404) throw notFound('address') // before the body is read
      })
      const limit = createRateLimiter(deps.clock)
      for (const route of routes) addRoute(api, deps, options, limit, route)
      api.get('/openapi.json', { schema: { hide: true } }, async () => ({
        ...api.swagger(),
        servers: [{ url: deps.consoleUrl().replace(/\/console$/, '') }],
      }))
    },
    { prefix: CONSOLE_API },
  )
}

/** Amounts are written as JSON integers: every one is within ±(2^53−1). */
function toNumber(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function addRoute(
  api: FastifyInstance,
  deps: ConsoleDeps,
  options: ConsoleOptions,
  limit: ReturnType<typeof createRateLimiter>,
  route: Route,
): void {
  api.route({
    method: route.method,
    url: route.path,
    bodyLimit: route.bodyLimit ?? (route.access === 'anyone' ? PUBLIC_BODY_SIZE_MAX_BYTES : BODY_SIZE_MAX_BYTES),
    schema: routeSchema(route),
    // Access is checked before the body is read, so a refused caller learns nothing about valid input.
    async onRequest(request) {
      if (route.ratePerMinute) limit(route.path, route.ratePerMinute, options.addressOf(request))
      if (route.access === 'anyone') return
      request.signedIn = authorize(route, await identify(deps, request, options.cookieName), request.params)
    },
    async handler(request, reply) {
      const { params, query, body } = request
      return route.handle(contextOf(deps, options, request, reply), { params, query, body })
    },
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    signedIn?: import('./kernel/route.ts').SignedIn
  }
}

function contextOf(
  deps: ConsoleDeps,
  options: ConsoleOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Context | PublicContext {
  const address = options.addressOf(request)
  const context = { deps, request, reply, address, cookieName: options.cookieName }
  const { signedIn } = request
  if (!signedIn) return context
  const { person } = signedIn
  const by = byPerson(person, address)
  return { ...context, person, signedIn, by, onlyTenant: isOperator(person.role) ? null : person.tenantId }
}
