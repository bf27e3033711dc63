import { once } from 'node:events'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import cookie from '@fastify/cookie'
import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { languageOf } from '#people/languages/people-language.ts'
import { translateAnswer, translateFailure } from '#people/languages/translate-answer.ts'
import { isOperator } from '#people/person.ts'
import { byPerson } from '#platform/audit/audit.ts'
import { unavailableLog } from '../answer.ts'
import { readBody } from '../body.ts'
import { gzipLargeAnswers } from '../gzip.ts'
import { type BodyHolder, type ByteBudget, createBodyBudget } from '../load-shedding/byte-budget.ts'
import type { CallerLimiter } from '../load-shedding/caller-limits.ts'
import type { LoadShedder } from '../load-shedding/load-shedder.ts'
import { routes } from './console-routes.ts'
import {
  type AllowedOrigins,
  authorize,
  checkOrigin,
  enterTestMode,
  identify,
  requireTestMode,
} from './kernel/access.ts'
import { sendFailure } from './kernel/console-failures.ts'
import { openApiOptions, routeSchema } from './kernel/console-openapi.ts'
import { createRateLimiter, createRouteLimiters, type RouteLimit } from './kernel/rate-limit.ts'
import {
  CONSOLE_API,
  type ConsoleDeps,
  type Context,
  type PublicContext,
  type Route,
  TEST_MODE,
} from './kernel/route.ts'
import { validatorCompiler } from './kernel/validate.ts'

export interface ConsoleOptions extends AllowedOrigins, Pick<LoadShedder, 'bodies' | 'bodyRefusals'> {
  /** The caller's address, behind trusted proxies. @throws Refusal if the request should have used HTTPS */
  addressOf(request: FastifyRequest): string
  /** Differs between gateways on the same host name, which share its cookies. */
  cookieName: string
}

const BODY_SIZE_MAX_BYTES = 256 * 1024
/** For operators' files, of which a node accepts one at a time. The largest are those in stock.ts. */
const FILES_MAX_BYTES = 128 * 1024 * 1024
/** For callers who are not signed in yet. An address, a password and a code need far less. */
const PUBLIC_BODY_SIZE_MAX_BYTES = 8 * 1024
/** Answers are data: browsers must neither store them nor render them as pages. */
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
      addParsers(api, options.bodies)
      api.addHook('preSerialization', translateSentences)
      // Answers with secrets are answers to POST.
      api.addHook('onSend', gzipLargeAnswers)
      const logs = { log: deps.log, logUnavailable: unavailableLog(deps.log) }
      api.setErrorHandler((error, request, reply) => sendFailure(logs, error, request, reply))
      api.setNotFoundHandler(() => {}) // makes the hook below run for unknown paths
      api.addHook('onRequest', async (request, reply) => {
        reply.headers(ANSWER_HEADERS)
        options.addressOf(request)
        checkOrigin(options, request)
        if (request.is404) throw notFound('address') // before the body is read
        addPrivateQuery(request)
      })
      const limits: Limits = {
        byAddress: createRateLimiter(deps.clock),
        ofRoute: createRouteLimiters(deps.clock),
        waitForRefusal: () => new Promise<void>((resolve) => options.bodyRefusals.pace(resolve)),
      }
      const afterAnswer = workAfterAnswers(api, deps.log)
      for (const isTestMode of [false, true])
        for (const route of routes) addRoute(api, deps, { ...options, limits, afterAnswer, isTestMode }, route)
      api.get('/openapi.json', { schema: { hide: true } }, async () => ({
        ...api.swagger(),
        servers: [{ url: deps.consoleUrl().replace(/\/console$/, '') }],
      }))
    },
    { prefix: CONSOLE_API },
  )
}

/** In the language of Accept-Language, which the console sets to the person's. */
async function translateSentences(request: FastifyRequest, reply: FastifyReply, answer: unknown): Promise<unknown> {
  const { tag, translate } = languageOf(request)
  if (tag === 'en') return answer
  reply.header('Content-Language', tag)
  if (reply.statusCode >= 400) return translateFailure(answer, translate)
  const { consoleRoute } = request.routeOptions.config
  return consoleRoute ? translateAnswer(consoleRoute.answer, answer, translate) : answer
}

