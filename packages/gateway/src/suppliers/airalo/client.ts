import Type, { type Static } from 'typebox'
import type { Cipher } from '../../lib/crypto.ts'
import type { Outbound, OutboundRequest } from '../../lib/outbound/outbound.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { type AccountRate, accountRate } from '../account-rate.ts'
import { type JsonObject, parseObject } from '../members.ts'
import { accountRateSettings, addressSetting, callSettings, currencySetting, secretSetting } from '../settings.ts'
import type { AiraloAnswer, AiraloFailure } from './answer.ts'
import { accountTokens, type FetchedToken } from './token.ts'

const MINUTE_MS = 60_000
/** Airalo's list of orders has an order only after about a minute, and an order that is not in it is bought again. */
const SETTLES_MIN_MS = 5 * MINUTE_MS

export const airaloConfig = Type.Object(
  {
    clientId: Type.String({ title: 'Client ID', minLength: 1, maxLength: 256 }),
    clientSecret: secretSetting('Client secret', { description: 'It also signs events.', maxLength: 512 }),
    url: Type.Optional(addressSetting('With the version. https://partners-api.airalo.com/v2 by default.')),
    currencyCode: Type.Optional(currencySetting()),
    ...callSettings(),
    settlesMs: Type.Optional(
      Type.Integer({
        title: 'Late orders (ms)',
        description: 'How long after the time-out an order may still appear in Airalo’s list.',
        minimum: SETTLES_MIN_MS,
        maximum: 24 * 60 * MINUTE_MS,
        advanced: true,
      }),
    ),
    ...accountRateSettings(),
  },
  { additionalProperties: false },
)
export type AiraloConfig = Static<typeof airaloConfig>

const URL_DEFAULT = 'https://partners-api.airalo.com/v2'
export const TIMEOUT_MS = 15_000
/** A page of the catalogue: 100 countries with their packages. */
const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024
/** Airalo's limit of usage requests. */
const USAGE_PER_SECOND = 100 / 60

export interface AiraloClient {
  get(path: string, query?: Record<string, string>): Promise<AiraloAnswer>
  /** Uses a new connection: it costs less than the doubt about an order on one that has just been closed. */
  post(path: string, body: JsonObject): Promise<AiraloAnswer>
  getUsage(iccid: string): Promise<AiraloAnswer>
}

export interface AiraloDeps {
  outbound: Outbound
  db: Pick<Db, 'query'>
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
}

type Sent = Pick<OutboundRequest, 'method' | 'body' | 'headers' | 'reuse'>

export function airaloClient(supplier: string, config: AiraloConfig, deps: AiraloDeps): AiraloClient {
  const { perSecond, share, timeoutMs = TIMEOUT_MS } = config
  const base = (config.url ?? URL_DEFAULT).replace(/\/+$/, '')
  const rate = perSecond === undefined ? undefined : accountRate(deps.db, supplier, { perSecond, share })
  // The name of a supplier has no colon.
  const usageRate = accountRate(deps.db, `${supplier}:usage`, { perSecond: USAGE_PER_SECOND, share })

  async function request(path: string, sent: Sent): Promise<AiraloAnswer> {
    const outcome = await deps.outbound.request({
      ...sent,
      url: `${base}${path}`,
      headers: { accept: 'application/json', ...sent.headers },
      timeoutMs,
      answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
      allowPrivate: true, // configured by an operator
    })
    if (outcome.kind === 'failed') return { ...outcome, down: true }
    const { status, headers, truncated } = outcome
    return {
      kind: 'reply',
      status,
      body: truncated ? undefined : parseObject(outcome.body.toString()),
      retryAfterMs: parseRetryAfter(headers['retry-after']),
      time: parseTime(headers.date),
    }
  }

  const { clientId, clientSecret } = config
  const tokens = accountTokens(supplier, [base, clientId, clientSecret], { ...deps, timeoutMs, share }, () => {
    const body = new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'client_credentials',
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return request('/token', { method: 'POST', headers, body: body.toString() })
  })

  /** A token that Airalo refuses is fetched again once: the refused request was not executed. */
  async function send(path: string, sent: Sent, limit: AccountRate | undefined): Promise<AiraloAnswer> {
    const hasTurn = limit === undefined || (await limit.turn().catch(() => undefined))
    if (!hasTurn) {
      const why = hasTurn === false ? 'the rate limit of the account is used up' : 'the database is not reachable'
      return { kind: 'failed', sent: false, message: `not sent: ${why}` }
    }
    const token = await tokens.get()
    if (token.kind === 'none') return notSent(token)
    const answer = await request(path, withToken(sent, token.token))
    if (answer.kind === 'failed' || answer.status !== 401) return answer
    const other = await tokens.get(token.token)
    return other.kind === 'none' ? answer : request(path, withToken(sent, other.token))
  }

  const get = (path: string, query: Record<string, string>, limit: AccountRate | undefined) =>
    send(Object.keys(query).length === 0 ? path : `${path}?${new URLSearchParams(query)}`, { method: 'GET' }, limit)
  return {
    get: (path, query = {}) => get(path, query, rate),
    getUsage: (iccid) => get(`/sims/${encodeURIComponent(iccid)}/usage`, {}, usageRate),
    post(path, body) {
      const headers = { 'content-type': 'application/json' }
      return send(path, { method: 'POST', headers, body: JSON.stringify(body), reuse: false }, rate)
    },
  }
}

function withToken(sent: Sent, token: string): Sent {
  return { ...sent, headers: { ...sent.headers, authorization: `Bearer ${token}` } }
}

function notSent({ message, down, phase }: Extract<FetchedToken, { kind: 'none' }>): AiraloFailure {
  return {
    kind: 'failed',
    sent: false,
    message: `not sent: ${message}`,
    ...(down && { down }),
    ...(phase && { phase }),
  }
}

const RETRY_AFTER_MAX_S = 3_600

/** Seconds only. */
function parseRetryAfter(header: unknown): number | undefined {
  return typeof header === 'string' && /^\d{1,6}$/.test(header)
    ? Math.min(Number(header), RETRY_AFTER_MAX_S) * 1000
    : undefined
}

function parseTime(header: unknown): Date | undefined {
  const time = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time)
}
