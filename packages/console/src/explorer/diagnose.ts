import {
  API_PATH,
  CLOCK_WINDOW_MS,
  checkRequestHeaders,
  type OperationName,
  parseRequest,
  parseStrictJson,
  type RequestHeaders,
  verifyRequest,
} from '@dealer-esim/contract'
import { milliseconds } from '../parts/format.ts'
import { say, t } from '../strings/strings.ts'
import { explain, findMistakes } from './explain-mismatch.ts'

type CheckName = keyof typeof t.debugger.checks

export interface CheckResult {
  check: CheckName
  /** undefined: not reached. */
  ok: boolean | undefined
  words: string
  /** What the gateway answers where it stops. */
  code?: string
}

export interface FailingRequest {
  headersText: string
  body: string
  operation: OperationName
  appKey: string
  secret: string
  /** The gateway's clock. */
  serverTime_ms: number
  isRequestIdUsed(requestId: string): Promise<boolean>
}

/** Makes the gateway's checks in the gateway's order. After the first that fails the others are not reached. */
export async function diagnose(request: FailingRequest): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  const { words } = t.debugger
  let stopped = false
  async function check(name: CheckName, judge: () => Promise<[code: string, words: string] | undefined>) {
    if (stopped) return results.push({ check: name, ok: undefined, words: words.skipped })
    const fault = await judge()
    stopped = fault !== undefined
    results.push(
      fault ? { check: name, ok: false, code: fault[0], words: fault[1] } : { check: name, ok: true, words: words.ok },
    )
    return undefined
  }

  const given = parseHeaders(request.headersText)
  const checked = checkRequestHeaders(given)
  const headers = checked.ok ? checked.headers : undefined
  await check('headers', async () => {
    if (checked.ok) return undefined
    const faults = checked.details.map((detail) => `${detail.field}: ${detail.reason}`)
    return [checked.code, [...faults, ...(await malformedAdvice(given, request))].join(' ')]
  })
  await check('appKey', async () =>
    headers!.appKey === request.appKey
      ? undefined
      : ['101004', say(words.appKey, { given: headers!.appKey, wanted: request.appKey })],
  )
  await check('clock', async () => clockFault(headers!, request.serverTime_ms))
  await check('signature', async () => {
    if (await verifyRequest([request.secret], headers!, request.body)) return undefined
    const mistakes = await findMistakes({ ...headers!, ...signedWith(request) })
    return ['101003', mistakes ? explain(mistakes) : words.signatureUnknown]
  })
  await check('requestId', async () =>
    (await request.isRequestIdUsed(headers!.requestId)) ? ['101006', words.requestIdUsed] : undefined,
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

/** A signature of a wrong form often still tells what was done: Base64 instead of hex, another hash. */
async function malformedAdvice(headers: Record<string, string>, request: FailingRequest): Promise<string[]> {
  const { 'rt-timestamp': timestamp, 'rt-requestid': requestId, 'rt-accesscode': appKey } = headers
  const { 'x-signature': signature } = headers
  if (!timestamp || !requestId || !appKey || !signature) return []
  const mistakes = await findMistakes({ timestamp, requestId, appKey, signature, ...signedWith(request) })
  return mistakes?.length ? [explain(mistakes)] : []
}

function signedWith({ secret, body, operation }: FailingRequest) {
  return { secret, body, path: API_PATH + operation }
}

function clockFault(headers: RequestHeaders, now_ms: number): [string, string] | undefined {
  const off_ms = Number(headers.timestamp) - now_ms
  if (Math.abs(off_ms) <= CLOCK_WINDOW_MS) return undefined
  const { clockStale, clockAhead } = t.debugger.words
  return ['101001', say(off_ms < 0 ? clockStale : clockAhead, { off: milliseconds(Math.abs(off_ms)) })]
}

/** `Name: value` lines, or the -H arguments of a curl command. Quotes around a line are dropped. */
function parseHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {}
  const inCurl = [...text.matchAll(/-H\s+(['"])(.+?)\1/g)].map((match) => match[2] ?? '')
  for (const line of inCurl.length > 0 ? inCurl : text.split('\n')) {
    const match = /^\s*['"]?([A-Za-z-]+)['"]?\s*[:=]\s*['"]?(.*?)['"]?,?\s*$/.exec(line)
    if (!match) continue
    const name = (match[1] ?? '').toLowerCase()
    // Twice reaches the gateway joined, and fails its form.
    headers[name] = headers[name] === undefined ? (match[2] ?? '') : `${headers[name]}, ${match[2]}`
  }
  return headers
}
