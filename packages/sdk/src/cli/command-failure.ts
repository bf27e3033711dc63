import { codes, isCode } from '@dealer-esim/contract'
import { DealerEsimError } from '#error.ts'
import type { Context } from './context.ts'
import { CommandFailed, EXIT, type ExitCode } from './exit-codes.ts'
import { money, pairs, printable } from './output.ts'

/** Reports what went wrong and what to do on standard error; with --json as one document on standard output. */
export function reportFailure(context: Context, thrown: unknown): ExitCode {
  const error = thrown instanceof DealerEsimError || thrown instanceof CommandFailed ? thrown : unexpected(thrown)
  // One line, because `listen` prints one document per line.
  if (context.json) context.io.out(`${JSON.stringify(documentOf(error))}\n`)
  if (error instanceof CommandFailed) {
    if (!context.json) context.io.err(`${printable(error.message)}\n`)
    return error.exitCode
  }
  if (!context.json) context.io.err(describe(context, error))
  const file = context.credentialsFile()
  if (error.code === SIGNATURE_WRONG && file !== undefined) {
    context.io.err(`${printable(file)} is older than the last reset of the AppSecret. ${REWRITE}\n`)
  }
  return error.outcomeUnknown || error.httpStatus === undefined || error.code === 'ANSWER_UNREADABLE'
    ? EXIT.OUTCOME_UNKNOWN
    : EXIT.REFUSED
}

function documentOf(error: DealerEsimError | CommandFailed): object {
  const { message } = error
  if (error instanceof CommandFailed) return { code: 'COMMAND_FAILED', message }
  const { code, details, data, requestId, httpStatus, transactionId, outcomeUnknown } = error
  return { code, message, details, data, requestId, httpStatus, transactionId, outcomeUnknown }
}

/** An error that no command expects, such as a success answer that lacks members. An order may have been placed. */
function unexpected(error: unknown): CommandFailed {
  const advice = 'The request may have been executed: repeat an order with the same transactionId.'
  return new CommandFailed(`The command failed unexpectedly (${error}). ${advice}`, EXIT.OUTCOME_UNKNOWN)
}

const SIGNATURE_WRONG = '101003'
const REWRITE =
  'Restart the local gateway, which writes the file again, or set DEALER_ESIM_APP_SECRET and the other variables.'

function describe({ paint: { red, dim } }: Context, error: DealerEsimError): string {
  const { code, data, details } = error
  const rows: [string, string][] = details.map(({ field, reason }) => [field, reason])
  for (const [name, value] of Object.entries(data)) {
    if (name !== 'requestId' && name !== 'details') rows.push([name, shown(name, value, data.currencyCode)])
  }
  if (error.transactionId !== undefined) rows.push(['transactionId', error.transactionId])
  if (error.requestId !== undefined) rows.push(['requestId', error.requestId])
  const unknown = error.outcomeUnknown
    ? 'It may have been executed nevertheless: repeat the call, and an order with the same transactionId.\n'
    : ''
  const remedy = isCode(code) ? dim(`${codes[code].remedy}\n`) : ''
  return `${red(printable(code))}  ${printable(error.message)}\n${pairs(rows, '  ')}${unknown}${remedy}`
}

const MONEY_MEMBERS = new Set(['currentBalance', 'requiredAmount', 'shortfall', 'current', 'limit', 'spent'])

function shown(name: string, value: unknown, currencyCode: unknown): string {
  if (typeof value === 'number' && MONEY_MEMBERS.has(name)) return money(value, String(currencyCode ?? '')).trim()
  return typeof value === 'string' ? value : JSON.stringify(value)
}
