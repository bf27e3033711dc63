import { formatTime } from '@dealer-esim/contract'
import { type DestinationStream, type Logger, pino } from 'pino'

/** What a part of the gateway may write to. Tests pass `silentLog`. */
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
  duration_ms: number
}

/** What is told of each attempt to deliver an event. Of its members only `outcome` may need an escape. */
export interface AttemptLine {
  tenantId: string
  notifyId: string
  notifyType: string
  attemptId: string
  attempt: number
  duration_ms: number
  /** Absent where none was dialled. */
  address: string | undefined
  outcome: string
}

/** The two kinds of line that come by the thousand. */
export interface TrafficLog {
  request(line: RequestLine): void
  attempt(line: AttemptLine): void
}

/** Where time does not matter: lines like all others. */
export function plainTraffic(log: Log): TrafficLog {
  return {
    request: (line) => log.info(line, 'request'),
    attempt: (line) => log.info(line, 'delivery attempt'),
  }
}

const GATHERED_MOST = 65_536
const FLUSH_MS = 100

/**
 * For the one line of each request and each delivery: assembling it from a general object, looking through it for
 * secrets and a system call for it were a fifth of the door's time and a quarter of an event's, so it is spelt out here
 * and written in gulps. A crash may lose the last tenth of a second of these lines.
 */
export function createTrafficLog(level: string): TrafficLog {
  const { info, [level]: least = Number.POSITIVE_INFINITY } = pino.levels.values
  if (least > info!) return { request() {}, attempt() {} }
  const destination = pino.destination({ sync: false })
  let gathered = ''
  const flush = () => {
    if (gathered === '') return
    destination.write(gathered)
    gathered = ''
  }
  setInterval(flush, FLUSH_MS).unref()
  process.on('exit', () => {
    flush()
    destination.flushSync()
  })
  const gather = (line: string) => {
    gathered += line
    if (gathered.length >= GATHERED_MOST) flush()
  }
  return { request: (line) => gather(requestText(line)), attempt: (line) => gather(attemptText(line)) }
}

function requestText({ requestId, address, tenantId, operation, code, duration_ms }: RequestLine): string {
  const who =
    (requestId === undefined ? '' : `"requestId":"${requestId}",`) +
    `"address":"${address}",` +
    (tenantId === undefined ? '' : `"tenantId":"${tenantId}",`)
  const time = formatTime(Date.now())
  const what = `"operation":"${operation}","code":"${code}","duration_ms":${duration_ms.toFixed(3)},"msg":"request"`
  return `{"level":"info","time":"${time}",${who}${what}}\n`
}

function attemptText(line: AttemptLine): string {
  const { tenantId, notifyId, notifyType, attemptId, attempt, duration_ms, address, outcome } = line
  const which = `"tenantId":"${tenantId}","notifyId":"${notifyId}","notifyType":"${notifyType}","attemptId":"${attemptId}"`
  const where = address === undefined ? '' : `"address":"${address}",`
  const what = `"attempt":${attempt},"duration_ms":${duration_ms},${where}"outcome":${JSON.stringify(outcome)}`
  return `{"level":"info","time":"${formatTime(Date.now())}",${which},${what},"msg":"delivery attempt"}\n`
}

/** What helps to find the fault. A driver's error also carries its connection and statement: pages, and secrets. */
function errorText(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code } = error as { code?: unknown }
  return { type: name, message, ...(code ? { code } : {}), stack, ...(cause ? { cause: errorText(cause) } : {}) }
}

export const silentLog: Log = pino({ level: 'silent' })