/** Amounts are written as JSON integers: every one is within ±(2^53−1). */
function toNumber(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

/** Reads bodies within the budget. Files stay bytes: the importer determines their encoding and type. */
function addParsers(api: FastifyInstance, bodies: ByteBudget<BodyHolder>): void {
  const files = createBodyBudget(FILES_MAX_BYTES)
  type Done = (error: Error | null, body?: unknown) => void
  function read(request: FastifyRequest, isFile: boolean, done: (error: Error | null, body: Buffer) => void): void {
    const { bodyLimit, config } = request.routeOptions
    const { bodyType, largeBodyAdvice = 'Send less.', limit } = config.consoleRoute ?? {}
    const none = Buffer.alloc(0)
    if (isFile !== (bodyType !== undefined)) {
      done(new Refusal(400, 'REQUEST_INVALID', `Send the body as ${bodyType ?? 'application/json'}.`), none)
      return
    }
    const budget = limit === 'file' ? files : bodies
    void readBody(request.raw, budget, bodyLimit).then((body) =>
      body instanceof ApiError ? done(refusalOfBody(body, largeBodyAdvice), none) : done(null, body),
    )
  }
  const parseJson = api.getDefaultJsonParser('error', 'error') as unknown as (
    request: FastifyRequest,
    body: string,
    done: Done,
  ) => void
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('application/json', (request: FastifyRequest, _: unknown, done: Done) =>
    read(request, false, (error, body) => (error ? done(error) : parseJson(request, body.toString(), done))),
  )
  api.addContentTypeParser(FILE_TYPES, (request: FastifyRequest, _: unknown, done: Done) => read(request, true, done))
}

const FILE_TYPES = ['text/csv', 'application/octet-stream', 'application/pdf', 'image/png', 'image/jpeg']

/** The console's own messages for the errors of readBody. */
function refusalOfBody(error: ApiError, largeBodyAdvice: string): Error {
  if (error.code !== '000111') return error
  return new Refusal(413, 'TOO_LARGE', `The request is too large. ${largeBodyAdvice}`)
}

interface Limits {
  byAddress: ReturnType<typeof createRateLimiter>
  ofRoute: ReturnType<typeof createRouteLimiters>
  waitForRefusal(): Promise<void>
}

type AfterAnswer = (reply: FastifyReply, work: () => Promise<unknown>) => void

interface RouteOptions extends ConsoleOptions {
  limits: Limits
  afterAnswer: AfterAnswer
  isTestMode: boolean
}

/**
 * Reads the query of the header X-Query, `email=mei%40example.com`. Proxies log the address of a request, but not this header, so
 * the console sends in it what people have typed.
 */
function addPrivateQuery(request: FastifyRequest): void {
  const text = request.headers['x-query']
  if (typeof text === 'string') Object.assign(request.query as object, Object.fromEntries(new URLSearchParams(text)))
}

/** Work that begins when an answer has been sent, or its caller has left. The server closes when all of it is done. */
function workAfterAnswers(api: FastifyInstance, log: ConsoleDeps['log']): AfterAnswer {
  const running = new Set<Promise<void>>()
  api.addHook('onClose', async () => void (await Promise.all(running)))
  return (reply, work) => {
    const run = async () => {
      await Promise.race([once(reply.raw, 'finish'), once(reply.raw, 'close')])
      await work()
    }
    const done = run()
      .catch((error) => log.error({ err: error, url: reply.request.routeOptions.url }, 'work after an answer failed'))
      .finally(() => running.delete(done))
    running.add(done)
  }
}

function addRoute(
  api: FastifyInstance,
  deps: ConsoleDeps,
  { limits: { byAddress, ofRoute, waitForRefusal }, afterAnswer, isTestMode, ...options }: RouteOptions,
  route: Route,
): void {
  const checkQuery =
    route.query && validatorCompiler({ schema: route.query, httpPart: 'querystring', method: '', url: '' })
  const limit = limitOf(route)
  const refuse = async (refusal: unknown) => {
    if (route.bodyType !== undefined) await waitForRefusal()
    throw refusal
  }
  api.route({
    method: route.method,
    url: isTestMode ? TEST_MODE + route.path : route.path,
    bodyLimit: route.bodyLimit ?? (route.access === 'anyone' ? PUBLIC_BODY_SIZE_MAX_BYTES : BODY_SIZE_MAX_BYTES),
    schema: { ...routeSchema(route), hide: isTestMode },
    config: { consoleRoute: route },
    // Access is checked before the body is read, so a refused caller learns nothing about valid input.
    async onRequest(request, reply) {
      if (route.ratePerMinute) byAddress(route.path, route.ratePerMinute, options.addressOf(request))
      if (route.access === 'anyone') return
      const isOfTwin = isTestMode && route.testMode !== 'SAME'
      const caller = await identify(deps, request, options.cookieName)
      request.signedIn = authorize(route, caller, isOfTwin ? {} : request.params)
      if (isOfTwin) request.twin = await enterTestMode(deps, route, request.signedIn, request.params)
      else requireTestMode(route)
      const { personId, tenantId } = request.signedIn.person
      await begin(ofRoute.any, personId, reply)
      if (tenantId !== null) await begin(ofRoute.dealer, tenantId, reply)
      if (limit) await begin(ofRoute[limit], tenantId ?? personId, reply).catch(refuse)
      if (!route.beforeBody) return
      const checked = (checkQuery?.(request.query) ?? { value: request.query }) as { value?: unknown; error?: Error }
      if (checked.error) throw checked.error
      const context = contextOf(deps, options, request, reply) as Context
      await route.beforeBody(context, { params: request.params, query: checked.value })
    },
    async handler(request, reply) {
      const { params, query, body } = request
      const context = contextOf(deps, options, request, reply)
      const parts = { params, query, body }
      return route.handle({ ...context, afterAnswer: (work) => afterAnswer(reply, work) }, parts)
    },
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    signedIn?: import('./kernel/route.ts').SignedIn
    /** Serves the request. undefined: outside of test mode, and for routes that answer the same in it. */
    twin?: import('#operations/twins/served-twin.ts').ServedTwin
  }
  interface FastifyContextConfig {
    consoleRoute?: import('./kernel/route.ts').Route
  }
}

/** Files that are sent while they are written occupy a connection to the database. */
function limitOf({ limit, method, answerType }: Route): RouteLimit | undefined {
  return limit ?? (method === 'GET' && answerType !== undefined ? 'download' : undefined)
}

/** Counts a request until it is answered or its caller has gone away. @throws Refusal */
async function begin(limiter: CallerLimiter, caller: string, { raw }: FastifyReply): Promise<void> {
  const end = await limiter.begin(caller)
  raw.once('finish', end).once('close', end)
  if (raw.destroyed) end()
}

function contextOf(
  deps: ConsoleDeps,
  options: ConsoleOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Omit<Context, 'afterAnswer'> | Omit<PublicContext, 'afterAnswer'> {
  const address = options.addressOf(request)
  const context = { deps, request, reply, address, cookieName: options.cookieName }
  const { twin } = request
  if (!request.signedIn) return context
  const live = { deps, tenantId: request.signedIn.person.tenantId }
  const person = twin ? { ...request.signedIn.person, tenantId: twin.tenantId } : request.signedIn.person
  return {
    ...context,
    ...(twin && { deps: { ...twin.deps, consoleUrl: deps.consoleUrl, provider: deps.provider } }),
    person,
    signedIn: { ...request.signedIn, person },
    by: byPerson(person, address),
    onlyTenant: isOperator(person.role) ? null : person.tenantId,
    live,
  }
}
