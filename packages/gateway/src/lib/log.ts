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

/** A line of a request is told by one call, with members that are fixed and hold no secret. */
export type RequestLog = Pick<Logger, 'info'>

const GATHERED_BYTES = 65_536
const FLUSH_MS = 100

/**
 * For the one line of each request: looking through it for secrets and a system call for it were a tenth of the door's
 * time, so it is written as it is, and in gulps. A crash may lose the last tenth of a second of these lines.
 */
export function createRequestLog(level: string): RequestLog {
  const destination = pino.destination({
    sync: false,
    minLength: GATHERED_BYTES,
    maxWrite: 2 * GATHERED_BYTES,
    periodicFlush: FLUSH_MS,
  })
  return pino({ ...SHAPE, level }, destination)
}

/** What helps to find the fault. A driver's error also carries its connection and statement: pages, and secrets. */
function errorText(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code } = error as { code?: unknown }
  return { type: name, message, ...(code ? { code } : {}), stack, ...(cause ? { cause: errorText(cause) } : {}) }
}

export const silentLog: Log = pino({ level: 'silent' })
