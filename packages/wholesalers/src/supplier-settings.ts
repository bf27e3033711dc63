import Type, { type TStringOptions } from 'typebox'

/*
 * Members of suppliers' configurations. The console makes its form from the schemas: `title` and `description` label a
 * field, `default` says what an absent member means, `writeOnly` marks a secret, which is never shown again, and `advanced` a
 * field that most accounts never change.
 */

const MINUTE_MS = 60_000
const ADVANCED = { advanced: true } as const

export const addressSetting = (description: string, options: TStringOptions = {}) =>
  Type.String({ title: 'Address', description, pattern: '^https?://', maxLength: 2048, ...options })

export const secretSetting = (title: string, options: TStringOptions = {}) =>
  Type.String({ title, minLength: 1, maxLength: 256, writeOnly: true, ...options })

/** A certificate or key. */
export const pemSetting = (title: string, options: TStringOptions = {}) =>
  Type.String({ title, contentMediaType: 'application/x-pem-file', ...options })

export const currencySetting = (initial: string) =>
  Type.String({ title: 'Currency of the account', default: initial, pattern: '^[A-Z]{3}$' })

/** Addresses and blocks, one for each sender. */
export const addressesSetting = (title: string, description?: string) =>
  Type.Array(Type.String({ maxLength: 64 }), { title, ...(description && { description }), maxItems: 100 })

/** How long to wait for purchases. */
export const giveUpSetting = (giveUpAfterMs: number) => ({
  giveUpAfterMs: Type.Optional(
    Type.Integer({
      title: 'Review after (ms)',
      description: 'An eSIM that is undecided for this long goes to review.',
      default: giveUpAfterMs,
      minimum: 0,
      maximum: 7 * 24 * 60 * MINUTE_MS,
      ...ADVANCED,
    }),
  ),
})

/** Defaults for settings that a configuration leaves out. */
export interface CallDefaults {
  timeoutMs: number
  settlesMs: number
  giveUpAfterMs: number
  concurrency: number
}

/** The traits that a configuration sets, for a supplier that takes one eSIM per call. */
export const callTraits = (
  config: { [Name in keyof CallDefaults]?: number | undefined },
  defaults: Omit<CallDefaults, 'timeoutMs'>,
) => ({
  batch: 1,
  concurrency: config.concurrency ?? defaults.concurrency,
  perSecond: null,
  graceMs: config.settlesMs ?? defaults.settlesMs,
  giveUpAfterMs: config.giveUpAfterMs ?? defaults.giveUpAfterMs,
})

/** The limits of calls over a network. */
export const callSettings = (defaults: CallDefaults, concurrencyMax = 1_000) => ({
  timeoutMs: Type.Optional(
    Type.Integer({
      title: 'Time-out of a call (ms)',
      default: defaults.timeoutMs,
      minimum: 100,
      maximum: 2 * MINUTE_MS,
      ...ADVANCED,
    }),
  ),
  settlesMs: Type.Optional(
    Type.Integer({
      title: 'Late execution (ms)',
      description: 'How long after the time-out the supplier may still execute a call.',
      default: defaults.settlesMs,
      minimum: 0,
      maximum: 60 * MINUTE_MS,
      ...ADVANCED,
    }),
  ),
  ...giveUpSetting(defaults.giveUpAfterMs),
  concurrency: Type.Optional(
    Type.Integer({
      title: 'Concurrent calls of a node',
      default: defaults.concurrency,
      minimum: 1,
      maximum: concurrencyMax,
      ...ADVANCED,
    }),
  ),
})

/** The daily spend limit for a wholesaler whose type was written from public documentation and has to be verified. */
export const spendLimitSetting = () => ({
  dailySpendLimit: Type.Optional(
    Type.Object(
      {
        amount: Type.String({ title: 'Amount', pattern: '^\\d{1,12}(\\.\\d{1,4})?$' }),
        currencyCode: Type.String({ title: 'Currency', pattern: '^[A-Z]{3}$' }),
      },
      {
        title: 'Daily spend limit',
        description:
          'Of a UTC day, by the costs in the catalogue. Required until a purchase has verified the supplier.',
        additionalProperties: false,
      },
    ),
  ),
})

/** A limit on each node. */
export const nodeRateSetting = () => ({
  perSecond: Type.Optional(
    Type.Integer({ title: 'Requests a second of a node', minimum: 1, maximum: 10_000, ...ADVANCED }),
  ),
})

/** A limit on the account, over all nodes; see account-rate.ts. Without `perSecond`, no limit applies by default. */
export const accountRateSettings = (perSecond: number | undefined, perSecondMax = 10_000) => ({
  perSecond: Type.Optional(
    Type.Integer({
      title: 'Requests a second of the account',
      ...(perSecond !== undefined && { default: perSecond }),
      minimum: 1,
      maximum: perSecondMax,
      ...ADVANCED,
    }),
  ),
  share: Type.Optional(
    Type.Number({
      title: 'Share of the requests',
      description: 'The part of them that this gateway may use, up to 1, if several gateways share the account.',
      default: 1,
      exclusiveMinimum: 0,
      maximum: 1,
      ...ADVANCED,
    }),
  ),
})
