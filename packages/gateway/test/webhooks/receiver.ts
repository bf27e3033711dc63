import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
  notifyId: string
  notifyType: string
  at: number
}

/** How the receiver responds to a request; a number is a status code. */
export type Script = number | ((request: IncomingMessage, response: ServerResponse, received: Received) => void)

export interface Receiver {
  url: string
  received: Received[]
  /** Excluding health checks. */
  readonly events: Received[]
  /** For requests from now on. */
  script: Script
  close(): Promise<void>
}

/** A receiver whose behaviour is scripted by a test. Health checks are answered with 200 unless `scriptHealth` is set. */
export async function startReceiver(script: Script = 200, options: { scriptHealth?: boolean } = {}): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    response.on('error', () => {})
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { notifyId, notifyType } = JSON.parse(body) as Received
      const { url = '', headers } = request
      const received = { path: url, headers, body, notifyId, notifyType, at: performance.now() }
      receiver.received.push(received)
      const now = notifyType === 'CHECK_HEALTH' && !options.scriptHealth ? 200 : receiver.script
      if (typeof now === 'number') response.writeHead(now).end()
      else now(request, response, received)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    received: [],
    get events() {
      return this.received.filter((one) => one.notifyType !== 'CHECK_HEALTH')
    },
    script,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}
