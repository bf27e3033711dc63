import { createServer as createHttpServer, type IncomingMessage, request as sendRequest } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Proxy {
  baseUrl: string
  connections: number
  close(): void
}

/** Starts a proxy that breaks the first `times` connections as soon as an answer arrives. */
export async function startCuttingProxy(target: string, times: number): Promise<Proxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const proxy = { baseUrl: '', connections: 0 } as Proxy
  const server = createServer((client) => {
    proxy.connections += 1
    const isCut = proxy.connections <= times
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    client.pipe(upstream)
    if (isCut) upstream.once('data', () => client.destroy())
    else upstream.pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  proxy.close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return proxy
}

/** Starts a proxy that sends the first request twice, as some HTTP libraries do, and passes the second answer on. */
export async function startRepeatingProxy(target: string): Promise<Proxy> {
  const proxy = { baseUrl: '', connections: 0 } as Proxy
  const server = createHttpServer(async (request, response) => {
    const body = await readAll(request)
    proxy.connections += 1
    const forward = () =>
      new Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }>((resolve, reject) => {
        const { method, headers } = request
        const outgoing = sendRequest(new URL(request.url ?? '', target), { method, headers }, async (answer) => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await readAll(answer) })
        })
        outgoing.on('error', reject).end(body)
      })
    if (proxy.connections === 1) await forward()
    const answer = await forward()
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  proxy.close = () => {
    server.close()
    server.closeAllConnections()
  }
  return proxy
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
