import type { AddressInfo, Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { StartRefused, settlesWithin } from './start-stop.ts'

export interface Listener {
  server: Pick<Server, 'address'>
  listen(options: { host: string; port: number }): Promise<unknown>
}

/**
 * Makes a Fastify server listen. @returns the port; if 0 was requested, the free port that was chosen
 * @throws StartRefused that names the variable to change
 */
export async function listen(
  listener: Listener,
  at: { host: string; port: number; variable: 'PORT' | 'METRICS_PORT' | 'CONSOLE_PORT' },
): Promise<number> {
  try {
    await listener.listen({ host: at.host, port: at.port })
  } catch (error) {
    throw new StartRefused(explainFailure(error as NodeJS.ErrnoException, at), { cause: error })
  }
  return (listener.server.address() as AddressInfo).port
}

function explainFailure(error: NodeJS.ErrnoException, at: { host: string; port: number; variable: string }): string {
  const remedy = `Set ${at.variable} to another port.`
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${at.port} on ${at.host} is in use by another program. ${remedy}`
    case 'EACCES':
      return `This user may not listen on port ${at.port} of ${at.host}. ${remedy}`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${at.host} is not an address of this machine. Set HOST to one of its addresses.`
    default:
      return `The gateway cannot listen on port ${at.port} of ${at.host}: ${error.message}`
  }
}

/**
 * How long a closing server still accepts requests and connections, answering with `Connection: close`. If connections were
 * cut immediately, a caller might have just begun to send on one of them.
 */
const LAST_REQUESTS_MS = 300
const SWEEP_MS = 25

declare module 'fastify' {
  interface FastifyInstance {
    /** Responses from now on close their connections. */
    isClosing?: boolean
  }
}

/** The longest wait for a moment in which no connections arrive. */
const LAST_CONNECTIONS_MS = 1_000
/** An event-loop turn shorter than this had almost nothing to do. */
const SHORT_TURN_MS = 0.1

/** Makes a server that is closing accept a few last requests first. A server without connections closes immediately. */
export function registerDrain(app: FastifyInstance): void {
  app.decorate('isClosing', false)
  app.addHook('preClose', (done) => {
    app.isClosing = true
    const stop = () => void stopListening(app).then(() => done())
    app.server.getConnections((_, connections) => {
      if (connections > 0) setTimeout(stop, LAST_REQUESTS_MS)
      else stop()
    })
  })
}

/**
 * Closes the listener right after a short turn of the event loop in which nobody connected. Connections that the kernel has
 * established but the process has not accepted are reset, and a proxy does not repeat a POST that it sent on one. During a
 * longer turn, the kernel may have established some since the loop looked for them.
 */
async function stopListening({ server }: FastifyInstance): Promise<void> {
  const until = performance.now() + LAST_CONNECTIONS_MS
  let accepted = 0
  const count = () => accepted++
  server.on('connection', count)
  for (let isQuiet = false; !isQuiet && performance.now() < until; ) {
    const before = { accepted, at: performance.now() }
    await new Promise(setImmediate)
    isQuiet = accepted === before.accepted && performance.now() - before.at < SHORT_TURN_MS
  }
  server.off('connection', count)
  server.close()
}

/** Finishes requests in progress, closes connections as they become idle, and cuts off the rest at the deadline. */
export async function closeWithin(app: FastifyInstance, deadlineMs: number): Promise<void> {
  const closed = app.close()
  const sweep = setInterval(() => isClosed(app) && app.server.closeIdleConnections(), SWEEP_MS)
  if (!(await settlesWithin(closed, deadlineMs))) app.server.closeAllConnections()
  await closed
  clearInterval(sweep)
}

/** True if the server has stopped accepting connections. */
function isClosed(app: FastifyInstance): boolean {
  return !app.server.listening
}
