import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DeliveryUpdated, Notification, OrderPaid } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { describeCause } from '../../attempt.ts'
import { DealerEsimError } from '../../error.ts'
import { sleep } from '../../retry.ts'
import { readEventBody } from '../../webhooks/receive.ts'
import { verifyEvent } from '../../webhooks/verify-event.ts'
import { durationMs, integer, percentage, webAddress } from '../arguments.ts'
import type { Context } from '../context.ts'
import { readSecret } from '../credentials.ts'
import { money, printable } from '../output.ts'
import { type Handle, restoreWebhook, startReceiver, untilInterrupted } from './receiver.ts'

interface Options {
  port: number
  host: string
  path: string
  fail: number
  delay: number
  forward?: string
  set?: boolean
}

/** `listen`: a receiver that shows and verifies what it gets, and can misbehave on purpose. */
export function listenCommand(program: Command, context: () => Context): void {
  program
    .command('listen')
    .description('receive events, verify and show them, until Ctrl-C')
    .option('--port <port>', 'where to listen; 0 takes a free port', integer(0, 65535), 4545)
    .option('--host <address>', 'which address to listen on', '127.0.0.1')
    .option('--path <path>', 'which path to answer', '/')
    .option(
      '--fail <percent>',
      'answer so many genuine events with 500, forwarded all the same, to see them repeated',
      percentage,
      0,
    )
    .option('--delay <time>', 'answer only after this time', durationMs, 0)
    .option('--forward <url>', 'hand genuine events on, unchanged, and answer what comes back', webAddress)
    .option('--set', 'set this receiver as the callback URL until the end (local gateways)')
    .addHelpText('after', LISTEN_HELP)
    .action(async (options: Options) => {
      const current = context()
      const { io } = current
      const { appSecret } = readSecret(io)
      const handle: Handle = (request, response) => handleEvent(current, appSecret, options, request, response)
      const receiver = await startReceiver(options, handle, io.err)
      try {
        io.err(`Listening on ${receiver.url}. Ctrl-C ends.\n`)
        const end = untilInterrupted(io)
        if (options.set) await whileSet(current, receiver.url, end)
        else await end
      } finally {
        await receiver.close()
      }
    })
}

/** Has events sent here until the end, and then where they went before. */
async function whileSet({ client, io }: Context, callbackUrl: string, end: Promise<void>): Promise<void> {
  const esim = client()
  const before = await esim.setWebhook()
  await esim.setWebhook({ callbackUrl, enabled: true })
  io.err('The gateway posts its events here now.\n')
  await end
  io.err(`${printable(await restoreWebhook(esim, before, callbackUrl))}\n`)
}

/** One line for each call; with --json one document a line, as there is no end to wait for. */
async function handleEvent(
  { io, json, paint }: Context,
  appSecret: string,
  options: Options,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const receivedAt = new Date()
  const body = await readEventBody(request)
  const outcome = body === undefined ? 'larger than any event' : await verified(appSecret, request, body)
  await sleep(options.delay, io.interrupted)
  const { status, note } =
    typeof outcome === 'string' || body === undefined
      ? { status: 401, note: '' }
      : await statusFor(options, request, body, io.interrupted)
  response.writeHead(status).end()
  if (json) {
    const seen = typeof outcome === 'string' ? { verified: false, reason: outcome } : { verified: true, event: outcome }
    io.out(
      `${JSON.stringify({ receivedTime: receivedAt.toISOString(), status, ...seen, ...(note === '' ? {} : { note }) })}\n`,
    )
    return
  }
  const told =
    typeof outcome === 'string'
      ? paint.red(`not verified: ${outcome}`)
      : `${paint.green('✓')} ${describeEvent(outcome)}`
  io.out(`${paint.dim(receivedAt.toISOString().slice(11, 19))}  ${status}  ${told}${note === '' ? '' : `  ${note}`}\n`)
}

async function verified(
  appSecret: string,
  { headers }: IncomingMessage,
  body: Uint8Array,
): Promise<Notification | string> {
  try {
    return await verifyEvent({ appSecret, headers, body })
  } catch (error) {
    if (error instanceof DealerEsimError) return printable(error.message)
    throw error
  }
}

async function statusFor(
  { fail, forward }: Options,
  request: IncomingMessage,
  body: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<{ status: number; note: string }> {
  const failing = Math.random() < fail
  if (forward === undefined) return failing ? { status: 500, note: '(failed on purpose)' } : { status: 204, note: '' }
  const handed = await forwardEvent(forward, request, body, signal)
  // Handed on all the same: when the event is sent again, the handler behind us gets it a second time.
  return failing ? { status: 500, note: `${handed.note}, then failed on purpose` } : handed
}

async function forwardEvent(
  forward: string,
  request: IncomingMessage,
  body: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
) {
  try {
    const handed = await fetch(forward, {
      method: 'POST',
      headers: forwardedHeaders(request),
      body,
      redirect: 'manual',
      signal,
    })
    await handed.body?.cancel()
    return { status: handed.status, note: `→ ${forward} answered ${handed.status}` }
  } catch (error) {
    return { status: 502, note: `→ ${forward}: ${printable(describeCause(error).words)}` }
  }
}

/** The headers that belong to the event, not to the connection that it came over. */
function forwardedHeaders({ headers }: IncomingMessage): Headers {
  const kept = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && /^(rt-|webhook-|x-signature$|content-type$)/.test(name)) kept.set(name, value)
  }
  return kept
}

/** An event in one line. A newer gateway may send other kinds and members: those by what every event has. */
export function describeEvent(event: Notification): string {
  if (event.notifyType === 'CHECK_HEALTH') return 'CHECK_HEALTH'
  return printable(`${event.notifyType}  ${contentOf(event) ?? event.notifyId}`)
}

function contentOf({ notifyType, content }: OrderPaid | DeliveryUpdated): string | undefined {
  const order = `${content.orderNo}  #${content.sequence}  ${content.orderStatus}`
  switch (notifyType) {
    case 'ORDER_PAID':
      return Number.isSafeInteger(content.amount)
        ? `${order}  ${money(content.amount, content.currencyCode)}`
        : undefined
    case 'DELIVERY_UPDATED':
      return Array.isArray(content.profiles) ? `${order}  ${content.profiles.length} eSIM` : undefined
    default:
      return undefined
  }
}

const LISTEN_HELP = `
Examples:
  $ dealer-esim listen --set
  $ dealer-esim listen --set --fail 30% --delay 5s --forward http://127.0.0.1:3000/esim-events
  $ dealer-esim listen --json`
