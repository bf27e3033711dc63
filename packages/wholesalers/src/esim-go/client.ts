import Type, { type Static } from 'typebox'
import { TURN_WAIT_MAX_MS } from '#account-rate.ts'
import { type RestAnswer, type RestDeps, restClient, restMembers } from '#rest-client.ts'
import { secretSetting } from '#supplier-settings.ts'

const MINUTE_MS = 60_000

/** Defaults for settings that a configuration leaves out. */
export const DEFAULTS = {
  url: 'https://api.esim-go.com/v2.5', // the url includes the version
  perSecond: 10, // the documented rate limit of an account
  settlesMs: MINUTE_MS,
  giveUpAfterMs: 60 * MINUTE_MS,
  concurrency: 8,
}

export const esimGoConfig = Type.Object(
  {
    apiKey: secretSetting('API key', { maxLength: 512, pattern: '^[\\x21-\\x7e]+$' }),
    ...restMembers(DEFAULTS),
  },
  { additionalProperties: false },
)
export type EsimGoConfig = Static<typeof esimGoConfig>

/** A purchase is sent within this time after its claim (orders.ts), or not at all. */
export const SEND_WITHIN_MS = TURN_WAIT_MAX_MS

export interface EsimGoClient {
  /** Buys a bundle with a new eSIM, or adds it to an eSIM. */
  order(bundle: string, iccid: string | undefined): Promise<RestAnswer>
  /** Revokes a bundle that was not started, for a refund to the balance. */
  revoke(iccid: string, bundle: string): Promise<RestAnswer>
  /** Sends an SMS under the only sender that every account has. */
  sms(iccid: string, message: string): Promise<RestAnswer>
  get(path: string, query?: Record<string, string>): Promise<RestAnswer>
}

export function esimGoClient(supplier: string, config: EsimGoConfig, deps: RestDeps): EsimGoClient {
  const { apiKey, perSecond = DEFAULTS.perSecond, url = DEFAULTS.url } = config
  const send = restClient(supplier, { ...config, url, perSecond, headers: { 'x-api-key': apiKey } }, deps)
  return {
    order(item, iccid) {
      const line = { type: 'bundle', quantity: 1, item, ...(iccid === undefined ? {} : { iccids: [iccid] }) }
      const body = { type: 'transaction', assign: true, order: [line] }
      return send('POST', '/orders', { body, sendWithinMs: SEND_WITHIN_MS })
    },
    revoke: (iccid, bundle) =>
      send('DELETE', `${bundlesPath(iccid)}/${encodeURIComponent(bundle)}`, {
        query: { type: 'transaction', refundToBalance: 'true' },
      }),
    sms: (iccid, message) =>
      send('POST', `/esims/${encodeURIComponent(iccid)}/sms`, { body: { message, from: 'eSIM' }, reuse: false }),
    get: (path, query = {}) => send('GET', path, { query }),
  }
}

export function bundlesPath(iccid: string): string {
  return `/esims/${encodeURIComponent(iccid)}/bundles`
}
