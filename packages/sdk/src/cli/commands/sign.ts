import { isOperationName, operationNames, REQUEST_HEADERS } from '@dealer-esim/contract'
import { signRequest } from '@dealer-esim/contract/node'
import type { Command } from 'commander'
import { checkBaseUrl } from '#options.ts'
import type { Context } from '../context.ts'
import { CommandFailed, EXIT, orUsageError } from '../exit-codes.ts'
import { pairs } from '../output.ts'

interface Options {
  timestamp?: string
  requestId?: string
}

/** `sign`: signs a request without sending it, for comparison. */
export function signCommand(program: Command, context: () => Context): void {
  program
    .command('sign')
    .description('sign a request without sending it; shows the signed text and a curl command')
    .argument('<operation>', `one of ${operationNames.join(', ')}`)
    .argument('[body]', 'the JSON body, or - to read it from standard input', '{}')
    .option('--timestamp <milliseconds>', 'sign with this time instead of now')
    .option('--request-id <uuid>', 'sign with this RequestID')
    .addHelpText('after', SIGN_HELP)
    .action(async (operation: string, given: string, options: Options) => {
      if (!isOperationName(operation)) {
        throw new CommandFailed(`Unknown operation ${operation}. Available: ${operationNames.join(', ')}.`, EXIT.USAGE)
      }
      const { io, print, credentials, paint } = context()
      const { baseUrl, appKey, appSecret } = credentials()
      const body = given === '-' ? (await io.stdin()).toString('utf8') : given
      const timestamp = options.timestamp ?? String(Date.now())
      const requestId = options.requestId ?? crypto.randomUUID()
      const parts = { timestamp, requestId, appKey }
      const url = `${orUsageError(() => checkBaseUrl(baseUrl))}/open-api/v1/${operation}`
      const headers = {
        'Content-Type': 'application/json',
        [REQUEST_HEADERS.appKey]: appKey,
        [REQUEST_HEADERS.requestId]: requestId,
        [REQUEST_HEADERS.timestamp]: timestamp,
        [REQUEST_HEADERS.signature]: signRequest(appSecret, parts, body),
      }
      const stringToSign = timestamp + requestId + appKey + body
      const curl = curlLine(url, headers, body)
      const human = [
        `${paint.bold('String to sign')}\n${stringToSign}\n`,
        `${paint.bold('Headers')}\n${pairs(Object.entries(headers))}`,
        `${paint.bold('curl')}\n${curl}\n`,
      ].join('\n')
      print(human, { url, headers, body, stringToSign, curl })
    })
}

/** A curl command for a POSIX shell. */
function curlLine(url: string, headers: Record<string, string>, body: string): string {
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  return `curl -sS ${given.join(' ')} --data-binary ${quoted(body)} ${quoted(url)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

const SIGN_HELP = `
The curl command works once and within five minutes: a RequestID is accepted once, and a timestamp for 300 seconds.

Examples:
  $ dealer-esim sign health
  $ dealer-esim sign esim/query '{"transactionId":"T-1"}'`
