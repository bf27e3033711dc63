/** Notes where every connection goes, every name that is looked up and every datagram. */
const RECORDER = `
import dgram from 'node:dgram'
import dns from 'node:dns'
import { appendFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
const note = (line) => appendFileSync(process.env.CONNECTIONS_FILE ?? 2, 'opened: ' + line + '\\n')
const { connect } = net.Socket.prototype
net.Socket.prototype.connect = function (...args) {
  const [first, host] = Array.isArray(args[0]) ? args[0] : args
  note('connect ' + (typeof first === 'object' ? (first.path ?? first.host + ':' + first.port) : host + ':' + first))
  return connect.apply(this, args)
}
for (const resolver of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype])
  for (const name of Object.getOwnPropertyNames(resolver).filter((key) => /^(lookup|resolve|reverse)/.test(key))) {
    const original = resolver[name]
    resolver[name] = function (host, ...rest) {
      if (!net.isIP(host)) note('name ' + host)
      return original.call(this, host, ...rest)
    }
  }
const { createSocket } = dgram
dgram.createSocket = (...args) => (note('datagrams'), createSocket(...args))
syncBuiltinESMExports() // for named imports
`

/** Loads the recorder, given as NODE_OPTIONS. It writes into the file CONNECTIONS_FILE, without one to standard error. */
export const RECORD_CONNECTIONS = `--import=data:text/javascript,${encodeURIComponent(RECORDER)}`

/** What was noted in a text, each once, such as `connect 127.0.0.1:5432`. */
export function openedConnections(text: string): string[] {
  return [...new Set([...text.matchAll(/^opened: (.*)$/gm)].map(([, line]) => line!))]
}
