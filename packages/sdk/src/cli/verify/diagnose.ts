import {
  API_PATH,
  BODY_SIZE_MAX_BYTES,
  CLOCK_WINDOW_MS,
  checkRequestHeaders,
  codes,
  EVENT_HEADERS,
  type FailureCode,
  findSigningMistake,
  isOperationName,
  operationNames,
  parseRequest,
  parseStrictJson,
  REQUEST_HEADERS,
  type RequestHeaders,
  UNEXPLAINED_MISMATCH,
} from '@dealer-esim/contract'
import { verifyRequest } from '@dealer-esim/contract/node'
import { DealerEsimError } from '#error.ts'
import { verifyEvent } from '#webhooks/verify-event.ts'
import type { CapturedRequest } from './request-text.ts'

/** The result of one check of a request. `passed` is undefined if the check could not be made. */
export interface Finding {
  check: string
  passed: boolean | undefined
  words: string
  /** The code that the gateway returns if this check is the first to fail. */
  code?: FailureCode
}

export interface DiagnosisInput {
  appSecret: string
  appKey?: string
  /** The time that the timestamp is checked against. */
  nowMs: number
}

/** Makes all checks that need only the text and the secret, in the gateway's order. The first one to fail is the cause. */
export async function diagnose(request: CapturedRequest, input: DiagnosisInput): Promise<Finding[]> {
  if (EVENT_HEADERS.signature in request.headers) return diagnoseEvent(request, input)
  const findings = [...route(request), mediaType(request)]
  const checked = checkRequestHeaders(request.headers)
  if (checked.ok) {
    findings.push({ check: 'headers', passed: true, words: 'all four are present, well formed and not repeated' })
    findings.push(size(request), account(checked.headers, input), clock(checked.headers, input))
    findings.push(await signature(checked.headers, request, input))
  } else {
    const words = checked.details.map(({ field, reason }) => `${field}: ${reason}`).join(' ')
    findings.push({
      check: 'headers',
      passed: false,
      words: words + (await malformedAdvice(request, input)),
      code: checked.code,
    })
    findings.push(size(request))
  }
  findings.push(...content(request))
  return findings
}

function route({ method, path }: CapturedRequest): Finding[] {
  if (path === undefined) return []
  const name = operationOf(path)
  const known = name !== undefined && isOperationName(name)
  const words = known ? name : `${path} is not an operation: use …/open-api/v1/{${operationNames.join(', ')}}`
  const findings: Finding[] = [{ check: 'path', passed: known, words, code: '000109' }]
  if (method !== undefined) findings.push({ check: 'method', passed: method === 'POST', words: method, code: '000103' })
  return findings
}

