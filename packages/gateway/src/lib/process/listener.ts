import type { AddressInfo, Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { StartRefused, settlesWithin } from './lifecycle.ts'

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

/**
 * How long a closing server still takes requests on the connections that are open, and new ones: each answer then says
 * `Connection: close`. A connection cut at once might be one whose caller has just begun to send.
 */
const LAST_REQUESTS_MS = 300
const SWEEP_MS = 25

declare module 'fastify' {
  interface FastifyInstance {
    /** What is answered from now on ends its connection. */
    isClosing?: boolean
  }
}

/** Registers the first half of closing; a server without connections closes at once. */
export function drainsGently(app: FastifyInstance): void {
  app.decorate('isClosing', false)
  app.addHook('preClose', (done) => {
    app.isClosing = true
    app.server.getConnections((_, connections) => {
      if (connections > 0) setTimeout(done, LAST_REQUESTS_MS)
      else done()
    })
  })
}

/** Answers what is under way, closes each connection that falls idle, and cuts what is left at the deadline. */
export async function closeWithin(app: FastifyInstance, deadlineMs: number): Promise<void> {
  const closed = app.close()
  const sweep = setInterval(() => isClosed(app) && app.server.closeIdleConnections(), SWEEP_MS)
  if (!(await settlesWithin(closed, deadlineMs))) app.server.closeAllConnections()
  await closed
  clearInterval(sweep)
}

/** It takes no new connections any more. */
function isClosed(app: FastifyInstance): boolean {
  return !app.server.listening
}
