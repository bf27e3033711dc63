import { formatTime } from '@dealer-esim/contract'
import { type DestinationStream, type Logger, pino } from 'pino'

/** What a part of the gateway may write to. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>

/** Members that never reach a log, at any of the depths that our lines have. */
const secretMembers = [
  'appSecret',
  'authorization',
  'cookie',
  'password',
  'secret',
  'masterKey',
  'ac',
  'matchingId',
  'confirmationCode',
  'pin',
  'puk',
  'qrCodeUrl',
  'databaseUrl',
]

const SHAPE = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
}

/** JSON lines on standard output, one per event, with the secrets taken out. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const paths = secretMembers.flatMap((member) => [member, `*.${member}`, `*.*.${member}`])
  const options = { ...SHAPE, level, serializers: { err: errorText }, redact: { paths, censor: '[redacted]' } }
  return destination ? pino(options, destination) : pino(options)
}

/** What is told of each request. No member can hold a secret, or a character that JSON would escape. */
export interface RequestLine {
  requestId: string | undefined
  address: string
  tenantId: string | undefined
  operation: string
  code: string
  durationMs: number
}

/** For the one kind of line that comes by the thousand. */
export type RequestLog = (line: RequestLine) => void

/** Where time does not matter: lines like all others. */
export function plainRequestLog(log: Log): RequestLog {
  return (line) => log.info(line, 'request')
}

/** Where gathered lines go. */
interface Gulps {
  write(lines: string): unknown
  flushSync(): void
}

const standardOutput = (): Gulps => pino.destination({ sync: false })

const GATHERED_BYTES = 65_536
/** More than any line has. */
const LINE_MAX_BYTES = 1_024
const FLUSH_MS = 100

/**
 * For the one line of each request: assembling it from a general object, looking through it for secrets and a system
 * call for it were a fifth of the door's time, so it is spelt out here and written in gulps. They gather as bytes: what
 * gathers as text is a tree of its pieces, and keeps the collector busy. A crash may lose the last tenth of a second of
 * these lines.
 */
export function createRequestLog(level: string, open: () => Gulps = standardOutput): RequestLog {
  const { info, [level]: least = Number.POSITIVE_INFINITY } = pino.levels.values
  if (least > info!) return () => {}
  const destination = open()
  const gathered = Buffer.alloc(GATHERED_BYTES)
  let sizeBytes = 0
  const flush = () => {
    if (sizeBytes === 0) return
    destination.write(gathered.toString('latin1', 0, sizeBytes))
    sizeBytes = 0
  }
  setInterval(flush, FLUSH_MS).unref()
  process.on('exit', () => {
    flush()
    destination.flushSync()
  })
  return (line) => {
    sizeBytes += gathered.write(requestText(line), sizeBytes, 'latin1')
    if (sizeBytes > GATHERED_BYTES - LINE_MAX_BYTES) flush()
  }
}

function requestText({ requestId, address, tenantId, operation, code, durationMs }: RequestLine): string {
  const who =
    (requestId === undefined ? '' : `"requestId":"${requestId}",`) +
    `"address":"${address}",` +
    (tenantId === undefined ? '' : `"tenantId":"${tenantId}",`)
  const time = formatTime(Date.now())
  const what = `"operation":"${operation}","code":"${code}","durationMs":${durationMs.toFixed(3)},"msg":"request"`
  return `{"level":"info","time":"${time}",${who}${what}}\n`
}

/** What helps to find the fault. A driver's error also carries its connection and statement: pages, and secrets. */
function errorText(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code } = error as { code?: unknown }
  return { type: name, message, ...(code ? { code } : {}), stack, ...(cause ? { cause: errorText(cause) } : {}) }
}
