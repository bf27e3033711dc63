import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface PrefixProxy {
  /** With the path prefix, e.g. http://127.0.0.1:41023/dealers. */
  url: string
  close(): void
}

/** A proxy that terminates TLS for https://esim.example.com/dealers, seen from behind its TLS: removes the prefix, adds the headers. */
export async function startPrefixProxy(target: string, prefix: string): Promise<PrefixProxy> {
  const { hostname, port } = new URL(target)
  const server = createServer((request, response) => {
    if (!request.url?.startsWith(`${prefix}/`)) return void response.writeHead(404).end()
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7', host: 'esim.example.com' }
    const path = request.url.slice(prefix.length)
    const onward = send({ hostname, port, path, method: request.method, headers: { ...request.headers, ...forwarded } })
    onward.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.once('error', () => response.writeHead(502).end())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`, close: () => server.close() }
}
