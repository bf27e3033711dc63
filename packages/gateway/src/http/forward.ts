import type { ServerResponse } from 'node:http'
import { codes } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { rateLimitedLog } from '@dealer-esim/lib/telemetry/log.ts'
import type { Deps } from '#deps.ts'
import { type Answer, FORWARDED, untilCallerLeaves } from './answer.ts'

/** A request from a dealer that another cell serves. */
interface MovedRequest {
  response: ServerResponse
  body: Buffer
  /** The caller's address in canonical form. */
  address: string
  /** Nodes of that cell. */
  nodes: readonly { host: string; port: number }[]
}

export type Forward = (moved: MovedRequest) => Promise<Answer>

/** Longer than any operation takes. */
const TIMEOUT_MS = 60_000
/** Larger than any list of packages. */
const ANSWER_SIZE_MAX_BYTES = 32 * 2 ** 20

/**
 * Sends a request to a node of another cell, which checks it as if it had come from the caller, and returns its answer. If
 * a node certainly did not receive the request, the next node is tried. `Via` lists the cells that a request has passed, so
 * that it is sent to none of them again. A request with the AppSecret itself (RT-SecretKey) is sent to private addresses
 * only, because nodes speak HTTP.
 * @throws ApiError 000002 if no node received the request; 000001 if a node may have carried it out
 */
export function createForward({
  config,
  outbound,
  log,
}: Pick<Deps, 'config' | 'outbound'> & { log: Pick<Deps['log'], 'warn'> }): Forward {
  const { cellName, deployment } = config
  const self = `1.1 cell-${cellName}`
  let fault = ''
  const count = rateLimitedLog((requests) =>
    log.warn({ requests, fault }, 'requests of moved dealers could not be forwarded to their cell'),
  )
  function fail(code: '000001' | '000002', reason: string): never {
    fault = reason
    count()
    throw new ApiError(code)
  }

  return (moved) => untilCallerLeaves(moved.response, (signal) => send(moved, signal))

  async function send({ response, body, address, nodes }: MovedRequest, signal: AbortSignal): Promise<Answer> {
    const request = response.req
    const passed = listOf(request.headers.via)
    if (passed.includes(self)) throw new ApiError('000002') // neither cell currently serves the dealer
    const headers = {
      ...keptHeaders(request.headers),
      via: [...passed, self].join(', '),
      'x-forwarded-for': address,
      'x-forwarded-proto': deployment === 'local' ? 'http' : 'https',
    }
    let reason = 'no node of that cell is known'
    for (const { host, port } of nodes) {
      if (signal.aborted) break
      const outcome = await outbound.request({
        url: `http://${host.includes(':') ? `[${host}]` : host}:${port}${request.url}`,
        method: 'POST',
        ...{ headers, body, timeoutMs: TIMEOUT_MS, answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES, allowPrivate: true },
        onlyPrivate: request.headers['rt-secretkey'] !== undefined,
        signal,
      })
      if (signal.aborted) break
      if (outcome.kind === 'answer') {
        const misunderstanding = findMisunderstanding(outcome)
        return misunderstanding ? fail('000002', misunderstanding) : toAnswer(outcome)
      }
      reason = outcome.message
      if (outcome.sent) fail('000001', reason)
    }
    // Nobody reads this answer. A failure would count towards the Prometheus alert RequestsFail.
    if (signal.aborted) return { code: FORWARDED, http: 503, headers: {}, body: '' }
    return fail('000002', reason)
  }
}

type OutboundAnswer = Extract<OutboundOutcome, { kind: 'answer' }>

function findMisunderstanding({ body, truncated }: OutboundAnswer): string | undefined {
  if (truncated) return 'its answer is too long'
  // That node mistakes this one for a caller without HTTPS. The RT API has no separate code for that.
  const isInsecure = body.subarray(0, MESSAGE_WITHIN_BYTES).includes(codes['101008'].message)
  return isInsecure ? 'it does not trust this node: add its address to TRUSTED_PROXIES of that cell' : undefined
}

/** The message is within this many bytes of an answer, in both APIs. */
const MESSAGE_WITHIN_BYTES = 150

function toAnswer({ status, headers, body }: OutboundAnswer): Answer {
  return { code: FORWARDED, http: status, headers: keptHeaders(headers), body: body.toString() }
}

/** Headers for one connection only (RFC 9110 §7.6.1), and headers that each message sets itself. Answers are read as text. */
const DROPPED: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
  ...['host', 'content-length', 'date', 'via', 'forwarded', 'accept-encoding'],
])

function keptHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || DROPPED.has(name) || name.startsWith('proxy-')
        ? []
        : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
}

function listOf(header: string | undefined): string[] {
  return header === undefined ? [] : header.split(',').map((entry) => entry.trim())
}
