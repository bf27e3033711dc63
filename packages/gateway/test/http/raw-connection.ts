import { connect, type Socket } from 'node:net'
import { type Dealer, type RequestParts, signedHeaders } from '../harness/api-node.ts'

export interface RawAnswer {
  status: number
  headers: Record<string, string>
  text: string
  code: string
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect any answer
  data: any
}

/** A connection on which a test can write any bytes. */
export interface RawConnection {
  socket: Socket
  write(bytes: string | Buffer): void
  /** The first `count` answers, without interim ones (1xx); rejects if the connection ends before that. */
  answers(count: number): Promise<RawAnswer[]>
  /** All bytes received until the server ended the connection. */
  all(): Promise<RawAnswer[]>
  destroy(): void
}

export function openConnection(port: number): RawConnection {
  const socket = connect(port, '127.0.0.1')
  let received = Buffer.alloc(0)
  let isClosed = false
  const listeners = new Set<() => void>()
  const notify = () => {
    for (const listener of listeners) listener()
  }
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    notify()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
    notify()
  })
  function wait<Result>(read: () => Result | undefined, failing: () => string): Promise<Result> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const result = read()
        if (result === undefined && !isClosed) return
        listeners.delete(look)
        if (result === undefined) reject(new Error(failing()))
        else resolve(result)
      }
      listeners.add(look)
      look()
    })
  }
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    answers(count) {
      const enough = () => {
        const answers = parseAnswers(received)
        return answers.length >= count ? answers.slice(0, count) : undefined
      }
      return wait(enough, () => `the connection ended after: ${received.toString().slice(0, 2_000)}`)
    },
    all: () =>
      wait(
        () => (isClosed ? parseAnswers(received) : undefined),
        () => '',
      ),
    destroy: () => void socket.destroy(),
  }
}

/** The bytes of a signed request. `lines` are extra header lines. Content-Length is added unless they frame the body. */
export function requestText(
  dealer: Dealer,
  operation: string,
  parts: RequestParts & { lines?: string[] } = {},
): string {
  const body = String(parts.body ?? '{}')
  const lines = parts.lines ?? []
  const isFramed = lines.some((line) => /^(content-length|transfer-encoding):/i.test(line))
  const headers = Object.entries(signedHeaders(dealer, parts)).map(([name, value]) => `${name}: ${value}`)
  const all = [
    'Host: gateway',
    ...headers,
    ...lines,
    ...(isFramed ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ]
  return `${parts.method ?? 'POST'} /open-api/v1/${operation} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`
}

function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = bytes
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return answers
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString().split('\r\n')
    const status = Number(statusLine.split(' ')[1])
    const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(/:\s*/, 2) as [string, string]))
    const length = Number(headers['content-length'] ?? 0)
    const body = rest.subarray(end + 4, end + 4 + length)
    if (body.length < length) return answers
    rest = rest.subarray(end + 4 + length)
    if (status >= 200) answers.push({ status, headers, text: body.toString(), ...envelopeOf(body) })
  }
}

function envelopeOf(body: Buffer): { code: string; data: unknown } {
  try {
    const { code, data } = JSON.parse(body.toString())
    return { code, data }
  } catch {
    return { code: 'no envelope', data: undefined }
  }
}
