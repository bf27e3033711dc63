import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isInBlocks, parseBlock, parseExactAddress, unmapAddress } from '@dealer-esim/lib/address-blocks.ts'
import type { Config } from '#platform/config/config.ts'

/** The caller's address and protocol, behind the proxies that the configuration trusts. */
export type Caller = KnownCaller | { unknown: true }

interface KnownCaller {
  isHttps: boolean
  address: string
}

interface Peer {
  /** The caller of a request that did not pass through a trusted proxy: the peer itself. */
  caller: Caller
  isTrusted: boolean
}

/** @param trustedProxies CIDR blocks or addresses of proxies whose X-Forwarded-Proto and X-Forwarded-For are trusted */
export function callerReader(trustedProxies: readonly string[]): (request: IncomingMessage) => Caller {
  const trusted = trustedProxies.map(parseBlock)
  /** Determined once per connection. */
  const peers = new WeakMap<Socket, Peer>()
  function peerOf(socket: Socket): Peer {
    const known = peers.get(socket)
    if (known) return known
    const address = canonical(socket.remoteAddress ?? '')
    const caller: Caller = address === undefined ? { unknown: true } : { isHttps: 'encrypted' in socket, address }
    const peer = { caller, isTrusted: address !== undefined && trusted.length > 0 && isInBlocks(address, trusted) }
    peers.set(socket, peer)
    return peer
  }

  return (request) => {
    const peer = peerOf(request.socket)
    if (!peer.isTrusted) return peer.caller
    const proto = request.headers['x-forwarded-proto']
    const chain = request.headers['x-forwarded-for']
    if (typeof proto !== 'string' || typeof chain !== 'string') return { unknown: true }
    const isHttps = lastOf(proto) === 'https'
    // Proxies append, so our own proxies wrote everything to the right of the right-most untrusted address. Everything to
    // the left of it, up to 16 KiB, may have been written by anybody, so it is not even read.
    for (let end = chain.length; ; ) {
      const comma = end === 0 ? -1 : chain.lastIndexOf(',', end - 1)
      const entry = chain.slice(comma + 1, end).trim()
      const address = canonical(entry) ?? canonical(withoutPort(entry))
      if (address === undefined) return { unknown: true }
      if (comma < 0 || !isInBlocks(address, trusted)) return { isHttps, address }
      end = comma
    }
  }
}

export function addressOf(caller: Caller): string | undefined {
  return 'unknown' in caller ? undefined : caller.address
}

/** True if the caller may be served: it uses HTTPS, or the deployment is local. An unknown caller is never secure. */
export function isSecure(caller: Caller, { deployment }: Pick<Config, 'deployment'>): caller is KnownCaller {
  return !('unknown' in caller) && (caller.isHttps || deployment === 'local')
}

/** Removes the port and brackets that some proxies write: `192.0.2.1:4711`, `[2001:db8::7]:4711` and `[2001:db8::7]`. */
function withoutPort(text: string): string {
  return text.replace(/^([\d.]+):\d{1,5}$/, '$1').replace(/^\[([\da-f:.]+)\](:\d{1,5})?$/i, '$1')
}

function lastOf(list: string): string {
  return list
    .slice(list.lastIndexOf(',') + 1)
    .trim()
    .toLowerCase()
}

/** Converts `::ffff:a.b.c.d` to `a.b.c.d`, and drops a zone (`%eth0`). @returns undefined if the text is not an address */
export function canonical(text: string): string | undefined {
  const address = parseExactAddress(text.split('%', 1)[0] ?? '')
  return address && unmapAddress(address).toString()
}
