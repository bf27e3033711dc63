import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A fake gateway with real HTTP; it computes signatures itself, not with the code under test. */
export interface FakeGateway {
  baseUrl: string
  appKey: string
  appSecret: string
  /** The requests received, including refused ones. */
  seen: { operation: string; requestId: string; body: Record<string, unknown> }[]
  close(): Promise<void>
}

export interface FakeAnswer {
  status?: number
  headers?: Record<string, string>
  /** An object is sent as JSON; a text unchanged. */
  body: unknown
}

/** `break` cuts the connection without an answer, `hang` never answers. */
export type Script = (
  operation: string,
  body: Record<string, unknown>,
  arrival: number,
) => FakeAnswer | 'break' | 'hang'

export const ok = (data: object): FakeAnswer => ({ body: { code: '000000', message: 'success', data } })

export const refusal = (status: number, code: string, more: object = {}, headers = {}): FakeAnswer => ({
  status,
  headers,
  body: { code, message: `refused with ${code}`, data: { requestId: 'r', details: [], ...more } },
})

export async function fakeGateway(script: Script, prefix = ''): Promise<FakeGateway> {
  const appKey = 'fake_app_key'
  const appSecret = 'a secret with é and ü'
  const seen: FakeGateway['seen'] = []
  const used = new Set<string>()
  const server = createServer(async (request, response) => {
    const raw = await readAll(request)
    const operation = (request.url ?? '').replace(`${prefix}/open-api/v1/`, '')
    const requestId = String(request.headers['rt-requestid'])
    const answer = ((): FakeAnswer | 'break' | 'hang' => {
      const base = `${request.headers['rt-timestamp']}${requestId}${request.headers['rt-accesscode']}`
      const expected = createHmac('sha256', appSecret).update(base).update(raw).digest('hex')
      if (request.headers['x-signature'] !== expected) return refusal(401, '101003')
      if (request.headers['content-type'] !== 'application/json') return refusal(415, '000110')
      if (used.has(requestId)) return refusal(409, '101006')
      used.add(requestId)
      const body = JSON.parse(raw.toString('utf8'))
      seen.push({ operation, requestId, body })
      return script(operation, body, seen.length)
    })()
    if (answer === 'hang') return
    if (answer === 'break') return void request.socket.destroy()
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
    response.writeHead(answer.status ?? 200, { 'Content-Type': 'application/json', ...answer.headers }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}${prefix}`,
    appKey,
    appSecret,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}
