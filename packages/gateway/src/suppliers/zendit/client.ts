import Type, { type Static } from 'typebox'
import type { JsonObject } from '../members.ts'
import { REST_MEMBERS, type RestAnswer, type RestDeps, restClient } from '../rest-client.ts'
import { secretSetting } from '../settings.ts'

export const zenditConfig = Type.Object(
  {
    apiKey: secretSetting('API key', {
      description: 'Of the environment, test or production: it decides which wallet pays.',
      maxLength: 512,
      pattern: '^[\\x21-\\x7e]+$',
    }),
    ...REST_MEMBERS,
  },
  { additionalProperties: false },
)
export type ZenditConfig = Static<typeof zenditConfig>

/** A url has the version. */
export const URL_DEFAULT = 'https://api.zendit.io/v1'

export interface ZenditClient {
  get(path: string, query?: Record<string, string>): Promise<RestAnswer>
  post(path: string, body: JsonObject | undefined): Promise<RestAnswer>
}

export function zenditClient(supplier: string, config: ZenditConfig, deps: RestDeps): ZenditClient {
  const headers = { authorization: `Bearer ${config.apiKey}` }
  const send = restClient(supplier, { ...config, url: config.url ?? URL_DEFAULT, headers }, deps)
  return {
    get: (path, query = {}) => send('GET', path, { query }),
    post: (path, body) => send('POST', path, { body }),
  }
}