function operationOf(path: string): string | undefined {
  const at = path.indexOf(API_PATH)
  const name = path.slice(at + API_PATH.length)
  return at < 0 || /[?#]/.test(name) ? undefined : name
}

function mediaType({ headers }: CapturedRequest): Finding {
  const type = headers['content-type']
  const encoding = headers['content-encoding']
  const passed = type !== undefined && /^application\/json\s*(;|$)/i.test(type) && encoding === undefined
  const description = type === undefined ? 'no Content-Type: send application/json' : `Content-Type: ${type}`
  return {
    check: 'content type',
    passed,
    words: encoding ? `${description}, Content-Encoding: ${encoding}` : description,
    code: '000110',
  }
}

function size({ body }: CapturedRequest): Finding {
  const passed = body.length <= BODY_SIZE_MAX_BYTES
  return { check: 'size', passed, words: `${body.length} bytes of at most ${BODY_SIZE_MAX_BYTES}`, code: '000111' }
}

function account({ appKey }: RequestHeaders, input: DiagnosisInput): Finding {
  if (input.appKey === undefined) return { check: 'AppKey', passed: undefined, words: `${appKey}, not compared` }
  const passed = appKey === input.appKey
  const words = passed ? appKey : `${appKey} was sent, but the AppSecret here belongs to ${input.appKey}`
  return { check: 'AppKey', passed, words, code: '101004' }
}

function clock({ timestamp }: RequestHeaders, { nowMs }: DiagnosisInput): Finding {
  const offsetMs = Number(timestamp) - nowMs
  const passed = Math.abs(offsetMs) <= CLOCK_WINDOW_MS
  const description = `${new Date(Number(timestamp)).toISOString()}, ${formatDuration(Math.abs(offsetMs))} ${offsetMs < 0 ? 'before' : 'after'} this machine's time`
  const advice = ` At most ${CLOCK_WINDOW_MS / 1000} s are allowed. To check an old request, add --at ${timestamp}.`
  return { check: 'clock', passed, words: passed ? description : `${description}.${advice}`, code: '101001' }
}

function formatDuration(durationMs: number): string {
  const seconds = durationMs / 1000
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

async function signature(
  headers: RequestHeaders,
  { body, path }: CapturedRequest,
  { appSecret }: DiagnosisInput,
): Promise<Finding> {
  if (verifyRequest([appSecret], headers, body) !== undefined) {
    return { check: 'signature', passed: true, words: 'matches the AppSecret and the body, byte for byte' }
  }
  const mistake = await findSigningMistake({ ...headers, secret: appSecret, body, path })
  const words = `does not match. ${mistake?.message ?? UNEXPLAINED_MISMATCH}`
  return { check: 'signature', passed: false, words, code: '101003' }
}

/** A malformed signature may still reveal the mistake: Base64 instead of hex, or another hash. */
async function malformedAdvice(
  { headers, body, path }: CapturedRequest,
  { appSecret }: DiagnosisInput,
): Promise<string> {
  const timestamp = headers[REQUEST_HEADERS.timestamp.toLowerCase()]
  const requestId = headers[REQUEST_HEADERS.requestId.toLowerCase()]
  const appKey = headers[REQUEST_HEADERS.appKey.toLowerCase()]
  const given = headers[REQUEST_HEADERS.signature.toLowerCase()]
  if (!timestamp || !requestId || !appKey || !given) return ''
  const parts = { timestamp, requestId, appKey, signature: given }
  const mistake = await findSigningMistake({ ...parts, secret: appSecret, body, path })
  return mistake ? ` ${mistake.message}` : ''
}

function content({ body, path }: CapturedRequest): Finding[] {
  const json = parseStrictJson(body)
  if (!json.ok) return [{ check: 'JSON', passed: false, words: json.reason, code: '000104' }]
  const findings: Finding[] = [{ check: 'JSON', passed: true, words: 'one object' }]
  const name = path === undefined ? undefined : operationOf(path)
  if (name === undefined || !isOperationName(name)) return findings
  const request = parseRequest(name, json.value)
  const words = request.ok
    ? `valid for ${name}`
    : request.details.map(({ field, reason }) => `${field}: ${reason}`).join(' ')
  findings.push({ check: 'parameters', passed: request.ok, words, ...(request.ok ? {} : { code: request.code }) })
  return findings
}

async function diagnoseEvent(request: CapturedRequest, { appSecret, nowMs }: DiagnosisInput): Promise<Finding[]> {
  const { headers, body } = request
  try {
    const event = await verifyEvent({ appSecret, headers, body, now: () => nowMs })
    return [{ check: 'event', passed: true, words: `${event.notifyType} ${event.notifyId} is genuine` }]
  } catch (error) {
    if (!(error instanceof DealerEsimError)) throw error
    const variants = [body.toString('utf8').replace(/\r?\n$/, ''), compact(body)]
    for (const variant of variants) {
      const genuine = await verifyEvent({ appSecret, headers, body: variant, now: () => nowMs }).catch(() => undefined)
      if (genuine === undefined) continue
      const words = `does not verify as received, but does without the added spaces and line breaks (${variant.length} bytes). Verify the raw bytes, before any JSON parser.`
      return [{ check: 'event', passed: false, words }]
    }
    return error.details.map(({ field, reason }) => ({ check: field, passed: false, words: reason }))
  }
}

function compact(body: Buffer): string {
  try {
    return JSON.stringify(JSON.parse(body.toString('utf8')))
  } catch {
    return ''
  }
}

/** The gateway's answer: the code of the first failed check. */
export function expectedAnswer(findings: readonly Finding[]): { code: FailureCode; remedy: string } | undefined {
  const code = findings.find((finding) => finding.passed === false)?.code
  return code && { code, remedy: codes[code].remedy }
}
