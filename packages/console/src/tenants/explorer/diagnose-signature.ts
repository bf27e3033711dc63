import {
  API_PATH,
  CLOCK_WINDOW_MS,
  checkRequestHeaders,
  findSigningMistake,
  type OperationName,
  parseRequest,
  parseStrictJson,
  type RequestHeaders,
  type SigningMistake,
  verifyRequest,
} from '@dealer-esim/contract'
import { formatDuration } from '#parts/format.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

type CheckName = keyof typeof t.debugger.checks

export interface CheckResult {
  check: CheckName
  /** Undefined if an earlier check failed. */
  ok: boolean | undefined
  message: string
  /** The code of the gateway's answer if this check fails. */
  code?: string
}

export interface FailingRequest {
  headersText: string
  body: string
  operation: OperationName
  appKey: string
  secret: string
  /** The time on the gateway's clock. */
  serverTimeMs: number
  isRequestIdUsed(requestId: string): Promise<boolean>
}

/** Runs the gateway's checks in the gateway's order, up to the first that fails. */
export async function diagnose(request: FailingRequest): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  const { messages } = t.debugger
  let stopped = false
  async function check(name: CheckName, run: () => Promise<[code: string, message: string] | undefined>) {
    if (stopped) return results.push({ check: name, ok: undefined, message: messages.skipped })
    const failure = await run()
    stopped = failure !== undefined
    results.push(
      failure
        ? { check: name, ok: false, code: failure[0], message: failure[1] }
        : { check: name, ok: true, message: messages.passed },
    )
    return undefined
  }

  const given = parseHeaders(request.headersText)
  const checked = checkRequestHeaders(given)
  const headers = checked.ok ? checked.headers : undefined
  await check('headers', async () => {
    if (checked.ok) return undefined
    const errors = checked.details.map((detail) => `${detail.field}: ${detail.reason}`)
    return [checked.code, [...errors, ...(await mistakesInMalformed(given, request))].join(' ')]
  })
  await check('appKey', async () =>
    headers!.appKey === request.appKey
      ? undefined
      : ['101004', formatMessage(messages.appKey, { given: headers!.appKey, wanted: request.appKey })],
  )
  await check('clock', async () => clockError(headers!, request.serverTimeMs))
  await check('signature', async () => {
    if (await verifyRequest([request.secret], headers!, request.body)) return undefined
    const mistake = await findSigningMistake({ ...headers!, ...signingInput(request) })
    return ['101003', mistake ? explain(mistake) : messages.unexplained]
  })
  await check('requestId', async () =>
    (await request.isRequestIdUsed(headers!.requestId)) ? ['101006', messages.requestIdUsed] : undefined,
  )
  const json = parseStrictJson(new TextEncoder().encode(request.body))
  await check('json', async () => (json.ok ? undefined : ['000104', json.reason]))
  await check('parameters', async () => {
    const parsed = json.ok ? parseRequest(request.operation, json.value) : undefined
    if (!parsed || parsed.ok) return undefined
    return [parsed.code, parsed.details.map((detail) => `${detail.field} ${detail.reason}`).join(' ')]
  })
  return results
}

/** Even a malformed signature often shows the mistake: Base64 instead of hex, a different hash. */
async function mistakesInMalformed(headers: Record<string, string>, request: FailingRequest): Promise<string[]> {
  const { 'rt-timestamp': timestamp, 'rt-requestid': requestId, 'rt-accesscode': appKey } = headers
  const { 'x-signature': signature } = headers
  if (!timestamp || !requestId || !appKey || !signature) return []
  const mistake = await findSigningMistake({ timestamp, requestId, appKey, signature, ...signingInput(request) })
  return mistake ? [explain(mistake)] : []
}

/** What was done instead of signing as documented, and the remedy. What is the same in every language has no text of its own. */
function explain({ id, form }: SigningMistake): string {
  const { forms, mistakes } = t.debugger
  const known = (forms as Partial<Record<string, string>>)[form]
  return formatMessage(mistakes[id], { form: known === undefined ? form : formatMessage(known) })
}

function signingInput({ secret, body, operation }: FailingRequest) {
  return { secret, body, path: API_PATH + operation }
}

function clockError(headers: RequestHeaders, nowMs: number): [string, string] | undefined {
  const offMs = Number(headers.timestamp) - nowMs
  if (Math.abs(offMs) <= CLOCK_WINDOW_MS) return undefined
  const { clockStale, clockAhead } = t.debugger.messages
  return ['101001', formatMessage(offMs < 0 ? clockStale : clockAhead, { off: formatDuration(Math.abs(offMs)) })]
}

/** Reads `Name: value` lines, or the -H arguments of a curl command. Quotes around a line are dropped. */
function parseHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {}
  const inCurl = [...text.matchAll(/-H\s+(['"])(.+?)\1/g)].map((match) => match[2] ?? '')
  for (const line of inCurl.length > 0 ? inCurl : text.split('\n')) {
    const text = line.trim()
    const start = /^['"]?([A-Za-z-]+)['"]?\s*[:=]/.exec(text)
    if (!start) continue
    const name = (start[1] ?? '').toLowerCase()
    const value = text.slice(start[0].length).trim().replace(/,$/, '').replace(/^['"]/, '').replace(/['"]$/, '')
    // The gateway receives a repeated header as one joined value, and rejects it as malformed.
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return headers
}
