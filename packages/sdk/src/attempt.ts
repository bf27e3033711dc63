import { REQUEST_HEADERS, signRequest } from '@dealer-esim/contract'
import { DealerEsimError } from './error.ts'
import { notifyListener } from './options.ts'
import { readBody } from './read-body.ts'

/** The request and response of one attempt, for logs and `dealer-esim tour`. It contains bodies, but not the secret. */
export interface Exchange {
  operation: string
  /** 1 for the first attempt. */
  attempt: number
  url: string
  headers: Record<string, string>
  body: string
  stringToSign: string
  durationMs: number
  /** Undefined if there was no answer. */
  answer: { status: number; headers: Headers; body: string } | undefined
}

export interface Answer {
  status: number
  headers: Headers
  /** By the clock that the request was signed with. */
  receivedMs: number
  /** Undefined if the body is not an envelope. */
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

/** Far more than a list of 500 rows; the limit keeps a broken proxy from filling the caller's memory. */
const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024

/**
 * Signs and sends one request, with its own RequestID and timestamp, and reads the whole answer within `timeoutMs`. Throws
 * a DealerEsimError if there is no answer (a refusal counts as one), and any other error before the request is sent.
 */
export async function attempt(
  transport: Transport,
  request: AttemptInput,
): Promise<{ requestId: string; answer: Answer }> {
  const nowMs = transport.now()
  const parts = { timestamp: String(nowMs), requestId: transport.newRequestId(), appKey: transport.appKey }
  const headers = {
    'Content-Type': 'application/json',
    [REQUEST_HEADERS.appKey]: parts.appKey,
    [REQUEST_HEADERS.requestId]: parts.requestId,
    [REQUEST_HEADERS.timestamp]: parts.timestamp,
    [REQUEST_HEADERS.signature]: await signRequest(transport.appSecret, parts, request.body),
  }
  const started = performance.now()
  let answer: Answer | undefined
  let text = ''
  try {
    const received = await sendWithin(transport, request, headers, parts.requestId)
    text = received.text
    // Computed instead of read, so that a failing clock cannot lose the answer.
    const receivedMs = nowMs + performance.now() - started
    answer = { status: received.status, headers: received.headers, receivedMs, envelope: parseEnvelope(text) }
    return { requestId: parts.requestId, answer }
  } finally {
    void notifyListener(transport.observe, {
      operation: request.operation,
      attempt: request.attempt,
      url: request.url,
      headers,
      body: request.body,
      stringToSign: parts.timestamp + parts.requestId + parts.appKey + request.body,
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
  transport: Transport,
  request: AttemptInput,
  headers: Record<string, string>,
  requestId: string,
): Promise<Received> {
  const { signal } = request
  const controller = new AbortController()
  const abort = () => controller.abort()
  if (signal?.aborted) {
    throw new DealerEsimError({
      code: 'ABORTED',
      message: 'The caller aborted the call.',
      requestId,
      cause: signal.reason,
    })
  }
  signal?.addEventListener('abort', abort)
  let late = false
  const timer = setTimeout(() => {
    late = true
    controller.abort()
  }, request.timeoutMs)
  try {
    // Following a redirect would turn the POST into a GET, or send the signature to another server.
    const init = { method: 'POST', headers, body: request.body, redirect: 'manual', signal: controller.signal } as const
    const response = await transport.fetch(request.url, init)
    const bytes = await readBody(response.body, ANSWER_SIZE_MAX_BYTES)
    if (bytes === undefined) throw new RangeError(`the answer is larger than ${ANSWER_SIZE_MAX_BYTES} bytes`)
    return { status: response.status, headers: response.headers, text: new TextDecoder().decode(bytes) }
  } catch (cause) {
    throw fault(cause, { late, aborted: signal?.aborted === true, request, requestId })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function fault(
  cause: unknown,
  { late, aborted, request, requestId }: { late: boolean; aborted: boolean; request: AttemptInput; requestId: string },
): DealerEsimError {
  const { origin } = new URL(request.url)
  const shared = { requestId, cause, outcomeUnknown: true }
  if (aborted) {
    return new DealerEsimError({ ...shared, code: 'ABORTED', message: 'The caller aborted the call.' })
  }
  if (late) {
    const message = `No answer from ${origin} within ${request.timeoutMs} ms.`
    return new DealerEsimError({ ...shared, code: 'TIMED_OUT', message })
  }
  if (cause instanceof RangeError) {
    return new DealerEsimError({ ...shared, code: 'ANSWER_UNREADABLE', message: `From ${origin}: ${cause.message}.` })
  }
  const reason = describeCause(cause)
  return new DealerEsimError({
    ...shared,
    code: 'NETWORK_FAULT',
    message: `Cannot reach ${origin}: ${reason.message}. Check the base URL and that the gateway is running.`,
    outcomeUnknown: !isConnectFailure(reason),
  })
}

/** True if the connection was never opened, so that nothing of the request was sent. */
function isConnectFailure({ code, syscall }: SystemError): boolean {
  return CONNECT_FAILURES.has(code) || (ROUTE_FAILURES.has(code) && syscall === 'connect')
}

const CONNECT_FAILURES = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'])
/** An open connection can also lose its route. Some runtimes do not name the system call, so they cannot rule that out. */
const ROUTE_FAILURES = new Set(['EHOSTUNREACH', 'ENETUNREACH'])

interface SystemError {
  /** Empty if none of the errors has a code. */
  code: string
  /** The system call that failed. Empty if the runtime does not name it. */
  syscall: string
  message: string
}

/** Finds the system error, which `fetch` puts into `cause`; after several addresses it is the first of an AggregateError. */
export function describeCause(error: unknown): SystemError {
  const chain: Error[] = []
  for (let each = error; each instanceof Error && chain.length < 5; ) {
    chain.push(each)
    each = each instanceof AggregateError ? each.errors[0] : each.cause
  }
  const find = (member: 'code' | 'syscall'): string => {
    const values = chain.map((each) => (each as { code?: unknown; syscall?: unknown })[member])
    return values.find((value) => typeof value === 'string') ?? ''
  }
  const code = find('code')
  return { code, syscall: find('syscall'), message: chain.at(-1)?.message || code || 'the connection failed' }
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
