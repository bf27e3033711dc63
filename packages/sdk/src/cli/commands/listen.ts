import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CheckHealth, DeliveryUpdatedContent, Notification, OrderPaidContent } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { describeCause } from '#attempt.ts'
import { DealerEsimError } from '#error.ts'
import { sleep } from '#retry.ts'
import { readEventBody } from '#webhooks/receive.ts'
import { verifyEvent } from '#webhooks/verify-event.ts'
import { durationMs, integer, percentage, webAddress } from '../arguments.ts'
import type { Context } from '../context.ts'
import { readSecret } from '../credentials.ts'
import { money, printable, time, volume } from '../output.ts'
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

/** `listen`: a receiver that verifies and shows events, and can fail on purpose. */
export function listenCommand(program: Command, context: () => Context): void {
  program
    .command('listen')
    .description('receive, verify and show events until Ctrl-C')
    .option('--port <port>', 'port to listen on; 0 selects a free port', integer(0, 65535), 4545)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--path <path>', 'path that receives events', '/')
    .option(
      '--fail <percent>',
      'answer this share of genuine events, except test events, with 500, to see them sent again; all are still forwarded',
      percentage,
      0,
    )
    .option('--delay <time>', 'wait this long before answering an event, except a test event', durationMs, 0)
    .option(
      '--forward <url>',
      'forward genuine events unchanged, and answer with the status that this URL returns',
      webAddress,
    )
    .option('--set', 'use this receiver as the callback URL until it ends (local gateways)')
    .addHelpText('after', LISTEN_HELP)
    .action(async (options: Options) => {
      const current = context()
      const { io } = current
      const { appSecret } = readSecret(io)
      const handle: Handle = (request, response) => handleEvent(current, appSecret, options, request, response)
      const receiver = await startReceiver(options, handle, io.err)
      try {
        io.err(`Listening on ${receiver.url}. Press Ctrl-C to stop.\n`)
        const end = untilInterrupted(io)
        if (options.set) await whileSet(current, receiver.url, end)
        else await end
      } finally {
        await receiver.close()
      }
    })
}

/** Has events sent to this receiver until the end, then restores the webhook setting. */
async function whileSet({ client, io }: Context, callbackUrl: string, end: Promise<void>): Promise<void> {
  const esim = client()
  const before = await esim.setWebhook()
  await esim.setWebhook({ callbackUrl, enabled: true })
  io.err('The gateway now sends its events here.\n')
  await end
  io.err(`${printable(await restoreWebhook(esim, before, callbackUrl))}\n`)
}

/** Prints one line per call; with --json one document per line. */
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
  const faults = isTestEvent(outcome) ? NO_FAULTS : options
  await sleep(faults.delay, io.interrupted)
  const { status, note } =
    typeof outcome === 'string' || body === undefined
      ? { status: 401, note: '' }
      : await statusFor({ ...options, ...faults }, request, body, io.interrupted)
  response.writeHead(status).end()
  if (json) {
    const seen = typeof outcome === 'string' ? { verified: false, reason: outcome } : { verified: true, event: outcome }
    io.out(
      `${JSON.stringify({ receivedTime: receivedAt.toISOString(), status, ...seen, ...(note === '' ? {} : { note }) })}\n`,
    )
    return
  }
  const summary =
    typeof outcome === 'string'
      ? paint.red(`not verified: ${outcome}`)
      : `${paint.green('✓')} ${describeEvent(outcome)}`
  io.out(
    `${paint.dim(receivedAt.toISOString().slice(11, 19))}  ${status}  ${summary}${note === '' ? '' : `  ${note}`}\n`,
  )
}

/** True for a test event: the gateway accepts a callback URL only if it answers this event with 2xx within five seconds. */
function isTestEvent(outcome: Notification | string): boolean {
  return typeof outcome !== 'string' && outcome.notifyType === 'CHECK_HEALTH'
}

const NO_FAULTS = { fail: 0, delay: 0 }

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
  const forwarded = await forwardEvent(forward, request, body, signal)
  // Forwarded even then: the handler receives the event again when it is resent.
  return failing ? { status: 500, note: `${forwarded.note}, then failed on purpose` } : forwarded
}

async function forwardEvent(
  forward: string,
  request: IncomingMessage,
  body: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
) {
  try {
    const response = await fetch(forward, {
      method: 'POST',
      headers: forwardedHeaders(request),
      body,
      redirect: 'manual',
      signal,
    })
    await response.body?.cancel()
    return { status: response.status, note: `→ ${forward} answered ${response.status}` }
  } catch (error) {
    return { status: 502, note: `→ ${forward}: ${printable(describeCause(error).message)}` }
  }
}

/** The event's own headers, without those of the connection. */
function forwardedHeaders({ headers }: IncomingMessage): Headers {
  const kept = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && /^(rt-|webhook-|x-signature$|content-type$)/.test(name)) kept.set(name, value)
  }
  return kept
}

/** An event on one line. Event types of a newer gateway are shown with the members that every event has. */
export function describeEvent(event: Notification): string {
  if (event.notifyType === 'CHECK_HEALTH') return 'CHECK_HEALTH'
  return printable(`${event.notifyType}  ${contentOf(event) ?? event.notifyId}`)
}

/** undefined: the event lacks members that its type has. */
function contentOf(event: Exclude<Notification, CheckHealth>): string | undefined {
  switch (event.notifyType) {
    case 'ORDER_PAID': {
      const { content } = event
      return Number.isSafeInteger(content.amount)
        ? `${orderOf(content)}  ${money(content.amount, content.currencyCode)}`
        : undefined
    }
    case 'DELIVERY_UPDATED': {
      const { content } = event
      if (!Array.isArray(content.profiles)) return undefined
      const count = content.profiles.length
      return `${orderOf(content)}  ${count} ${count === 1 ? 'eSIM' : 'eSIMs'}`
    }
    case 'ESIM_USAGE': {
      const { esimTranNo, threshold, remaining } = event.content
      return Number.isSafeInteger(remaining) ? `${esimTranNo}  ${threshold} %  ${volume(remaining)} left` : undefined
    }
    case 'ESIM_EXPIRING': {
      const { esimTranNo, expiredTime } = event.content
      return typeof expiredTime === 'string' ? `${esimTranNo}  expires ${time(expiredTime)}` : undefined
    }
    case 'ESIM_ACTION_UPDATED': {
      const { action, esimTranNo, actionStatus } = event.content
      return action && `${action}  ${esimTranNo}  ${actionStatus}`
    }
    case 'BALANCE_LOW': {
      const { balance, percent, currencyCode } = event.content
      return Number.isSafeInteger(balance) ? `${money(balance, currencyCode)}, below ${percent} %` : undefined
    }
    default:
      event satisfies never // a newer gateway may send other types
      return undefined
  }
}

function orderOf(content: OrderPaidContent | DeliveryUpdatedContent): string {
  return `${content.orderNo}  #${content.sequence}  ${content.orderStatus}`
}

const LISTEN_HELP = `
Examples:
  $ dealer-esim listen --set
  $ dealer-esim listen --set --fail 30% --delay 5s --forward http://127.0.0.1:3000/esim-events
  $ dealer-esim listen --json`
