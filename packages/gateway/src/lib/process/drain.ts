import type { FastifyInstance } from 'fastify'
import { within } from './lifecycle.ts'

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
  if (!(await within(closed, deadlineMs))) app.server.closeAllConnections()
  await closed
  clearInterval(sweep)
}

/** It takes no new connections any more. */
function isClosed(app: FastifyInstance): boolean {
  return !app.server.listening
}
