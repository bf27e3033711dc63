import { systemClock } from '@dealer-esim/lib/clock.ts'
import type { Outbound, OutboundFailure, OutboundRequest } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import Type from 'typebox'
import { accountRate, TURN_WAIT_MAX_MS } from './account-rate.ts'
import { entriesOf, isObject, isText, type JsonObject, parseJson } from './members.ts'
import {
  accountRateSettings,
  addressSetting,
  type CallDefaults,
  callSettings,
  spendLimitSetting,
} from './supplier-settings.ts'

/** The configuration that all wholesalers with a JSON interface have. `url` includes the path that all requests share. */
export const restMembers = ({ url, perSecond, ...calls }: RestDefaults) => ({
  url: Type.Optional(addressSetting('Only if it is not the public address of the wholesaler.', { default: url })),
  ...spendLimitSetting(),
  ...callSettings({ timeoutMs: TIMEOUT_MS, ...calls }),
  ...accountRateSettings(perSecond),
})

interface RestDefaults extends Omit<CallDefaults, 'timeoutMs'> {
  url: string
  perSecond?: number
}

export const TIMEOUT_MS = 15_000
/** Enough for a catalogue of a few thousand products, each with its countries. */
const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024

/** The wholesaler's reply, or the failure to get one. */
export type RestAnswer = RestReply | RestFailure

/** Without a phase the request was not sent, because the account's rate limit is used up. */
export type RestFailure = Pick<OutboundFailure, 'kind' | 'sent' | 'message'> & Partial<Pick<OutboundFailure, 'phase'>>

export interface RestReply {
  kind: 'reply'
  status: number
  /** undefined: not a complete JSON object. */
  body: JsonObject | undefined
  /** The entries of a reply that is a JSON array. */
  list?: readonly unknown[]
  /** The title of a reply that is a web page, as proxies send. */
  page?: string
  retryAfterMs: number | undefined
  /** The time of the reply by the server's clock. */
  time: Date | undefined
}

/** Sends a request with a path below the url. */
export type RestClient = (method: OutboundRequest['method'], path: string, content?: RestContent) => Promise<RestAnswer>

interface RestContent {
  query?: Record<string, string>
  body?: JsonObject | undefined
  /** The request is not sent if the rate limit delays it for longer than this. */
  sendWithinMs?: number
  /** A form to send instead of a body. */
  form?: Record<string, string>
  /** Headers in addition to the account's. */
  headers?: Record<string, string>
  /** false: use a new connection, if an unknown outcome costs more than a handshake. */
  reuse?: boolean
}

export interface RestDeps {
  outbound: Outbound
  db: Pick<Db, 'query'>
}

interface RestAccount {
  url: string
  /** Headers that identify the account. */
  headers: Record<string, string>
  timeoutMs?: number | undefined
  perSecond?: number | undefined
  share?: number | undefined
}

