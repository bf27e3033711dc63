import { type DestinationStream, type Logger, pino } from 'pino'

/** Members that never reach a log, up to two levels deep. */
const SECRET_MEMBERS = [
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
  'shareUrl',
  'databaseUrl',
]

/** Writes JSON lines to standard output, one per event, with secrets redacted. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const paths = SECRET_MEMBERS.flatMap((member) => [member, `*.${member}`, `*.*.${member}`])
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: serializeError },
    redact: { paths, censor: '[redacted]' },
  }
  return destination ? pino(options, destination) : pino(options)
}

/**
 * Keeps the members that help to find the fault. A driver's error also carries its connection and statement, secrets
 * included.
 */
function serializeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code } = error as { code?: unknown }
  return { type: name, message, ...(code ? { code } : {}), stack, ...(cause ? { cause: serializeError(cause) } : {}) }
}
