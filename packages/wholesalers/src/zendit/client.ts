import Type, { type Static } from 'typebox'
import { eventAddressesMember } from '#event-senders.ts'
import type { JsonObject } from '#members.ts'
import { type RestAnswer, type RestDeps, restClient, restMembers } from '#rest-client.ts'
import { secretSetting } from '#supplier-settings.ts'

const MINUTE_MS = 60_000

/** Defaults for settings that a configuration leaves out. */
export const DEFAULTS = {
  url: 'https://api.zendit.io/v1', // the url includes the version
  settlesMs: MINUTE_MS,
  giveUpAfterMs: 60 * MINUTE_MS,
  concurrency: 16,
}

export const zenditConfig = Type.Object(
  {
    apiKey: secretSetting('API key', {
      description: 'Of the environment, test or production: it decides which wallet pays.',
      maxLength: 512,
      pattern: '^[\\x21-\\x7e]+$',
    }),
    ...eventAddressesMember(),
    ...restMembers(DEFAULTS),
  },
  { additionalProperties: false },
)
export type ZenditConfig = Static<typeof zenditConfig>

export interface ZenditClient {
  get(path: string, query?: Record<string, string>): Promise<RestAnswer>
  post(path: string, body: JsonObject | undefined): Promise<RestAnswer>
}

export function zenditClient(supplier: string, config: ZenditConfig, deps: RestDeps): ZenditClient {
  const headers = { authorization: `Bearer ${config.apiKey}` }
  const send = restClient(supplier, { ...config, url: config.url ?? DEFAULTS.url, headers }, deps)
  return {
    get: (path, query = {}) => send('GET', path, { query }),
    post: (path, body) => send('POST', path, { body }),
  }
}
