import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WebhookSetAnswer } from '@dealer-esim/contract'
import { describeCause } from '../../attempt.ts'
import type { DealerEsim } from '../../client.ts'
import { DealerEsimError } from '../../error.ts'
import { CommandFailed, EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { printable } from '../output.ts'

export interface Receiver {
  /** Where it listens. */
  url: string
  close(): Promise<void>
}

export type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * A local HTTP server for events. Port 0 takes a free one.
 * @param tell hears what goes wrong in `handle`
 */
export async function startReceiver(
  where: { host: string; port: number; path: string },
  handle: Handle,
  tell: (text: string) => void,
): Promise<Receiver> {
  const server = createServer((request, response) => {
    if (pathOf(request.url) !== where.path) {
      response.writeHead(404).end(`Events go to ${where.path}.`)
      return
    }
    handle(request, response).catch((error: Error) => {
      tell(failureMessage(error))
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
  return `A request could not be handled: ${printable(describeCause(error).words)}\n`
}

/** undefined for a target that cannot be read as an address, such as `//`: whatever anybody asks for, we go on. */
function pathOf(target = '/'): string | undefined {
  const base = 'http://receiver'
  return URL.canParse(target, base) ? new URL(target, base).pathname : undefined
}

function cannotListen(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): string {
  if (error.code === 'EADDRINUSE') return `Port ${port} of ${host} is taken: choose another with --port.`
  return `Cannot listen on ${host}:${port}: ${error.message}.`
}

/** Resolves when the user has had enough. */
export function untilInterrupted(io: Io): Promise<void> {
  if (io.interrupted.aborted) return Promise.resolve()
  return new Promise((resolve) => io.interrupted.addEventListener('abort', () => resolve(), { once: true }))
}

/**
 * Has events sent where they went before a receiver of ours took them, and tells how that went. The URL must answer a
 * test event to be taken again.
 * @param ours the receiver that is about to end
 */
export async function restoreWebhook(esim: DealerEsim, before: WebhookSetAnswer, ours: string): Promise<string> {
  const { eventTypes, enabled } = before
  const callbackUrl = before.callbackUrl === ours ? null : before.callbackUrl
  try {
    await esim.setWebhook({ callbackUrl, eventTypes, ...(callbackUrl === null ? {} : { enabled }) })
    return callbackUrl === before.callbackUrl
      ? `The webhook setting is as before: ${callbackUrl ?? 'no callback URL'}.`
      : 'The callback URL was that of this receiver already: it is removed, and events are recorded only.'
  } catch (error) {
    if (!(error instanceof DealerEsimError)) throw error
    const cure = callbackUrl === null ? 'dealer-esim webhook remove' : `dealer-esim webhook set ${callbackUrl}`
    return `The webhook setting could not be put back (${error.message}) Events still go to ${ours}, where nobody listens any more: ${cure}`
  }
}
