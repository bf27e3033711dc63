import type { Dispatcher, Pool } from 'undici'
import { DialError, isCertificateRefusal } from './pools.ts'

export interface Exchange {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers: Record<string, string>
  body: string | Buffer | undefined
  /** The time that is left for this attempt. */
  timeoutMs: number
  /** The whole time limit, for the message. */
  allowedMs: number
  answerSizeMaxBytes: number
  address: string
}

/** Sends one request on a pool; failures are data. The time limit covers waiting for a connection, headers and body. */
export function exchange(pool: Pool, request: Exchange): Promise<OutboundOutcome> {
  return new Promise((resolve) => {
    const { method, path, headers, body = null } = request
    pool.dispatch({ method, path, headers, body }, new Listener(request, resolve))
  })
}

/** Collects the response until the first end, failure or timeout. A class, because eight closures per request cost more. */
class Listener implements Dispatcher.DispatchHandler {
  readonly #request: Exchange
  readonly #resolve: (outcome: OutboundOutcome) => void
  readonly #timer: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | undefined
  #status: number | undefined
  #headers: OutboundAnswer['headers'] = {}
  #chunks: Buffer[] = []
  #length = 0
  #over = false

  constructor(request: Exchange, resolve: (outcome: OutboundOutcome) => void) {
    this.#request = request
    this.#resolve = resolve
    this.#timer = setTimeout(outOfTime, request.timeoutMs, this)
  }

  /** From here on the receiver may get the request: undici calls this right before it writes. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over) controller.abort(new Error('out of time'))
    else this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: OutboundAnswer['headers']): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const limit = this.#request.answerSizeMaxBytes
    this.#chunks.push(chunk.subarray(0, limit - this.#length))
    this.#length += chunk.length
    if (this.#length <= limit) return
    this.#answer(true)
    controller.abort(new Error('the response is longer than the limit'))
  }

  onResponseEnd(): void {
    this.#answer(false)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const { address } = this.#request
    if (isCertificateRefusal(error)) this.#refuseCertificate(error)
    else if (error instanceof DialError) this.#fail(error.phase, describeDialError(error, address))
    else this.#fail('sent', describeBrokenConnection(error, this.#status))
  }

  outOfTime(): void {
    this.#fail('time-out', this.#describeTimeout())
    this.#controller?.abort(new Error('out of time'))
  }

  #describeTimeout(): string {
    const limit = `within ${this.#request.allowedMs / 1000} s`
    if (this.#controller === undefined) return `no connection to ${this.#request.address} ${limit}`
    return this.#status === undefined
      ? `no answer ${limit}`
      : `status ${this.#status}, but its body did not end ${limit}`
  }

  #answer(truncated: boolean): void {
    const body = this.#chunks.length === 0 ? EMPTY : Buffer.concat(this.#chunks)
    const { address } = this.#request
    this.#finish({ kind: 'answer', status: this.#status!, headers: this.#headers, body, truncated, address })
  }

  #fail(phase: OutboundFailure['phase'], message: string): void {
    const { address } = this.#request
    this.#finish({ kind: 'failed', phase, sent: this.#controller !== undefined, message, address })
  }

  #refuseCertificate(error: Error): void {
    const { address } = this.#request
    const { reason } = (error instanceof DialError ? error.cause : error) as { reason?: string }
    const message = `TLS with ${address} failed: it does not accept our certificate: ${reason ?? error.message}`
    this.#finish({ kind: 'failed', phase: 'tls', sent: false, message, address, certificateRefused: true })
  }

  /**
   * Resolves one turn of the event loop later, when undici can reuse the connection for the next request. Resolving at once
   * made it open another connection: with twice the connections, an event cost its sender a fifth more.
   */
  #finish(outcome: OutboundOutcome): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#timer)
    queueMicrotask(() => setImmediate(this.#resolve, outcome))
  }
}

function outOfTime(listener: Listener): void {
  listener.outOfTime()
}

const EMPTY = Buffer.alloc(0)

function describeDialError(error: DialError, address: string): string {
  const reason = error.cause instanceof Error ? error.cause.message : error.message
  return error.phase === 'connect' ? `no connection to ${address}: ${reason}` : `TLS with ${address} failed: ${reason}`
}

function describeBrokenConnection(error: Error, status: number | undefined): string {
  if (error.name === 'HTTPParserError') return `the answer is not HTTP: ${error.message}`
  if ((error as { code?: string }).code === 'UND_ERR_HEADERS_OVERFLOW') return "the answer's headers are too long"
  const when = status === undefined ? 'before an answer' : `in the body of the answer (status ${status})`
  return `the connection broke ${when}: ${error.message}`
}

export interface OutboundAnswer {
  kind: 'answer'
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  truncated: boolean
  /** The address that we connected to. */
  address: string
}

export interface OutboundFailure {
  kind: 'failed'
  /** How far the request got. 'sent': after it was written, the connection broke or the answer was not HTTP. */
  phase: 'url' | 'forbidden' | 'dns' | 'connect' | 'tls' | 'sent' | 'time-out'
  /** false only if the request was certainly not sent; true if the receiver may have got it. */
  sent: boolean
  /** Shown to people. */
  message: string
  address?: string
  /** The server did not accept our client certificate, or requires one. */
  certificateRefused?: true
}

export type OutboundOutcome = OutboundAnswer | OutboundFailure
