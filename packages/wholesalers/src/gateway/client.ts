import type { Outbound, OutboundFailure } from '@dealer-esim/lib/outbound/outbound.ts'
import { DealerEsim, DealerEsimError } from '@dealer-esim/sdk'
import Type, { type Static } from 'typebox'
import { addressSetting, callSettings, nodeRateSetting, secretSetting } from '#supplier-settings.ts'

/** Defaults for settings that a configuration leaves out. */
export const DEFAULTS = { timeoutMs: 15_000, settlesMs: 30_000, giveUpAfterMs: 60 * 60_000, concurrency: 32 }

export const gatewayConfig = Type.Object(
  {
    url: addressSetting('Of the upstream gateway, without /open-api/v1.'),
    appKey: Type.String({ title: 'AppKey', pattern: '^[A-Za-z0-9_-]{8,64}$' }),
    appSecret: secretSetting('AppSecret'),
    eventSecret: Type.Optional(secretSetting('AppSecret that signs events: of a restricted key, that of its account')),
    ...callSettings(DEFAULTS),
    ...nodeRateSetting(),
  },
  { additionalProperties: false },
)
export type GatewayConfig = Static<typeof gatewayConfig>

const ANSWER_SIZE_MAX_BYTES = 8 * 1024 * 1024

/** Makes one call through `lib/outbound`. Returns its value, or its failure and whether the request may have arrived. */
export type Upstream = <Value>(work: (client: DealerEsim) => Promise<Value>) => Promise<UpstreamAnswer<Value>>

export type UpstreamAnswer<Value> =
  | { value: Value }
  | { failure: DealerEsimError; sent: boolean; network: OutboundFailure | undefined }

/** Code of the failure of every call to an account that is a test twin, on a gateway that refuses those. */
export const TEST_ACCOUNT = 'TEST_ACCOUNT'
const TEST_ACCOUNT_MESSAGE =
  'the AppKey is that of a test twin, whose eSIMs no network accepts: enter the AppKey of the live account'
/** How often the account is asked whether it is a test twin. */
const MODE_EVERY_MS = 10 * 60_000

/**
 * Asks the account for its mode before anything else, and again every ten minutes. While the mode is TEST, each call fails with
 * TEST_ACCOUNT and nothing is sent. A gateway that answers no mode is live.
 */
export function onlyLive(upstream: Upstream, now: () => number = () => performance.now()): Upstream {
  let isTest = false
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined
  async function ask(): Promise<void> {
    const answer = await upstream((client) => client.health())
    if ('failure' in answer) return // so do the other calls, with their own failures
    isTest = (answer.value as { mode?: string }).mode === 'TEST'
    askedAt = now()
  }
  return async (work) => {
    if (now() - askedAt >= MODE_EVERY_MS) {
      asking ??= ask().finally(() => {
        asking = undefined
      })
      await asking
    }
    if (!isTest) return upstream(work)
    const failure = new DealerEsimError({ code: TEST_ACCOUNT, message: TEST_ACCOUNT_MESSAGE })
    return { failure, sent: false, network: undefined }
  }
}

export function upstreamOf(config: GatewayConfig, outbound: Outbound): Upstream {
  const timeoutMs = config.timeoutMs ?? DEFAULTS.timeoutMs
  return async (work) => {
    let network: OutboundFailure | undefined
    const client = new DealerEsim({
      baseUrl: config.url,
      appKey: config.appKey,
      appSecret: config.appSecret,
      timeoutMs: timeoutMs + 1_000, // the limit of lib/outbound ends first: its error says more
      retries: 0,
      async fetch(url, init) {
        const outcome = await outbound.request({
          url,
          method: 'POST',
          headers: Object.fromEntries(new Headers(init.headers)),
          body: String(init.body),
          timeoutMs,
          answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
          allowPrivate: true, // configured by an operator
        })
        if (outcome.kind === 'failed') {
          network = outcome
          throw new TypeError(outcome.message)
        }
        const headers = Object.entries(outcome.headers).flatMap(([key, value]) =>
          value === undefined ? [] : [[key, String(value)] as [string, string]],
        )
        return new Response(new Uint8Array(outcome.body), { status: outcome.status, headers })
      },
    })
    try {
      return { value: await work(client) }
    } catch (error) {
      if (!(error instanceof DealerEsimError)) throw error
      return { failure: error, sent: network?.sent ?? true, network }
    }
  }
}
