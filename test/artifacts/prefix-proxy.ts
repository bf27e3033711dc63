import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'

export interface PrefixProxy {
  /** With the path prefix, e.g. http://127.0.0.1:41023/dealers. */
  url: string
  close(): void
}

/**
 * Simulates a proxy that terminates TLS for https://esim.example.com/dealers, as seen behind its TLS: removes the prefix
 * and adds the headers.
 */
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

/** The documentation and the console work under a path prefix: every address on their pages is below it and responds. */
export async function expectPagesUnder(url: string, prefix: string): Promise<void> {
  const { origin } = new URL(url)
  for (const page of ['/docs', '/docs/installing', '/console/']) {
    const answer = await fetch(`${url}${page}`)
    const text = await answer.text()
    const base = new URL(/<base href="([^"]+)"/.exec(text)?.[1] ?? answer.url, answer.url)
    const addresses = [...text.matchAll(/ (?:href|src)="([^"#]+)/g)].map(([, address]) => new URL(address!, base))
    const own = new Set(addresses.filter((address) => address.origin === origin).map(({ pathname }) => pathname))
    expect([page, own.size > 2]).toEqual([page, true])
    for (const path of own) {
      expect([page, path]).toEqual([page, expect.stringMatching(`^${prefix}/`)])
      expect([path, (await fetch(`${origin}${path}`)).status]).toEqual([path, 200])
    }
  }
}
