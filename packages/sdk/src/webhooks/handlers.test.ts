import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import Fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest'
import { APP_SECRET, EVENT, signedEvent } from '#test/signed-event.ts'
import { expressWebhook, fastifyWebhook, fetchWebhook, nodeWebhook } from './handlers.ts'
import type { WebhookOptions } from './receive.ts'

type Post = (body: string, headers: Record<string, string>) => Promise<{ status: number; text: string }>

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** One suite for every kind of server, because they are interchangeable. */
const kinds: Record<string, (options: WebhookOptions) => Promise<Post>> = {
  'node:http': async (options) => serve(createServer(nodeWebhook({ ...options, onError: () => undefined }))),
  Express: async (options) => {
    const app = express()
    app.post('/esim-events', expressWebhook(options))
    app.use(express.json())
    app.use(quiet)
    return serve(createServer(app as RequestListener))
  },
  'Express behind express.raw()': async (options) => {
    const app = express()
    app.post('/esim-events', express.raw({ type: '*/*' }), expressWebhook(options))
    app.use(quiet)
    return serve(createServer(app as RequestListener))
  },
  Fastify: async (options) => {
    const app = Fastify()
    app.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, body, done) => done(null, body))
    app.register(fastifyWebhook({ ...options, path: '/esim-events' }))
    const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
    cleanups.push(() => app.close())
    return poster(baseUrl)
  },
  'an edge worker': async (options) => {
    const handle = fetchWebhook({ ...options, onError: () => undefined })
    return async (body, headers) => {
      const response = await handle(
        new Request('https://dealer.example/esim-events', { method: 'POST', body, headers }),
      )
      return { status: response.status, text: await response.text() }
    }
  },
}

for (const [kind, start] of Object.entries(kinds)) {
  describe(kind, () => {
    test('passes a genuine event on and acknowledges it', async () => {
      const events: unknown[] = []
      const post = await start({ appSecret: () => [APP_SECRET], onEvent: (event) => events.push(event) })
      const { body, headers } = signedEvent()
      expect(await post(body, headers)).toEqual({ status: 204, text: '' })
      expect(events).toEqual([EVENT])
    })

    test('answers CHECK_HEALTH automatically', async () => {
      const events: unknown[] = []
      const post = await start({ appSecret: APP_SECRET, onEvent: (event) => events.push(event) })
      const { body, headers } = signedEvent({ event: { ...EVENT, notifyType: 'CHECK_HEALTH', content: {} } })
      expect((await post(body, headers)).status).toBe(204)
      expect(events).toEqual([])
    })

    test('answers 401 with the reason to a call that is not genuine, without passing it on', async () => {
      const events: unknown[] = []
      const refused: string[] = []
      const post = await start({
        appSecret: APP_SECRET,
        onEvent: (event) => events.push(event),
        onRefused: (error) => refused.push(error.code),
      })
      const { body, headers } = signedEvent({ standard: ['another'], request: 'another' })
      const answer = await post(body, headers)
      expect(answer.status).toBe(401)
      expect(answer.text).toMatch(/another secret/)
      expect([events, refused]).toEqual([[], ['EVENT_REFUSED']])
    })

    test('answers 500 if the event could not be stored, so that the event is sent again', async () => {
      const post = await start({
        appSecret: APP_SECRET,
        onEvent: () => Promise.reject(new Error('the database is away')),
      })
      const { body, headers } = signedEvent()
      expect((await post(body, headers)).status).toBe(500)
    })
  })
}

