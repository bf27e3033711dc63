import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'

/** A request of a verification with its answer, without data that identifies an eSIM or gives access to an account. */
export interface KeptAnswer {
  method: string
  /** The path, without the query. */
  path: string
  /** undefined: there was no answer. */
  status?: number
  /** The shape of a JSON answer: names, types, states and amounts. */
  body?: unknown
}

const ANSWERS_MAX = 50

/** Sends through `outbound` and keeps each answer, redacted. */
export function keepingAnswers(outbound: Outbound, kept: KeptAnswer[]): Outbound {
  return {
    async request(request) {
      const outcome = await outbound.request(request)
      if (kept.length < ANSWERS_MAX) {
        const { pathname } = new URL(request.url)
        const parts = pathname.split('/').map((part) => (/\d{6}/.test(part) ? '…' : part))
        const answer: KeptAnswer = { method: request.method, path: parts.join('/') }
        if (outcome.kind === 'answer') Object.assign(answer, { status: outcome.status, body: redactText(outcome.body) })
        kept.push(answer)
      }
      return outcome
    },
    close: () => outbound.close(),
  }
}

function redactText(body: Buffer): unknown {
  try {
    return redact(JSON.parse(body.toString()))
  } catch {
    return `${body.length} bytes that are not JSON`
  }
}

/** Members whose short texts are states and codes of the interface. */
const SHOWN =
  /^(status|state|orderState|esimStatus|smdpStatus|bundleState|type|errorCode|code|currency|currencyCode|costCurrency|statusCode)$/
const STATE = /^[A-Za-z0-9_.-]{1,24}$/
const ROWS_MAX = 3
/** Longer numbers may be identifiers. */
const NUMBER_MAX = 10_000_000

/** Pure: keeps names, types, short states and amounts of a JSON value. Every other text becomes its length. */
export function redact(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) {
    const rows = value.slice(0, ROWS_MAX).map((row) => redact(row, name))
    return value.length > ROWS_MAX ? [...rows, `… ${value.length} in all`] : rows
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, redact(inner, member)]))
  }
  if (typeof value === 'string') return SHOWN.test(name) && STATE.test(value) ? value : `text of ${value.length}`
  if (typeof value === 'number') return Math.abs(value) > NUMBER_MAX ? 'a long number' : value
  return value
}
