import { codes, isCode } from '@dealer-esim/contract'
import { DealerEsimError } from '../error.ts'
import type { Context } from './context.ts'
import { CommandFailed, EXIT, type ExitCode } from './exit-codes.ts'
import { money, pairs, printable } from './output.ts'

/** Reports what went wrong and what to do on standard error; with --json as one document on standard output. */
export function reportFailure(context: Context, error: unknown): ExitCode {
  const apiError = error instanceof DealerEsimError ? error : undefined
  if (context.json) {
    const { message } = error as Error
    const body = apiError
      ? {
          code: apiError.code,
          message,
          details: apiError.details,
          data: apiError.data,
          requestId: apiError.requestId,
          httpStatus: apiError.httpStatus,
          transactionId: apiError.transactionId,
          outcomeUnknown: apiError.outcomeUnknown,
        }
      : { code: 'COMMAND_FAILED', message }
    // One line, because `listen` prints one document per line.
    context.io.out(`${JSON.stringify(body)}\n`)
  }
  if (apiError !== undefined) {
    if (!context.json) context.io.err(describe(context, apiError))
    const file = context.credentialsFile()
    if (apiError.code === SIGNATURE_WRONG && file !== undefined) {
      context.io.err(`${printable(file)} is older than the last reset of the AppSecret. ${REWRITE}\n`)
    }
    return apiError.outcomeUnknown || apiError.httpStatus === undefined || apiError.code === 'ANSWER_UNREADABLE'
      ? EXIT.OUTCOME_UNKNOWN
      : EXIT.REFUSED
  }
  if (!(error instanceof CommandFailed)) throw error
  if (!context.json) context.io.err(`${printable(error.message)}\n`)
  return error.exitCode
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