describe('a failing listener', () => {
  const fault = new Error('the log is full')
  const failing = [
    () => {
      throw fault
    },
    () => Promise.reject(fault),
  ]
  let logged: MockInstance
  beforeEach(() => {
    logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  })
  afterEach(() => logged.mockRestore())

  test.each(Object.entries(kinds))('for onRefused does not change the 401: %s', async (_kind, start) => {
    for (const onRefused of failing) {
      const post = await start({ appSecret: APP_SECRET, onEvent: () => undefined, onRefused })
      const { body, headers } = signedEvent({ standard: ['another'], request: 'another' })
      expect((await post(body, headers)).status).toBe(401)
    }
    expect(logged.mock.calls).toEqual([[fault], [fault]])
  })

  test('for onError does not change the 500, which is sent before the listener is called', async () => {
    for (const onError of failing) {
      const order: string[] = []
      const heard = () => {
        order.push('heard')
        return onError()
      }
      const options = { appSecret: APP_SECRET, onEvent: () => Promise.reject(new Error('away')), onError: heard }
      const { body, headers } = signedEvent()
      const call = { method: 'POST', headers, body }
      const response = { statusCode: 0, setHeader: () => undefined, end: () => order.push('answered') }
      await nodeWebhook(options)(call as never, response)
      expect([response.statusCode, order]).toEqual([500, ['answered', 'heard']])
      const request = new Request('https://dealer.example/', { method: 'POST', body, headers })
      expect((await fetchWebhook(options)(request)).status).toBe(500)
      const read = new Request('https://dealer.example/', { method: 'POST', body, headers })
      await read.text()
      expect((await fetchWebhook(options)(read)).status).toBe(500)
    }
  })
})

test('with a body parsed by Express, the error says where to mount the handler', async () => {
  const app = express()
  app.use(express.json())
  app.post('/esim-events', expressWebhook({ appSecret: APP_SECRET, onEvent: () => undefined }))
  app.use(quiet)
  const { body, headers } = signedEvent()
  const post = await serve(createServer(app as RequestListener))
  const answer = await post(body, headers)
  expect(answer).toMatchObject({ status: 500, text: expect.stringContaining('before express.json()') })
})

test('with a body consumed by node:http, the error says that instead of blaming the secret', async () => {
  const failed: unknown[] = []
  const handle = nodeWebhook({
    appSecret: APP_SECRET,
    onEvent: () => undefined,
    onError: (error) => failed.push(error),
  })
  const post = await serve(
    createServer(async (request, response) => {
      for await (const _ of request);
      await handle(request, response)
    }),
  )
  const { body, headers } = signedEvent()
  expect((await post(body, headers)).status).toBe(500)
  expect(String(failed[0])).toMatch(/TypeError: .* needs the raw body.*before any JSON parser/)
})

test('a Request with an already consumed body is reported', async () => {
  const failed: unknown[] = []
  const handle = fetchWebhook({
    appSecret: APP_SECRET,
    onEvent: () => undefined,
    onError: (error) => failed.push(error),
  })
  const request = new Request('https://dealer.example/', { method: 'POST', ...signedEvent() })
  await request.json()
  expect((await handle(request)).status).toBe(500)
  expect(String(failed[0])).toMatch(/TypeError: fetchWebhook needs the raw body/)
})

test('a call that is larger than any event is rejected before it is read', async () => {
  const handle = nodeWebhook({ appSecret: APP_SECRET, onEvent: () => undefined })
  const answered: number[] = []
  const post = await serve(
    createServer(async (request, response) => {
      await handle(request, response)
      answered.push(response.statusCode)
    }),
  )
  const { headers } = signedEvent()
  // A client that is still writing when the connection closes may never read the answer.
  const outcome = await post('x'.repeat(3_000_000), headers).catch(({ cause }) => ({ status: cause?.code ?? cause }))
  expect([413, 'ECONNRESET', 'EPIPE']).toContain(outcome.status)
  expect(answered).toEqual([413])
})

const quiet: express.ErrorRequestHandler = (error, _request, response, _next) => {
  response.status(500).send(String(error))
}

async function serve(server: Server): Promise<Post> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return poster(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

function poster(baseUrl: string): Post {
  return async (body, headers) => {
    const response = await fetch(`${baseUrl}/esim-events`, { method: 'POST', body, headers })
    return { status: response.status, text: await response.text() }
  }
}
