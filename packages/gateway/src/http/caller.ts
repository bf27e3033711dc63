import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '../config/config.ts'
import { isInBlocks, parseBlock, parseExactAddress, unmapAddress } from '../lib/address-blocks.ts'

/** Who called and how, seen past the proxies that the configuration trusts. */
export type Caller = SeenCaller | { untold: true }

interface SeenCaller {
  isHttps: boolean
  address: string
}

interface Peer {
  /** As it is seen without looking past it. */
  caller: Caller
  isTrusted: boolean
}

/** CIDR blocks or addresses of the proxies whose X-Forwarded-Proto and X-Forwarded-For are believed. */
export function callerReader(trustedProxies: readonly string[]): (request: IncomingMessage) => Caller {
  const trusted = trustedProxies.map(parseBlock)
  /** Seen once for all requests of a connection. */
  const peers = new WeakMap<Socket, Peer>()
  function peerOf(socket: Socket): Peer {
    const known = peers.get(socket)
    if (known) return known
    const address = canonical(socket.remoteAddress ?? '')
    const caller: Caller = address === undefined ? { untold: true } : { isHttps: 'encrypted' in socket, address }
    const peer = { caller, isTrusted: address !== undefined && trusted.length > 0 && isInBlocks(address, trusted) }
    peers.set(socket, peer)
    return peer
  }

  return (request) => {
    const peer = peerOf(request.socket)
    if (!peer.isTrusted) return peer.caller
    const proto = request.headers['x-forwarded-proto']
    const chain = request.headers['x-forwarded-for']
    if (typeof proto !== 'string' || typeof chain !== 'string') return { untold: true }
    const isHttps = lastOf(proto) === 'https'
    // Proxies append: what stands right of the right-most untrusted address was written by our own. What stands left of it
    // anybody wrote, and up to 16 KiB of it: it is not even read.
    for (let end = chain.length; ; ) {
      const comma = end === 0 ? -1 : chain.lastIndexOf(',', end - 1)
      const address = canonical(chain.slice(comma + 1, end).trim())
      if (address === undefined) return { untold: true }
      if (comma < 0 || !isInBlocks(address, trusted)) return { isHttps, address }
      end = comma
    }
  }
}

/** Whether a door may serve the caller: they came by HTTPS, or the deployment is local. Of who is untold, nothing is known. */
export function isSecure(caller: Caller, { deployment }: Pick<Config, 'deployment'>): caller is SeenCaller {
  return !('untold' in caller) && (caller.isHttps || deployment === 'local')
}

function lastOf(list: string): string {
  return list
    .slice(list.lastIndexOf(',') + 1)
    .trim()
    .toLowerCase()
}

/** `::ffff:a.b.c.d` is `a.b.c.d`; undefined for what is no address. A zone (`%eth0`) is dropped. */
export function canonical(text: string): string | undefined {
  const address = parseExactAddress(text.replace(/%.*$/, ''))
  return address && unmapAddress(address).toString()
}
