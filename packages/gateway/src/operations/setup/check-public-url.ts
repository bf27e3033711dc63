import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Config } from '#platform/config/config.ts'
import { callPublicUrl } from '../doctor/check-reach.ts'

type Address = Pick<Config, 'host' | 'port' | 'publicUrl' | 'tlsCertFile' | 'tlsKeyFile'>

/**
 * Checks whether PUBLIC_URL points to this machine: listens where the gateway will listen, and calls PUBLIC_URL as a dealer
 * would.
 * @returns the problem and how to fix it; undefined if it points here
 */
export async function findWrongRoute(config: Address, outbound: Outbound): Promise<string | undefined> {
  const { host, port, publicUrl, tlsCertFile, tlsKeyFile } = config
  if (publicUrl === undefined) return 'PUBLIC_URL is not set. Set it to the address that dealers use.'
  const proof = randomBytes(16).toString('hex')
  const answer = (_: unknown, response: { end(text: string): void }) => response.end(proof)
  const server =
    tlsCertFile && tlsKeyFile
      ? createTlsServer({ cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) }, answer)
      : createServer(answer)
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      return `Another program listens on ${host}:${port}. Stop it if it is not the gateway; then doctor can check PUBLIC_URL.`
    return `The gateway will not be able to listen on ${host}:${port}: ${message}. Correct HOST and PORT.`
  }
  try {
    const outcome = await callPublicUrl(outbound, publicUrl)
    if (outcome.kind !== 'failed' && outcome.body.toString() === proof) return undefined
    const seen = outcome.kind === 'failed' ? outcome.message : `something else answered, with ${outcome.status}`
    return `PUBLIC_URL ${publicUrl} does not lead here yet (${seen}). Make DNS, the firewall and the proxy lead to ${host}:${port}.`
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
