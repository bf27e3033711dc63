import { createHmac } from 'node:crypto'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import Type, { type Static } from 'typebox'
import { accountRate } from '#account-rate.ts'
import { eventAddressesMember } from '#event-senders.ts'
import { entriesOf, isObject, isText, type JsonObject, parseObject } from '#members.ts'
import { pageTitleOf } from '#rest-client.ts'
import {
  accountRateSettings,
  addressSetting,
  callSettings,
  currencySetting,
  secretSetting,
  spendLimitSetting,
} from '#supplier-settings.ts'

const MINUTE_MS = 60_000

/** Defaults for settings that a configuration leaves out. */
export const DEFAULTS = {
  url: 'https://api.esimaccess.com',
  currencyCode: 'USD',
  perSecond: 8, // the documented rate limit of an account
  timeoutMs: 15_000,
  settlesMs: MINUTE_MS,
  giveUpAfterMs: 60 * MINUTE_MS,
  concurrency: 8,
}

export const esimAccessConfig = Type.Object(
  {
    accessCode: secretSetting('AccessCode'),
    secretKey: secretSetting('SecretKey'),
    url: Type.Optional(
      addressSetting('Without /api/v1/open. Only for another wholesaler with the interface of eSIM Access.', {
        default: DEFAULTS.url,
      }),
    ),
    currencyCode: Type.Optional(currencySetting(DEFAULTS.currencyCode)),
    ...eventAddressesMember(),
    ...spendLimitSetting(),
    ...callSettings(DEFAULTS, 100),
    ...accountRateSettings(DEFAULTS.perSecond, 1_000),
  },
  { additionalProperties: false },
)
export type EsimAccessConfig = Static<typeof esimAccessConfig>

/** A catalogue of 3 000 packages takes 3 MB. */
const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024

export type RtAnswer =
  /** `list`: the entries, if `obj` is an array. */
  | { kind: 'done'; obj: JsonObject; list?: readonly unknown[] }
  /** A failure in the interface's own form. */
  | { kind: 'failed'; code: string; message: string }
  /**
   * No answer, or none in the interface's format. `sent`: it may have been executed. `refusal`: from a proxy, which says no
   * more.
   */
  | { kind: 'none'; message: string; sent: boolean; phase?: string; down?: true; refusal?: 'blocked' | 'busy' }

/** One call of an operation, such as `esim/order`. */
export type Call = (operation: string, body: JsonObject) => Promise<RtAnswer>

export interface EsimAccessDeps {
  db: Db
  ids: Ids
  outbound: Outbound
}

export function createCall(supplier: string, config: EsimAccessConfig, deps: EsimAccessDeps): Call {
  const base = (config.url ?? DEFAULTS.url).replace(/(?<!\/)\/+$/, '').replace(/\/api\/v1\/open$/, '')
  const rate = accountRate(deps.db, supplier, {
    perSecond: config.perSecond ?? DEFAULTS.perSecond,
    share: config.share,
  })
  return async (operation, members) => {
    const hasTurn = await rate.turn().catch(() => undefined)
    if (!hasTurn) {
      const why = hasTurn === false ? 'the rate limit of the account is used up' : 'the database is not reachable'
      return { kind: 'none', message: `not sent: ${why}`, sent: false }
    }
    const body = JSON.stringify(members)
    const outcome = await deps.outbound.request({
      url: `${base}/api/v1/open/${operation}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...sign(config, deps.ids.uuid(), body) },
      body,
      timeoutMs: config.timeoutMs ?? DEFAULTS.timeoutMs,
      answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
      allowPrivate: true, // configured by an operator
    })
    if (outcome.kind === 'failed') {
      const { message, sent, phase } = outcome
      return { kind: 'none', message, sent, phase, down: true }
    }
    return parseAnswer(outcome.status, outcome.truncated ? '' : outcome.body.toString())
  }
}

function sign({ accessCode, secretKey }: EsimAccessConfig, requestId: string, body: string): Record<string, string> {
  const timestamp = String(systemClock.now())
  const signed = timestamp + requestId + accessCode + body
  return {
    'RT-AccessCode': accessCode,
    'RT-RequestID': requestId,
    'RT-Timestamp': timestamp,
    'RT-Signature': createHmac('sha256', secretKey).update(signed).digest('hex'),
  }
}

/** Pure: reads an answer. Failures can also arrive with HTTP 200. */
export function parseAnswer(status: number, text: string): RtAnswer {
  const answer = parseObject(text)
  if (answer?.success === true) {
    if (Array.isArray(answer.obj)) return { kind: 'done', obj: {}, list: answer.obj }
    return { kind: 'done', obj: isObject(answer.obj) ? answer.obj : answer }
  }
  const code = answer?.errorCode
  if (answer?.success === false && typeof code === 'string' && /^\d{6}$/.test(code)) {
    const message = [answer.errorMsg, answer.errorMessage].find((one) => typeof one === 'string' && one !== '')
    return { kind: 'failed', code, message: `${code}: ${message ?? 'no message'}` }
  }
  // A request that was refused before it reached the interface, by a proxy for example, was not executed.
  const isRefused = status >= 400 && status < 500 && status !== 408
  const page = answer === undefined ? pageTitleOf(text) : undefined
  const said = [answer?.errorMsg, answer?.errorMessage, answer?.message].find(isText)
  const content = page === undefined ? 'without a valid answer' : `and the page “${page}”`
  const message = said === undefined ? `HTTP ${status} ${content}` : `HTTP ${status}: ${said}`
  const refusal = status === 429 ? 'busy' : status === 403 && answer === undefined ? 'blocked' : undefined
  return { kind: 'none', message, sent: !isRefused, down: true, ...(refusal && { refusal }) }
}

/** The entries of a list in an answer, under its name or instead of the object. */
export function entriesIn({ obj, list }: Extract<RtAnswer, { kind: 'done' }>, name: string) {
  return list ?? entriesOf(obj[name])
}
