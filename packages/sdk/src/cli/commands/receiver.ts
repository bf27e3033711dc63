import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WebhookSetAnswer } from '@dealer-esim/contract'
import { describeCause } from '#attempt.ts'
import type { DealerEsim } from '#client.ts'
import { DealerEsimError } from '#error.ts'
import { CommandFailed, EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { printable } from '../output.ts'

export interface Receiver {
  /** The receiver's address. */
  url: string
  close(): Promise<void>
}

export type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * A local HTTP server for events. Port 0 selects a free port.
 * @param report receives the errors of `handle`
 */
export async function startReceiver(
  where: { host: string; port: number; path: string },
  handle: Handle,
  report: (text: string) => void,
): Promise<Receiver> {
  const server = createServer((request, response) => {
    if (pathOf(request.url) !== where.path) {
      response.writeHead(404).end(`Send events to ${where.path}.`)
      return
    }
    handle(request, response).catch((error: Error) => {
      report(failureMessage(error))
      response.destroy(error)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new CommandFailed(cannotListen(error, where), EXIT.USAGE)),
    )
    server.listen(where.port, where.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  const host = where.host.includes(':') ? `[${where.host}]` : where.host
  return {
    url: `http://${host}:${port}${where.path}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function failureMessage(error: unknown): string {
  return `A request could not be handled: ${printable(describeCause(error).message)}\n`
}

/** Returns undefined for a request target that is not a valid address, such as `//`, instead of throwing. */
function pathOf(target = '/'): string | undefined {
  const base = 'http://receiver'
  return URL.canParse(target, base) ? new URL(target, base).pathname : undefined
}

function cannotListen(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): string {
  if (error.code === 'EADDRINUSE') return `Port ${port} of ${host} is in use: choose another with --port.`
  return `Cannot listen on ${host}:${port}: ${error.message}.`
}

/** Resolves on Ctrl-C. */
export function untilInterrupted(io: Io): Promise<void> {
  if (io.interrupted.aborted) return Promise.resolve()
  return new Promise((resolve) => io.interrupted.addEventListener('abort', () => resolve(), { once: true }))
}

/**
 * Restores the webhook setting from before a local receiver was set, and returns a message with the result. The gateway
 * accepts the old URL only if it answers a test event.
 * @param ours the URL of the receiver that is about to close
 */
export async function restoreWebhook(esim: DealerEsim, before: WebhookSetAnswer, ours: string): Promise<string> {
  const { eventTypes, enabled } = before
  const callbackUrl = before.callbackUrl === ours ? null : before.callbackUrl
  try {
    await esim.setWebhook({ callbackUrl, eventTypes, ...(callbackUrl === null ? {} : { enabled }) })
    return callbackUrl === before.callbackUrl
      ? `The webhook setting is restored: ${callbackUrl ?? 'no callback URL'}.`
      : 'The callback URL was already that of this receiver; it is removed, and events are only recorded.'
  } catch (error) {
    if (!(error instanceof DealerEsimError)) throw error
    const remedy = callbackUrl === null ? 'dealer-esim webhook remove' : `dealer-esim webhook set ${callbackUrl}`
    const state = `Events are still sent to ${ours}, which is closed now. Run: ${remedy}`
    return `The webhook setting could not be restored: ${error.message} ${state}`
  }
}
