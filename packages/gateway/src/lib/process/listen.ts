import type { AddressInfo, Server } from 'node:net'
import { StartRefused } from './start-refused.ts'

export interface Listener {
  server: Pick<Server, 'address'>
  listen(options: { host: string; port: number }): Promise<unknown>
}

/**
 * Makes a server (a Fastify instance) listen.
 * @returns the port: the one asked for, or the free one that 0 stood for
 * @throws StartRefused with a sentence that names the variable to change
 */
export async function listen(
  listener: Listener,
  at: { host: string; port: number; variable: 'PORT' | 'METRICS_PORT' | 'CONSOLE_PORT' },
): Promise<number> {
  try {
    await listener.listen({ host: at.host, port: at.port })
  } catch (error) {
    throw new StartRefused(refusal(error as NodeJS.ErrnoException, at), { cause: error })
  }
  return (listener.server.address() as AddressInfo).port
}

function refusal(error: NodeJS.ErrnoException, at: { host: string; port: number; variable: string }): string {
  const remedy = `Set ${at.variable} to another one.`
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${at.port} on ${at.host} is in use by another program. ${remedy}`
    case 'EACCES':
      return `This user may not listen on port ${at.port} of ${at.host}. ${remedy}`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${at.host} is not an address of this machine. Set HOST to one.`
    default:
      return `Listening on port ${at.port} of ${at.host} failed: ${error.message}`
  }
}
