import Type, { type Static } from 'typebox'
import type { Outbound, OutboundFailure } from '../../lib/outbound/outbound.ts'

const MINUTE_MS = 60_000

export const zenditConfig = Type.Object(
  {
    /** Secret of the environment, test or production: it decides which wallet pays. */
    apiKey: Type.String({ minLength: 1, maxLength: 512, pattern: '^[\\x21-\\x7e]+$' }),
    /** With the version, such as https://api.zendit.io/v1. */
    url: Type.Optional(Type.String({ pattern: '^https?://', maxLength: 2048 })),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 100, maximum: 2 * MINUTE_MS })),
    /** How long after our time-out Zendit may still execute a call. */
    settlesMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60 * MINUTE_MS })),
    giveUpAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 7 * 24 * 60 * MINUTE_MS })),
    concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    perSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  },
  { additionalProperties: false },
)
export type ZenditConfig = Static<typeof zenditConfig>

export const URL_DEFAULT = 'https://api.zendit.io/v1'
export const TIMEOUT_MS = 15_000
/** A page of 1,024 offers, each with its countries. */
const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024

/** An answer of Zendit, or why there is none. */
export type ZenditAnswer = ZenditReply | OutboundFailure

export interface ZenditReply {
  kind: 'reply'
  status: number
  /** undefined: not a complete JSON object. */
  body: JsonObject | undefined
  retryAfterMs: number | undefined
  /** By the clock of the server. */
  time: Date | undefined
}

export type JsonObject = Readonly<Record<string, unknown>>

export interface ZenditClient {
  get(path: string, query?: Record<string, string>): Promise<ZenditAnswer>
  post(path: string, body: JsonObject | undefined): Promise<ZenditAnswer>
}

export function zenditClient(config: ZenditConfig, outbound: Outbound): ZenditClient {
  const base = (config.url ?? URL_DEFAULT).replace(/\/+$/, '')

  async function send(method: 'GET' | 'POST', path: string, body: string | undefined): Promise<ZenditAnswer> {
    const outcome = await outbound.request({
      url: `${base}${path}`,
      method,
      headers: {
        authorization: `Bearer ${config.apiKey}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: config.timeoutMs ?? TIMEOUT_MS,
      answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
      allowPrivate: true, // configured by an operator
    })
    if (outcome.kind === 'failed') return outcome
    const { status, headers, truncated } = outcome
    return {
      kind: 'reply',
      status,
      body: truncated ? undefined : parseObject(outcome.body),
      retryAfterMs: parseRetryAfter(headers['retry-after']),
      time: parseTime(headers.date),
    }
  }

  return {
    get: (path, query = {}) =>
      send('GET', Object.keys(query).length === 0 ? path : `${path}?${queryOf(query)}`, undefined),
    post: (path, body) => send('POST', path, body === undefined ? undefined : JSON.stringify(body)),
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function queryOf(query: Record<string, string>): string {
  return new URLSearchParams(query).toString()
}

function parseObject(body: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body.toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const RETRY_AFTER_MAX_S = 3_600

/** Accepts seconds only: Zendit documents no other form. */
function parseRetryAfter(header: unknown): number | undefined {
  return typeof header === 'string' && /^\d{1,6}$/.test(header)
    ? Math.min(Number(header), RETRY_AFTER_MAX_S) * 1000
    : undefined
}

function parseTime(header: unknown): Date | undefined {
  const time = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time)
}