/** Sends JSON, within the account's rate limit. */
export function restClient(supplier: string, account: RestAccount, deps: RestDeps): RestClient {
  const { perSecond, share, timeoutMs = TIMEOUT_MS } = account
  const rate = accountRate(deps.db, supplier, { perSecond, share })
  const base = account.url.replace(/(?<!\/)\/+$/, '')
  return async (method, path, { query = {}, body, form, headers: ownHeaders, reuse, sendWithinMs } = {}) => {
    const startedAt = systemClock.monotonic()
    const hasTurn = await rate.turn().catch(() => undefined)
    if (!hasTurn) {
      const why = hasTurn === false ? 'the rate limit of the account is used up' : 'the database is not reachable'
      return { kind: 'failed', sent: false, message: `not sent: ${why}` }
    }
    if (sendWithinMs !== undefined && systemClock.monotonic() - startedAt > sendWithinMs) {
      return { kind: 'failed', sent: false, message: 'not sent: it had to wait too long' }
    }
    const search = new URLSearchParams(query).toString()
    const outcome = await deps.outbound.request({
      url: `${base}${path}${search === '' ? '' : `?${search}`}`,
      method,
      headers: {
        ...account.headers,
        ...ownHeaders,
        accept: 'application/json',
        ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(form ? { body: new URLSearchParams(form).toString() } : {}),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(reuse === undefined ? {} : { reuse }),
      timeoutMs,
      answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
      allowPrivate: true, // configured by an operator
    })
    if (outcome.kind === 'failed') return outcome
    const { status, headers, truncated } = outcome
    return {
      kind: 'reply',
      status,
      ...contentOf(truncated ? '' : outcome.body.toString()),
      retryAfterMs: parseRetryAfter(headers['retry-after']),
      time: parseTime(headers.date),
    }
  }
}

function contentOf(text: string): Pick<RestReply, 'body' | 'list' | 'page'> {
  const content = parseJson(text)
  if (Array.isArray(content)) return { body: undefined, list: content }
  if (isObject(content)) return { body: content }
  const page = pageTitleOf(text)
  return { body: undefined, ...(page && { page }) }
}

/** @returns undefined if the text is not a web page with a title */
export function pageTitleOf(text: string): string | undefined {
  const [, title] = /<title[^<>]{0,100}>([^<]{1,200})/i.exec(text) ?? []
  return title?.trim()
}

/**
 * The entries of a list: of one of these members, or of the whole reply if that is an array or an object keyed by numbers.
 * @returns undefined if the reply has no list
 */
export function listOf({ body, list }: RestReply, ...names: string[]): readonly unknown[] | undefined {
  if (list !== undefined || body === undefined) return list
  const named = names.map((name) => entriesOf(body[name])).find((entries) => entries !== undefined)
  if (named !== undefined) return named
  const keys = Object.keys(body)
  return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? Object.values(body) : undefined
}

/**
 * The rows of a page of a list: of a member, or of a reply that is the bare list.
 * @param wasBare the page before was bare too: then an object without members is an empty page
 * @returns undefined if the reply has no list
 */
export function pageOf(
  reply: RestReply,
  name: string,
  wasBare: boolean,
): { rows: readonly unknown[]; isBare: boolean } | undefined {
  const named = entriesOf(reply.body?.[name])
  if (named !== undefined) return { rows: named, isBare: false }
  const isEmpty = wasBare && reply.body !== undefined && Object.keys(reply.body).length === 0
  const rows = listOf(reply) ?? (isEmpty ? [] : undefined)
  return rows && { rows, isBare: true }
}

/** The message for an operator about a reply: what it says, or what it is. */
export function describeReply(by: string, { status, page }: RestReply, ...texts: unknown[]): string {
  const text = texts.find(isText)
  if (text !== undefined) return `status ${status}: ${text}`
  const content = page === undefined ? 'no readable body' : `the page “${page}”`
  return `${by} answered with status ${status} and ${content}`
}

/** The message about a test that a proxy in front of the wholesaler refused, such as Cloudflare: no credentials are at fault. */
export function describeBlocked(by: string, reply: RestReply): string | undefined {
  if (reply.status !== 403 || reply.body !== undefined || reply.list !== undefined) return undefined
  const message = withoutStop(describeReply(by, reply))
  return `Address: ${message}. ${by}'s network refuses this gateway: ask ${by} to allow its outgoing address.`
}

/** The message without its full stop, so that a sentence can follow it. */
export function withoutStop(message: string): string {
  return message.replace(/(?<![\s.])[\s.]+$/, '')
}

const RETRY_AFTER_MAX_S = 3_600

/** Accepts seconds only: no wholesaler documents a different form. */
function parseRetryAfter(header: unknown): number | undefined {
  return typeof header === 'string' && /^\d{1,6}$/.test(header)
    ? Math.min(Number(header), RETRY_AFTER_MAX_S) * 1000
    : undefined
}

/**
 * The time of an event that names none, which has just arrived. Answers have their time in whole seconds: the one to the
 * question that the event causes must be newer.
 */
export function timeOfEvent(): Date {
  return new Date(Math.floor(systemClock.now() / 1_000) * 1_000 - 1_000)
}

function parseTime(header: unknown): Date | undefined {
  const time = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time)
}

/** The longest time that this many consecutive requests take, including their waits for the account's rate limit. */
export function longestMs(requests: number, { timeoutMs = TIMEOUT_MS, perSecond }: Partial<RestAccount>): number {
  return requests * (timeoutMs + (perSecond === undefined ? 0 : TURN_WAIT_MAX_MS))
}

/**
 * Decides from an answer whether the supplier as a whole seems to be down. A request that only waited for the rate limit does
 * not show that.
 */
export function downOf(answer: RestAnswer): { down?: true } {
  const isDown = answer.kind === 'failed' ? answer.phase !== undefined : answer.status >= 500
  return isDown ? { down: true } : {}
}

/** The message about a test without a reply: the layer at fault and what to do about it. */
export function describeFailure({ phase, message }: RestFailure): string {
  if (phase === 'dns') return `DNS: the name does not resolve: ${message}. Check the url.`
  if (phase === 'tls') return `TLS: the handshake failed: ${message}. Check the url.`
  return `Connection: ${message}. Check the url and the firewall.`
}
