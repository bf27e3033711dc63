import type { Dispatcher, Pool } from 'undici'
import { DialError } from './dial.ts'
import type { OutboundOutcome } from './outcome.ts'

export interface Exchange {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers: Record<string, string>
  body: string | Buffer | undefined
  /** What is left of the request's time. */
  timeout_ms: number
  /** The whole allowance, for the words. */
  allowed_ms: number
  mostAnswerBytes: number
  address: string
}

/** One request on a pool, as data. The time limit covers waiting for a connection, the headers and the body. */
export function exchange(pool: Pool, request: Exchange): Promise<OutboundOutcome> {
  return new Promise((resolve) => {
    const { address } = request
    let controller: Dispatcher.DispatchController | undefined
    let status: number | undefined
    let headers: Record<string, string | string[] | undefined> = {}
    const chunks: Buffer[] = []
    let length = 0
    let over = false

    const finish = (outcome: OutboundOutcome) => {
      if (over) return
      over = true
      clearTimeout(timer)
      resolve(outcome)
    }
    const answer = (truncated: boolean) =>
      finish({ kind: 'answer', status: status as number, headers, body: Buffer.concat(chunks), truncated, address })
    const timer = setTimeout(() => {
      finish({ kind: 'failed', phase: 'time-out', sent: controller !== undefined, words: lateWords(), address })
      controller?.abort(new Error('out of time'))
    }, request.timeout_ms)
    const lateWords = () => {
      const limit = `within ${request.allowed_ms / 1000} s`
      if (controller === undefined) return `no connection to ${address} ${limit}`
      return status === undefined ? `no answer ${limit}` : `status ${status}, but its body did not end ${limit}`
    }

    pool.dispatch(
      { method: request.method, path: request.path, headers: request.headers, body: request.body ?? null },
      {
        // From here on the receiver may get it: undici calls this right before it writes.
        onRequestStart(started) {
          if (over) started.abort(new Error('out of time'))
          else controller = started
        },
        onResponseStart(_, code, received) {
          if (code < 200) return
          status = code
          headers = received
        },
        onResponseData(running, chunk) {
          chunks.push(chunk.subarray(0, request.mostAnswerBytes - length))
          length += chunk.length
          if (length <= request.mostAnswerBytes) return
          answer(true)
          running.abort(new Error('the answer is longer than is read'))
        },
        onResponseEnd: () => answer(false),
        onResponseError(_, error) {
          if (error instanceof DialError) {
            finish({ kind: 'failed', phase: error.phase, sent: false, words: dialWords(error, address), address })
          } else {
            const sent = controller !== undefined
            finish({ kind: 'failed', phase: 'sent', sent, words: brokenWords(error, status), address })
          }
        },
      },
    )
  })
}

function dialWords(error: DialError, address: string): string {
  const reason = error.cause instanceof Error ? error.cause.message : error.message
  return error.phase === 'connect' ? `no connection to ${address}: ${reason}` : `TLS with ${address} failed: ${reason}`
}

function brokenWords(error: Error, status: number | undefined): string {
  if (error.name === 'HTTPParserError') return `the answer is not HTTP: ${error.message}`
  if ((error as { code?: string }).code === 'UND_ERR_HEADERS_OVERFLOW') return "the answer's headers are too long"
  const when = status === undefined ? 'before an answer' : `in the body of the answer (status ${status})`
  return `the connection broke ${when}: ${error.message}`
}
