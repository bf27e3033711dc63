import { REQUEST_HEADERS, signRequest } from '@dealer-esim/contract'
import { DealerEsimError } from './error.ts'
import { notifyListener } from './options.ts'
import { readBody } from './read-body.ts'

/** What one attempt sent and got, for logs and for `dealer-esim tour`. It holds no secret, but it does hold bodies. */
export interface Exchange {
  operation: string
  /** 1 for the first. */
  attempt: number
  url: string
  headers: Record<string, string>
  body: string
  stringToSign: string
  durationMs: number
  /** Undefined when there was none. */
  answer: { status: number; headers: Headers; body: string } | undefined
}

export interface Answer {
  status: number
  headers: Headers
  /** By the clock that the request was signed by. */
  receivedMs: number
  /** Undefined when the body is not an envelope. */
  envelope: { code: string; message: string; data: Record<string, unknown> } | undefined
}

export interface Transport {
  fetch: (url: string, init: RequestInit) => Promise<Response>
  appKey: string
  appSecret: string
  now: () => number
  newRequestId: () => string
  observe: ((exchange: Exchange) => void) | undefined
}

export interface AttemptInput {
  operation: string
  attempt: number
  url: string
  body: string
  timeoutMs: number
  signal: AbortSignal | undefined
}

/** No list of 500 rows comes near it; a broken proxy must not fill the caller's memory. */
const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024

/**
 * Signs and sends one request, with its own RequestID and timestamp, and reads the whole answer within `timeoutMs`.
 * Throws a DealerEsimError where there is no answer; a refusal is an answer. Another error comes before it is sent.
 */
export async function attempt(wire: Transport, wanted: AttemptInput): Promise<{ requestId: string; answer: Answer }> {
  const nowMs = wire.now()
  const parts = { timestamp: String(nowMs), requestId: wire.newRequestId(), appKey: wire.appKey }
  const headers = {
    'Content-Type': 'application/json',
    [REQUEST_HEADERS.appKey]: parts.appKey,
    [REQUEST_HEADERS.requestId]: parts.requestId,
    [REQUEST_HEADERS.timestamp]: parts.timestamp,
    [REQUEST_HEADERS.signature]: await signRequest(wire.appSecret, parts, wanted.body),
  }
  const started = performance.now()
  let answer: Answer | undefined
  let text = ''
  try {
    const received = await sendWithin(wire, wanted, headers, parts.requestId)
    text = received.text
    // Reckoned: a clock that fails now must not take the answer away.
    const receivedMs = nowMs + performance.now() - started
    answer = { status: received.status, headers: received.headers, receivedMs, envelope: parseEnvelope(text) }
    return { requestId: parts.requestId, answer }
  } finally {
    void notifyListener(wire.observe, {
      operation: wanted.operation,
      attempt: wanted.attempt,
      url: wanted.url,
      headers,
      body: wanted.body,
      stringToSign: parts.timestamp + parts.requestId + parts.appKey + wanted.body,
      durationMs: performance.now() - started,
      answer: answer && { status: answer.status, headers: answer.headers, body: text },
    })
  }
}

interface Received {
  status: number
  headers: Headers
  text: string
}

async function sendWithin(
  wire: Transport,
  wanted: AttemptInput,
  headers: Record<string, string>,
  requestId: string,
): Promise<Received> {
  const { signal } = wanted
  const controller = new AbortController()
  const abort = () => controller.abort()
  if (signal?.aborted) {
    throw new DealerEsimError({
      code: 'ABORTED',
      message: 'The caller ended the call.',
      requestId,
      cause: signal.reason,
    })
  }
  signal?.addEventListener('abort', abort)
  let late = false
  const timer = setTimeout(() => {
    late = true
    controller.abort()
  }, wanted.timeoutMs)
  try {
    // A redirect would turn the POST into a GET, or carry the signature elsewhere.
    const init = { method: 'POST', headers, body: wanted.body, redirect: 'manual', signal: controller.signal } as const
    const response = await wire.fetch(wanted.url, init)
    const bytes = await readBody(response.body, ANSWER_SIZE_MAX_BYTES)
    if (bytes === undefined) throw new RangeError(`the answer is larger than ${ANSWER_SIZE_MAX_BYTES} bytes`)
    return { status: response.status, headers: response.headers, text: new TextDecoder().decode(bytes) }
  } catch (cause) {
    throw fault(cause, { late, aborted: signal?.aborted === true, wanted, requestId })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function fault(
  cause: unknown,
  { late, aborted, wanted, requestId }: { late: boolean; aborted: boolean; wanted: AttemptInput; requestId: string },
): DealerEsimError {
  const { origin } = new URL(wanted.url)
  const shared = { requestId, cause, outcomeUnknown: true }
  if (aborted) {
    return new DealerEsimError({ ...shared, code: 'ABORTED', message: 'The caller ended the call.' })
  }
  if (late) {
    const message = `No answer from ${origin} within ${wanted.timeoutMs} ms.`
    return new DealerEsimError({ ...shared, code: 'TIMED_OUT', message })
  }
  if (cause instanceof RangeError) {
    return new DealerEsimError({ ...shared, code: 'ANSWER_UNREADABLE', message: `From ${origin}: ${cause.message}.` })
  }
  const reason = describeCause(cause)
  return new DealerEsimError({
    ...shared,
    code: 'NETWORK_FAULT',
    message: `Cannot reach ${origin}: ${reason.words}. Check the base URL and that the gateway runs.`,
    outcomeUnknown: !NEVER_SENT.has(reason.code),
  })
}

/** System errors that happen before a byte of the request has left. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** `fetch` hides the system's error in `cause`; several addresses tried give an AggregateError. */
export function describeCause(error: unknown): { code: string; words: string } {
  const chain: Error[] = []
  for (let each = error; each instanceof Error && chain.length < 5; each = each.cause) chain.push(each)
  const deepest = chain.at(-1)
  const code = chain.map((each) => (each as { code?: unknown }).code).find((each) => typeof each === 'string')
  const words = deepest?.message || (typeof code === 'string' ? code : 'the connection failed')
  return { code: typeof code === 'string' ? code : '', words }
}

function parseEnvelope(text: string): Answer['envelope'] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { code, message, data } = value as Record<string, unknown>
  if (typeof code !== 'string' || typeof message !== 'string' || typeof data !== 'object' || data === null) {
    return undefined
  }
  return { code, message, data: data as Record<string, unknown> }
}
