import { notifyListener } from '#options.ts'
import { readEventBody, receive, type WebhookOptions, type WebhookResponse } from './receive.ts'

/**
 * Webhook handlers for four common kinds of servers. The types of the servers are declared here with the members that are
 * used, so that none of the servers has to be installed.
 */

interface IncomingCall extends AsyncIterable<Uint8Array> {
  method?: string | undefined
  headers: Record<string, string | string[] | undefined>
  /** Set by a framework that has parsed the body. */
  body?: unknown
  /** True if the body has been read already. */
  readableEnded?: boolean
}

interface OutgoingAnswer {
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(text?: string): unknown
}

/** For `node:http`: `http.createServer(nodeWebhook({ appSecret, onEvent }))`. `onError` receives the errors of onEvent. */
export function nodeWebhook(options: WebhookOptions & { onError?: (error: unknown) => void }) {
  return async (request: IncomingCall, response: OutgoingAnswer): Promise<void> => {
    const answer = await receiveFrom(options, request)
    send(response, answer)
    if (answer.status === 500) void notifyListener(options.onError ?? console.error, answer.error)
  }
}

/**
 * For Express: `app.post('/esim-events', expressWebhook({ appSecret, onEvent }))`, before any `express.json()`, which
 * would consume the raw bytes; `express.raw({ type: () => true })` before it is fine. Errors of onEvent are passed to
 * `next`.
 */
export function expressWebhook(options: WebhookOptions) {
  return async (request: IncomingCall, response: OutgoingAnswer, next: (error?: unknown) => void): Promise<void> => {
    const { body } = request
    if (body !== undefined && !(body instanceof Uint8Array) && typeof body !== 'string') {
      return next(new TypeError('expressWebhook needs the raw body: mount it before express.json().'))
    }
    const answer = await receiveFrom(options, request)
    if (answer.status === 500) return next(answer.error)
    send(response, answer)
  }
}

interface FastifyLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer' },
    parser: (request: unknown, body: Uint8Array, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown
  post(
    path: string,
    handler: (
      request: { method: string; headers: Record<string, string | string[] | undefined>; body: unknown },
      reply: { code(status: number): { send(body?: unknown): unknown } },
    ) => Promise<unknown>,
  ): unknown
}

/** For Fastify: `app.register(fastifyWebhook({ path: '/esim-events', appSecret, onEvent }))`. */
export function fastifyWebhook(options: WebhookOptions & { path: string }) {
  return async (app: FastifyLike): Promise<void> => {
    // Only in this plugin; the rest of the application keeps its JSON parser.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.post(options.path, async (request, reply) => {
      const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
      const answer = await receive(options, { method: request.method, headers: request.headers, body })
      if (answer.status === 500) throw answer.error
      return reply.code(answer.status).send(answer.status === 204 ? undefined : answer.text)
    })
  }
}

/** For edge workers, Bun, Deno and Next.js: a function from Request to Response. */
export function fetchWebhook(options: WebhookOptions & { onError?: (error: unknown) => void }) {
  return async (request: Request): Promise<Response> => {
    if (request.method === 'POST' && (request.bodyUsed || request.body?.locked)) {
      const error = bodyConsumed('fetchWebhook', 'pass it the Request before anything reads its body')
      void notifyListener(options.onError ?? console.error, error)
      return new Response(null, { status: 500 })
    }
    const body = request.method === 'POST' ? await readEventBody(request.body) : undefined
    const answer = await receive(options, { method: request.method, headers: request.headers, body })
    if (answer.status === 500) void notifyListener(options.onError ?? console.error, answer.error)
    return new Response(answer.status === 204 ? null : answer.text, { status: answer.status, headers: PLAIN })
  }
}

const PLAIN = { 'Content-Type': 'text/plain; charset=utf-8' }

async function receiveFrom(options: WebhookOptions, request: IncomingCall): Promise<WebhookResponse> {
  try {
    const body = request.method === 'POST' ? await rawBody(request) : undefined
    return await receive(options, { method: request.method, headers: request.headers, body })
  } catch (error) {
    // The sender closed the connection while sending its body.
    return { status: 500, text: '', error }
  }
}

function rawBody(request: IncomingCall) {
  const { body } = request
  if (body instanceof Uint8Array || typeof body === 'string') return body
  if (request.readableEnded) throw bodyConsumed('The handler', 'call it before any JSON parser, or disable the parser')
  return readEventBody(request)
}

function bodyConsumed(what: string, remedy: string): TypeError {
  return new TypeError(`${what} needs the raw body, which was read already: ${remedy}.`)
}

function send(response: OutgoingAnswer, answer: WebhookResponse): void {
  response.statusCode = answer.status
  response.setHeader('Content-Type', PLAIN['Content-Type'])
  response.end(answer.text)
}
