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

/** JSON lines on standard output, one per event, with the secrets taken out. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const paths = secretMembers.flatMap((member) => [member, `*.${member}`, `*.*.${member}`])
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorText },
    redact: { paths, censor: '[redacted]' },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** What helps to find the fault. A driver's error also carries its connection and statement: pages, and secrets. */
function errorText(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code } = error as { code?: unknown }
  return { type: name, message, ...(code ? { code } : {}), stack, ...(cause ? { cause: errorText(cause) } : {}) }
}

export const silentLog: Log = pino({ level: 'silent' })
