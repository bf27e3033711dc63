import type { DestinationStream } from 'pino'

/** Takes the JSON lines of a log, and writes them as text for a person reading the terminal. */
export function terminalDestination(output: { write(text: string): unknown }): DestinationStream {
  return { write: (line) => void output.write(terminalText(line)) }
}

/**
 * A log line as text: `17:02:11 info  ready  baseUrl=http://127.0.0.1:8080 port=8080`, with the stack of an error below it.
 * Control characters in values are escaped, so that a caller's text cannot control the terminal.
 */
export function terminalText(line: string): string {
  const { level, time, msg = '', err, ...members } = JSON.parse(line) as LogLine
  const clock = new Date(time).toTimeString().slice(0, 'hh:mm:ss'.length)
  const values = Object.entries(members).map(([name, value]) => `${escaped(name)}=${valueText(value)}`)
  const parts = [clock, level.padEnd(LEVEL_WIDTH), escaped(msg), ...(values.length > 0 ? [` ${values.join(' ')}`] : [])]
  return `${parts.join(' ')}\n${err ? errorText(err) : ''}`
}

const LEVEL_WIDTH = 'error'.length

interface LogLine {
  level: string
  time: string
  msg?: string
  err?: LoggedError
  [member: string]: unknown
}

interface LoggedError {
  type?: string
  message: string
  stack?: string
  cause?: LoggedError
}

function errorText({ type = 'Error', message, stack, cause }: LoggedError): string {
  const lines = (stack ?? `${type}: ${message}`).split('\n').map((line) => `    ${escaped(line.trim())}\n`)
  return lines.join('') + (cause ? `    because of\n${errorText(cause)}` : '')
}

/** Text without spaces unchanged, everything else as JSON. */
function valueText(value: unknown): string {
  return escaped(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value))
}

function escaped(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
