import { codes, isCode } from '@dealer-esim/contract'
import { DealerEsimError } from '../error.ts'
import type { Context } from './context.ts'
import { CommandFailed, EXIT, type ExitCode } from './exit-codes.ts'
import { money, pairs, printable } from './output.ts'

/** Tells what went wrong, and what to do, on standard error; with --json as one document on standard output. */
export function reportFailure(context: Context, error: unknown): ExitCode {
  const told = error instanceof DealerEsimError ? error : undefined
  if (context.json) {
    const { message } = error as Error
    const body = told
      ? {
          code: told.code,
          message,
          details: told.details,
          data: told.data,
          requestId: told.requestId,
          httpStatus: told.httpStatus,
          transactionId: told.transactionId,
          outcomeUnknown: told.outcomeUnknown,
        }
      : { code: 'COMMAND_FAILED', message }
    // One line, also where each line is a document of its own.
    context.io.out(`${JSON.stringify(body)}\n`)
  }
  if (told !== undefined) {
    if (!context.json) context.io.err(describe(context, told))
    return told.outcomeUnknown || told.httpStatus === undefined || told.code === 'ANSWER_UNREADABLE'
      ? EXIT.OUTCOME_UNKNOWN
      : EXIT.REFUSED
  }
  if (!(error instanceof CommandFailed)) throw error
  if (!context.json) context.io.err(`${printable(error.message)}\n`)
  return error.exitCode
}

function describe({ paint: { red, dim } }: Context, error: DealerEsimError): string {
  const { code, data, details } = error
  const rows: [string, string][] = details.map(({ field, reason }) => [field, reason])
  for (const [name, value] of Object.entries(data)) {
    if (name !== 'requestId' && name !== 'details') rows.push([name, shown(name, value, data.currencyCode)])
  }
  if (error.transactionId !== undefined) rows.push(['transactionId', error.transactionId])
  if (error.requestId !== undefined) rows.push(['requestId', error.requestId])
  const unknown = error.outcomeUnknown
    ? 'It may have been carried out all the same: repeat it, an order with the same transactionId.\n'
    : ''
  const remedy = isCode(code) ? dim(`${codes[code].remedy}\n`) : ''
  return `${red(printable(code))}  ${printable(error.message)}\n${pairs(rows, '  ')}${unknown}${remedy}`
}

const MONEY_MEMBERS = new Set(['currentBalance', 'requiredAmount', 'shortfall', 'current', 'limit', 'spent'])

function shown(name: string, value: unknown, currencyCode: unknown): string {
  if (typeof value === 'number' && MONEY_MEMBERS.has(name)) return money(value, String(currencyCode ?? '')).trim()
  return typeof value === 'string' ? value : JSON.stringify(value)
}
