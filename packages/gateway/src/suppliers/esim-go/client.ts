import Type, { type Static } from 'typebox'
import { TURN_WAIT_MAX_MS } from '../account-rate.ts'
import { REST_MEMBERS, type RestAnswer, type RestDeps, restClient } from '../rest-client.ts'
import { secretSetting } from '../settings.ts'

export const esimGoConfig = Type.Object(
  {
    apiKey: secretSetting('API key', { maxLength: 512, pattern: '^[\\x21-\\x7e]+$' }),
    ...REST_MEMBERS,
  },
  { additionalProperties: false },
)
export type EsimGoConfig = Static<typeof esimGoConfig>

/** The url includes the version. */
export const URL_DEFAULT = 'https://api.esim-go.com/v2.5'
/** The documented rate limit of an account. */
export const PER_SECOND = 10
/** A purchase is sent within this time after its claim (orders.ts), or not at all. */
export const SEND_WITHIN_MS = TURN_WAIT_MAX_MS

export interface EsimGoClient {
  /** Buys a bundle with a new eSIM, or adds it to an eSIM. */
  order(bundle: string, iccid: string | undefined): Promise<RestAnswer>
  /** Revokes a bundle that was not started, for a refund to the balance. */
  revoke(iccid: string, bundle: string): Promise<RestAnswer>
  get(path: string, query?: Record<string, string>): Promise<RestAnswer>
}

export function esimGoClient(supplier: string, config: EsimGoConfig, deps: RestDeps): EsimGoClient {
  const { apiKey, perSecond = PER_SECOND, url = URL_DEFAULT } = config
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
    get: (path, query = {}) => send('GET', path, { query }),
  }
}

export function bundlesPath(iccid: string): string {
  return `/esims/${encodeURIComponent(iccid)}/bundles`
}
