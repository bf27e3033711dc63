import { createHmac } from 'node:crypto'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import Type, { type Static } from 'typebox'
import { accountRate } from '#account-rate.ts'
import type { JsonObject } from '#members.ts'
import { type RestAnswer, type RestDeps, restClient, restMembers } from '#rest-client.ts'
import { currencySetting, secretSetting } from '#supplier-settings.ts'
import { accountTokens, type FetchedToken } from './token.ts'

const MINUTE_MS = 60_000
/** Airalo lists an order only after about a minute, and we repeat an order that the list does not have. */
const SETTLES_MIN_MS = 5 * MINUTE_MS

/** Per ICCID. */
const USAGES_PER_MINUTE = 100

/** Defaults for settings that a configuration leaves out. */
export const DEFAULTS = {
  url: 'https://partners-api.airalo.com/v2', // the url includes the version
  currencyCode: 'USD',
  // An order appears in Airalo's list after about a minute. We wait many times that long before we buy again.
  settlesMs: 15 * MINUTE_MS,
  giveUpAfterMs: 60 * MINUTE_MS,
  concurrency: 16,
}

export const airaloConfig = Type.Object(
  {
    clientId: Type.String({ title: 'Client ID', minLength: 1, maxLength: 256 }),
    clientSecret: secretSetting('Client secret', { description: 'It also signs events.', maxLength: 512 }),
    currencyCode: Type.Optional(currencySetting(DEFAULTS.currencyCode)),
    ...restMembers(DEFAULTS),
    settlesMs: Type.Optional(
      Type.Integer({
        title: 'Late listing (ms)',
        description: 'How long after the time-out an order may still appear in Airalo’s list.',
        default: DEFAULTS.settlesMs,
        minimum: SETTLES_MIN_MS,
        maximum: 24 * 60 * MINUTE_MS,
        advanced: true,
      }),
    ),
  },
  { additionalProperties: false },
)
export type AiraloConfig = Static<typeof airaloConfig>

export interface AiraloClient {
  get(path: string, query?: Record<string, string>): Promise<RestAnswer>
  /**
   * Uses a new connection. On one that the server has just closed, an order could be left in doubt, which costs more than a
   * new connection.
   */
  post(path: string, body: JsonObject): Promise<RestAnswer>
  /** Airalo limits these requests per ICCID. They do not count towards the account's limit. */
  getUsage(iccid: string): Promise<RestAnswer>
}

export interface AiraloDeps extends RestDeps {
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
}

export function airaloClient(supplier: string, config: AiraloConfig, deps: AiraloDeps): AiraloClient {
  const { clientId, clientSecret, share, timeoutMs } = config
  const account = { ...config, url: config.url ?? DEFAULTS.url, headers: {} }
  const send = restClient(supplier, account, deps)
  const credentials = [account.url, clientId, clientSecret]
  const form = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials' }
  const tokens = accountTokens(supplier, credentials, { ...deps, timeoutMs, share }, () =>
    send('POST', '/token', { form, headers: signatureOf(form) }),
  )

  /** Airalo signs the JSON, in whichever form the members are sent. */
  function signatureOf(body: JsonObject): Record<string, string> {
    return { 'airalo-signature': sign(clientSecret, JSON.stringify(body)).toString('hex') }
  }

  /** A token that Airalo refuses is fetched again once: the refused request was not executed. */
  async function withToken(request: (headers: Record<string, string>) => Promise<RestAnswer>): Promise<RestAnswer> {
    const token = await tokens.get()
    if (token.kind === 'none') return notSent(token)
    const answer = await request(bearer(token.token))
    if (answer.kind === 'failed' || answer.status !== 401) return answer
    const other = await tokens.get(token.token)
    return other.kind === 'none' ? answer : request(bearer(other.token))
  }

  const get: AiraloClient['get'] = (path, query = {}) => withToken((headers) => send('GET', path, { query, headers }))
  return {
    get,
    async getUsage(iccid) {
      const rate = accountRate(deps.db, `${supplier}:${iccid}`, { perSecond: USAGES_PER_MINUTE / 60 })
      if (!(await rate.turn().catch(() => false))) {
        return { kind: 'failed', sent: false, message: 'not sent: the rate limit of this eSIM’s usage is used up' }
      }
      return get(`/sims/${encodeURIComponent(iccid)}/usage`)
    },
    post(path, body) {
      const signature = signatureOf(body)
      return withToken((headers) => send('POST', path, { body, headers: { ...headers, ...signature }, reuse: false }))
    },
  }
}

/** The HMAC with which Airalo and its clients sign bodies. */
export function sign(secret: string, body: string | Buffer): Buffer {
  return createHmac('sha512', secret).update(body).digest()
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

function notSent({ message, phase }: Extract<FetchedToken, { kind: 'none' }>): RestAnswer {
  return { kind: 'failed', sent: false, message: `not sent: ${message}`, ...(phase && { phase }) }
}
