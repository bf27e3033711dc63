import net from 'node:net'
import tls from 'node:tls'
import type { buildConnector } from 'undici'

/** Our client certificate and the CA that we trust, in PEM. For suppliers that require client certificates. */
export interface TlsIdentity {
  ca?: string
  cert?: string
  key?: string
}

export class DialError extends Error {
  override readonly name = 'DialError'
  readonly phase: 'connect' | 'tls'
  constructor(phase: 'connect' | 'tls', cause: Error) {
    super(cause.message, { cause })
    this.phase = phase
  }
}

const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_PROBE_MS = 30_000

/** Connects to this address only; the name is used only to check the certificate. */
export function createConnector(
  address: string,
  name: string | undefined,
  identity?: TlsIdentity,
): buildConnector.connector {
  let session: Buffer | undefined
  return (options, callback) => {
    let phase: 'connect' | 'tls' = 'connect'
    const secure = options.protocol === 'https:'
    const port = Number(options.port) || (secure ? 443 : 80)
    const socket = secure
      ? tls.connect({
          ...identity,
          host: address,
          port,
          ALPNProtocols: ['http/1.1'],
          ...(name === undefined ? {} : { servername: name }),
          ...(session === undefined ? {} : { session }),
        })
      : net.connect({ host: address, port })
    const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), CONNECT_TIMEOUT_MS)
    let isSettled = false
    const settle = (error: Error | null) => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      if (error) callback(new DialError(phase, error), null)
      else callback(null, socket)
    }
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE_MS)
    socket.on('session', (next: Buffer) => (session = next))
    socket.once('connect', () => (phase = 'tls'))
    socket.once(secure ? 'secureConnect' : 'connect', () => settle(null))
    socket.once('error', settle)
    socket.once('close', () => settle(new Error('the connection was closed')))
  }
}
