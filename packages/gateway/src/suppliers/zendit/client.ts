import Type, { type Static } from 'typebox'
import type { Outbound, OutboundFailure } from '../../lib/outbound/outbound.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { accountRate } from '../account-rate.ts'
import { type JsonObject, parseObject } from '../members.ts'
import { accountRateSettings, addressSetting, callSettings, secretSetting } from '../settings.ts'

export const zenditConfig = Type.Object(
  {
    apiKey: secretSetting('API key', {
      description: 'Of the environment, test or production: it decides which wallet pays.',
      maxLength: 512,
      pattern: '^[\\x21-\\x7e]+$',
    }),
    url: Type.Optional(addressSetting('With the version, such as https://api.zendit.io/v1, which is used by default.')),
    ...callSettings(),
    ...accountRateSettings(),
  },
  { additionalProperties: false },
)
export type ZenditConfig = Static<typeof zenditConfig>

export const URL_DEFAULT = 'https://api.zendit.io/v1'
export const TIMEOUT_MS = 15_000
/** A page of 1,024 offers, each with its countries. */
const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024

/** A reply of Zendit, or the failure to get one. */
export type ZenditAnswer = ZenditReply | ZenditFailure

export type ZenditFailure = Pick<OutboundFailure, 'kind' | 'sent' | 'message'> & Partial<Pick<OutboundFailure, 'phase'>>

export interface ZenditReply {
  kind: 'reply'
  status: number
  /** undefined: not a complete JSON object. */
  body: JsonObject | undefined
  retryAfterMs: number | undefined
  /** By the clock of the server. */
  time: Date | undefined
}

export interface ZenditClient {
  get(path: string, query?: Record<string, string>): Promise<ZenditAnswer>
  post(path: string, body: JsonObject | undefined): Promise<ZenditAnswer>
}

export interface ZenditDeps {
  outbound: Outbound
  db: Pick<Db, 'query'>
}

export function zenditClient(supplier: string, config: ZenditConfig, deps: ZenditDeps): ZenditClient {
  const { perSecond, share } = config
  const rate = perSecond === undefined ? undefined : accountRate(deps.db, supplier, { perSecond, share })
  const base = (config.url ?? URL_DEFAULT).replace(/\/+$/, '')

  async function send(method: 'GET' | 'POST', path: string, body: string | undefined): Promise<ZenditAnswer> {
    const hasTurn = rate === undefined || (await rate.turn().catch(() => undefined))
    if (!hasTurn) {
      const why = hasTurn === false ? 'the rate limit of the account is used up' : 'the database is not reachable'
      return { kind: 'failed', sent: false, message: `not sent: ${why}` }
    }
    const outcome = await deps.outbound.request({
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
      body: truncated ? undefined : parseObject(outcome.body.toString()),
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

function queryOf(query: Record<string, string>): string {
  return new URLSearchParams(query).toString()
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
