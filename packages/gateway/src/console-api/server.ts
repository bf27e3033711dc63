import cookie from '@fastify/cookie'
import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { byPerson } from '../audit/audit.ts'
import { unavailableLog } from '../http/answer.ts'
import { notFound } from '../lib/refusal.ts'
import { isOperator } from '../people/person.ts'
import type { ConsoleDeps } from './kernel/deps.ts'
import { documentOf, schemaOf } from './kernel/document.ts'
import { answerFailure } from './kernel/failures.ts'
import { authorize, identify } from './kernel/identify.ts'
import { type AllowedOrigins, checkOrigin } from './kernel/origin.ts'
import { rateLimiter } from './kernel/rate.ts'
import type { Context, PublicContext, Route } from './kernel/route.ts'
import { validatorCompiler } from './kernel/validate.ts'
import { routes } from './routes.ts'

export interface ConsoleOptions extends AllowedOrigins {
  /** Whose request it is, seen past trusted proxies. @throws Refusal for one that should have come by HTTPS */
  addressOf(request: FastifyRequest): string
  /** Gateways that share a host name share its cookies, so each has a name of its own. */
  cookieName: string
}

export const CONSOLE_API = '/console/api'
const BODY_SIZE_MAX_BYTES = 256 * 1024
/** From whoever is not known yet: an address, a password and a code are far less, and cost no more than a head does. */
const OPEN_BODY_SIZE_MAX_BYTES = 8 * 1024
/** An answer is data: kept nowhere, and never a page, whatever a browser is made to believe. */
const ANSWER_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Registers the console's interface under /console/api: every route of the table, and its OpenAPI document. */
export function consoleApi(app: FastifyInstance, deps: ConsoleDeps, options: ConsoleOptions): void {
  app.register(
    async (api) => {
      await api.register(cookie)
      await api.register(swagger, documentOf(options.cookieName, routes))
      api.setValidatorCompiler(validatorCompiler)
      api.setSerializerCompiler(() => (body) => JSON.stringify(body, plain))
      // Files come as text; each route that takes one says how large it may be.
      api.addContentTypeParser('text/csv', { parseAs: 'string' }, (_, body, done) => done(null, body))
      const logs = { log: deps.log, logUnavailable: unavailableLog(deps.log) }
      api.setErrorHandler((error, request, reply) => answerFailure(logs, error, request, reply))
      api.setNotFoundHandler(() => {}) // so that the hook sees whatever has the prefix
      api.addHook('onRequest', async (request, reply) => {
        reply.headers(ANSWER_HEADERS)
        options.addressOf(request)
        checkOrigin(options, request)
        if (request.is404) throw notFound('address') // by its head alone, whatever would follow
      })
      const limit = rateLimiter(deps.clock)
      for (const route of routes) add(api, deps, options, limit, route)
      api.get('/openapi.json', { schema: { hide: true } }, async () => ({
        ...api.swagger(),
        servers: [{ url: deps.consoleUrl().replace(/\/console$/, '') }],
      }))
    },
    { prefix: CONSOLE_API },
  )
}

/** Money leaves as a JSON integer: every amount lies within ±(2^53−1). Moments are written by themselves. */
function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function add(
  api: FastifyInstance,
  deps: ConsoleDeps,
  options: ConsoleOptions,
  limit: ReturnType<typeof rateLimiter>,
  route: Route,
): void {
  api.route({
    method: route.method,
    url: route.path,
    bodyLimit: route.bodyLimit ?? (route.who === 'anyone' ? OPEN_BODY_SIZE_MAX_BYTES : BODY_SIZE_MAX_BYTES),
    schema: schemaOf(route),
    // Before the body is read and checked: who may not call learns nothing of what would be right.
    async onRequest(request) {
      if (route.ratePerMinute) limit(route.path, route.ratePerMinute, options.addressOf(request))
      if (route.who === 'anyone') return
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
  const open = { deps, request, reply, address, cookieName: options.cookieName }
  const { signedIn } = request
  if (!signedIn) return open
  const { person } = signedIn
  const by = byPerson(person, address)
  return { ...open, person, signedIn, by, onlyTenant: isOperator(person.role) ? null : person.tenantId }
}
