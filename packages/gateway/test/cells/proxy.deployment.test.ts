import { mkdirSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { addressOf, parseCells } from '#cells/cells-file.ts'
import { PROXY_CONFIGS } from '#cells/proxy-file.ts'
import { canRun } from '#test/harness/can-run.ts'
import { freePort } from '../harness/processes/free-port.ts'
import { stopGateways, temporaryFolder } from '../harness/processes/gateway-process.ts'
import { type ReverseProxy, runProxy } from '../platform/deployment/proxies.ts'

/*
 * Debian's load balancers, with the configurations that `admin cells proxy` writes, in front of three cells. Nodes are HTTP
 * servers that answer with their own address.
 */

interface FakeNode {
  host: string
  port: number
  metricsPort: number
  /** The bodies of requests that reached it. */
  received: string[]
  /** Closes the connection after the request has arrived. */
  drops: boolean
  stop(): Promise<void>
}

async function startNode(host: string): Promise<FakeNode> {
  const node = { received: [] as string[], drops: false }
  const api = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    node.received.push(body)
    if (node.drops) request.socket.destroy()
    else response.end(JSON.stringify({ node: host, forwarded: request.headers['x-forwarded-proto'] }))
  })
  const probes = createServer((_, response) => response.end('ready'))
  const [port, metricsPort] = [await listen(api, host), await listen(probes, host)]
  const close = (server: Server) =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return Object.assign(node, {
    host,
    port,
    metricsPort,
    stop: async () => void (await Promise.all([api, probes].map(close))),
  })
}

async function listen(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return (server.address() as AddressInfo).port
}

function post(url: string, headers: Record<string, string>, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sending = request(url, { method: 'POST', headers, rejectUnauthorized: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (more) => (text += more))
      response.on('end', () => resolve({ status: response.statusCode!, text }))
    })
    sending.on('error', reject).end(body)
  })
}

const appKey = (cell: string, index: number) => `ak_${cell}_${String(index).padStart(24, '0')}`
const MOVED = appKey('main', 999)
const PROGRAMS = (['haproxy', 'nginx'] as const).filter((name) => canRun(`cells behind ${name}`, name))

describe.each(PROGRAMS)('%s', (program) => {
  const nodes = new Map<string, FakeNode>()
  let proxy: ReverseProxy

  beforeAll(async () => {
    for (const last of [1, 2, 3, 4, 5]) {
      const node = await startNode(`127.0.0.${last}`)
      nodes.set(node.host, node)
    }
    const of = (...hosts: string[]) =>
      hosts.map((host) => {
        const { port, metricsPort } = nodes.get(host)!
        return { host, port, metricsPort }
      })
    const cells = parseCells(
      JSON.stringify({
        cells: [
          { name: 'main', nodes: of('127.0.0.1', '127.0.0.2') },
          { name: 'eu', nodes: of('127.0.0.3'), publicHost: 'EU.example.com' },
          { name: 'eu1', nodes: of('127.0.0.4', '127.0.0.5') },
        ],
        movedAppKeys: { [MOVED]: 'eu' },
      }),
    )
    expect(new Set(cells.cells.flatMap((cell) => cell.nodes.map(addressOf))).size).toBe(5)
    const folder = join(temporaryFolder('proxy'), program)
    mkdirSync(folder)
    const port = await freePort()
    const certificate = join(folder, program === 'haproxy' ? 'esim.both.pem' : 'esim.pem')
    const options = { listen: { host: '127.0.0.1', port }, certificate, key: join(folder, 'esim.key') }
    proxy = await runProxy(program, PROXY_CONFIGS[program](cells, options), { port, folder })
  })
  afterAll(async () => {
    await proxy?.stop()
    await Promise.all([...nodes.values()].map((node) => node.stop()))
    await stopGateways()
  })

  let sent = 0
  async function nodeFor(headers: Record<string, string>): Promise<string> {
    const { status, text } = await post(proxy.baseUrl, headers, `request ${++sent}`)
    return status === 200 ? (JSON.parse(text) as { node: string }).node : `status ${status}`
  }
  const nodesFor = async (all: Record<string, string>[]) => {
    const found = new Set<string>()
    for (const headers of all) found.add(await nodeFor(headers))
    return [...found].sort()
  }
  const keysOf = (cell: string) => Array.from({ length: 40 }, (_, index) => ({ 'RT-AccessCode': appKey(cell, index) }))

  it('sends each AppKey to a node in the cell that the AppKey names', async () => {
    expect(await nodesFor(keysOf('main'))).toEqual(['127.0.0.1', '127.0.0.2'])
    expect(await nodesFor(keysOf('eu'))).toEqual(['127.0.0.3'])
    expect(await nodesFor(keysOf('eu1'))).toEqual(['127.0.0.4', '127.0.0.5'])
  })

  it('sends all requests from one dealer to the same node', async () => {
    const repeated = Array.from({ length: 20 }, () => ({ 'RT-AccessCode': appKey('eu1', 7) }))
    expect(await nodesFor(repeated)).toHaveLength(1)
  })

  it('sends a moved dealer to its new cell', async () => {
    expect(await nodeFor({ 'RT-AccessCode': MOVED })).toBe('127.0.0.3')
  })

  it('sends requests without an AppKey, or with an AppKey from an unknown cell, to the default cell', async () => {
    const unknown = [{ 'RT-AccessCode': 'demo_app_key' }, { 'RT-AccessCode': appKey('us1', 1) }, {}]
    for (const node of await nodesFor(unknown)) expect(['127.0.0.1', '127.0.0.2']).toContain(node)
  })

  it('routes a request without an AppKey by its Host header, ignoring case and port', async () => {
    expect(await nodeFor({ Host: 'eu.EXAMPLE.com:8443' })).toBe('127.0.0.3')
    expect(await nodesFor(keysOf('eu1').map((headers) => ({ ...headers, Host: 'eu.example.com' })))).toEqual([
      '127.0.0.4',
      '127.0.0.5',
    ])
  })

  it('never repeats a request that a node has received', async () => {
    const key = { 'RT-AccessCode': appKey('eu1', 7) }
    const node = nodes.get(await nodeFor(key))!
    node.drops = true
    onTestFinished(() => {
      node.drops = false
    })
    const before = sent
    // On a connection that was used before, HAProxy closes the caller's connection instead of answering 502.
    const answers = program === 'haproxy' ? ['no answer', 'status 502'] : ['status 502']
    expect(answers).toContain(await nodeFor(key).catch(() => 'no answer'))
    node.drops = false
    const received = [...nodes.values()].flatMap((one) =>
      one.received.filter((body) => body === `request ${before + 1}`),
    )
    expect(received).toHaveLength(1)
    await delay(3_000) // nginx skips the node for two seconds
  })

  it('sends a dealer to the other node of its cell while its usual node is down', async () => {
    const key = { 'RT-AccessCode': appKey('eu1', 7) }
    const first = await nodeFor(key)
    await nodes.get(first)!.stop()
    // A request sent on a connection that the node is closing gets no answer, and is not repeated either.
    const other = first === '127.0.0.4' ? '127.0.0.5' : '127.0.0.4'
    await expect.poll(() => nodeFor(key).catch(() => 'no answer')).toBe(other)
    expect(await nodesFor(Array.from({ length: 10 }, () => key))).toEqual([other])
  })
})
